/** An agent outside this process as a model: so an external child has the same tree, cancel, budget and events as any other. */

import { ModelError, messageOf } from "../core/errors.ts";
import { type Message, textOf } from "../core/message.ts";
import type { Model } from "../core/model.ts";
import type { ExternalAgents, ExternalAnswer } from "../core/spawn.ts";

export function externalModel(
  client: ExternalAgents,
  target: { serverName: string | undefined; agentId: string | undefined },
): Model {
  return {
    id: `external/${target.agentId ?? target.serverName ?? "default"}`,
    async answer({ instructions, messages, signal }, onDelta) {
      const task = toPrompt(instructions, messages);
      let answer: ExternalAnswer;
      try {
        answer = await client.generate({ task, ...target }, { signal, onText: (text) => onDelta("text", text) });
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        throw new ModelError("unknown", `The external agent failed: ${messageOf(error)}`, { cause: error });
      }
      return {
        message: { role: "assistant", content: [{ type: "text", text: answer.content }] },
        finish: "stop",
        usage: answer.usage && {
          inputTokens: answer.usage.inputTokens,
          outputTokens: answer.usage.outputTokens,
          cachedInputTokens: 0,
          cacheWriteTokens: 0,
          totalTokens: answer.usage.inputTokens + answer.usage.outputTokens,
          estimated: false,
        },
      };
    },
  };
}

/** It remembers nothing from one prompt to the next, so it is told all there is. Text a model reads. */
function toPrompt(instructions: string | undefined, messages: readonly Message[]): string {
  const said = messages.map((message) => {
    const text = textOf(message as { content: readonly { type: string; text?: string }[] });
    return message.role === "assistant" ? `You answered:\n${text}` : text;
  });
  return (instructions === undefined ? said : [instructions, ...said]).join("\n\n");
}
