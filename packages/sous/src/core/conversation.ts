/** The history of one run: an append-only array with a running estimate of its size. It is never cloned. */

import type { AssistantMessage, Message, ToolMessage, UserMessage } from "./message.ts";
import { foundValue, kindOf, type OptionKinds, wholeNumber } from "./option-kinds.ts";
import { checkOptions } from "./options.ts";
import { utf8Length } from "./usage.ts";

/** The limits of a conversation, beyond which its oldest parts are pruned. */
export type ConversationLimits = {
  /** Pruning begins at `maxTokens × pruneThreshold` and keeps the task and the last turns. */
  maxTokens: number;
  minRetainTurns: number;
  pruneThreshold: number;
};

export const DEFAULT_CONVERSATION: ConversationLimits = Object.freeze({
  maxTokens: 100_000,
  minRetainTurns: 5,
  pruneThreshold: 0.8,
});

/** Other limits would prune everything, or never come to an end of pruning. */
const CONVERSATION: OptionKinds<ConversationLimits> = {
  maxTokens: kindOf("greater than 0", (value) => typeof value === "number" && value > 0, foundValue),
  minRetainTurns: wholeNumber(1),
  pruneThreshold: kindOf(
    "greater than 0 and at most 1",
    (value) => typeof value === "number" && value > 0 && value <= 1,
    foundValue,
  ),
};

export function checkConversation(limits: ConversationLimits): ConversationLimits {
  checkOptions("conversation", limits, CONVERSATION);
  return limits;
}

export class Conversation {
  /** Replaced by a new array when pruned, so that an adapter can tell. */
  messages: Message[];
  /** The index of the task of this run: behind the history it began with. */
  taskIndex: number;
  /** Bytes added since the provider last reported the size of the prompt, and that size in tokens. */
  #newBytes = 0;
  #reportedTokens = 0;

  constructor(messages: Message[] = [], overheadBytes = 0) {
    this.messages = messages;
    this.taskIndex = Math.max(0, messages.length - 1);
    this.#newBytes = overheadBytes;
    for (const message of messages) this.#newBytes += messageBytes(message);
  }

  /** Bytes ÷ 3 of what was added, on top of the last reported prompt size. */
  get promptTokens(): number {
    return this.#reportedTokens + Math.ceil(this.#newBytes / 3);
  }

  add(message: UserMessage | ToolMessage): void {
    this.messages.push(message);
    this.#newBytes += messageBytes(message);
  }

  /** The model's answer, with what the provider says the prompt and the answer measured. */
  addAnswer(message: AssistantMessage, reported: { inputTokens: number; outputTokens: number } | undefined): void {
    // Providers refuse a message without content.
    if (message.content.length > 0) this.messages.push(message);
    if (reported === undefined) {
      this.#newBytes += messageBytes(message);
      return;
    }
    this.#reportedTokens = reported.inputTokens + reported.outputTokens;
    this.#newBytes = 0;
  }

  /** Drops the answer at this place and the results of its calls. The answer still counts: what is known of the size is of both. */
  dropCalls(index: number): void {
    const results = this.messages[index + 1];
    if (results !== undefined) this.#newBytes = Math.max(0, this.#newBytes - messageBytes(results));
    this.messages = this.messages.toSpliced(index, 2);
  }

  /** Continues with fewer messages; the size is estimated again. */
  replace(messages: Message[], overheadBytes: number): void {
    this.messages = messages;
    this.#reportedTokens = 0;
    this.#newBytes = overheadBytes;
    for (const message of messages) this.#newBytes += messageBytes(message);
  }
}

/** The size of a message for estimates; a file counts like the 1,500 tokens of a picture. */
export function messageBytes(message: Message): number {
  let bytes = 12;
  for (const part of message.content) {
    switch (part.type) {
      case "text":
      case "reasoning":
        bytes += utf8Length(part.text);
        break;
      case "tool-call":
        bytes += part.toolName.length + 24 + inputBytes(part.input);
        break;
      case "tool-result":
        bytes += part.toolName.length + 24 + utf8Length(part.output) + (part.files?.length ?? 0) * FILE_BYTES;
        break;
      case "file":
        bytes += FILE_BYTES;
        break;
      case "provider":
        if (part.kind !== "note") bytes += part.toolName.length + 24 + inputBytes(part.value);
        break;
      default:
        part satisfies never;
    }
  }
  return bytes;
}

const FILE_BYTES = 4500;

function inputBytes(input: unknown): number {
  return utf8Length(JSON.stringify(input) ?? "");
}
