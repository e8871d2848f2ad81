/** What a scripted model says an answer took: what the script states, or an estimate that is the same every time. */

import { messageBytes } from "../core/conversation.ts";
import type { AssistantMessage, Message } from "../core/message.ts";
import type { ModelRequest, ToolDefinition } from "../core/model.ts";
import { type Usage, utf8Length } from "../core/usage.ts";
import type { ScriptedUsage } from "./steps.ts";

export function statedUsage({ input, output, cached = 0, cacheWrite = 0 }: ScriptedUsage): Usage {
  return {
    inputTokens: input,
    outputTokens: output,
    cachedInputTokens: cached,
    cacheWriteTokens: cacheWrite,
    totalTokens: input + output,
    estimated: false,
  };
}

/** Counts bytes ÷ 3 of everything sent and answered. A history is read once as it grows, not once a turn. */
export class TokenCounter {
  readonly #histories = new WeakMap<readonly Message[], { count: number; bytes: number }>();
  readonly #tools = new WeakMap<readonly ToolDefinition[], number>();

  count({ instructions = "", messages, tools }: ModelRequest, answer: AssistantMessage): Usage {
    const promptBytes = utf8Length(instructions) + this.#historyBytes(messages) + this.#toolBytes(tools);
    return statedUsage({ input: Math.ceil(promptBytes / 3), output: Math.ceil(messageBytes(answer) / 3) });
  }

  #historyBytes(messages: readonly Message[]): number {
    const known = this.#histories.get(messages) ?? { count: 0, bytes: 0 };
    for (const message of messages.slice(known.count)) known.bytes += messageBytes(message);
    known.count = messages.length;
    this.#histories.set(messages, known);
    return known.bytes;
  }

  #toolBytes(tools: readonly ToolDefinition[]): number {
    const known = this.#tools.get(tools) ?? utf8Length(JSON.stringify(tools));
    this.#tools.set(tools, known);
    return known;
  }
}
