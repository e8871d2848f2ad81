/** An agent outside this process as a model: so an external child has the same tree, cancel, budget and events as any other. */

import { ModelError, messageOf } from "../core/errors.ts";
import type { ExternalAgents } from "../core/external-agent.ts";
import { textOf } from "../core/message.ts";
import type { Model } from "../core/model.ts";

export function externalModel(
  client: ExternalAgents,
  target: { serverName: string | undefined; agentId: string | undefined },
): Model {
  return {
    id: `external/${target.agentId ?? target.serverName ?? "default"}`,
    async answer({ messages, signal }, onDelta) {
      const last = messages.at(-1);
      const task = last === undefined ? "" : textOf(last as { content: readonly { type: string; text?: string }[] });
      const answer = await client
        .generate({ task, ...target }, { signal, onText: (text) => onDelta("text", text) })
        .catch((error: unknown) => {
          if (signal.aborted) throw signal.reason;
          throw new ModelError("unknown", `The external agent failed: ${messageOf(error)}`, { cause: error });
        });
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
