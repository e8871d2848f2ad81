/** Messages, inputs and results as the semantic conventions write it: JSON of at most 8 KB an attribute. */

import type { EventOf } from "../../core/event.ts";
import type { AssistantMessage, ProviderPart, UserMessage } from "../../core/message.ts";
import type { FinishReason } from "../../core/model.ts";
import { truncateUtf8 } from "../../core/truncate.ts";
import { utf8Length } from "../../core/usage.ts";

/** The most bytes of one attribute. */
export const MAX_CONTENT_BYTES = 8192;
/** A text is not cut below this: then the whole is cut as text. */
const MIN_TEXT_BYTES = 64;
/** More than this many parts of what is new are not kept for the next turn. */
const MAX_PENDING = 64;

type Redact = (text: string) => string;
type Part = { type: string; [field: string]: unknown };
type ContentMessage = { role: string; parts: Part[] };

/** Writes content into attributes. */
export class ContentWriter {
  readonly #redact: Redact | undefined;

  constructor(redact: Redact | undefined) {
    this.#redact = redact;
  }

  text(text: string): string {
    return cutText(this.#redact?.(text) ?? text, MAX_CONTENT_BYTES);
  }

  /** JSON that can be read, as long as cutting its texts makes it short enough. */
  json(value: unknown): string {
    for (let most = MAX_CONTENT_BYTES; most >= MIN_TEXT_BYTES; most /= 2) {
      const json =
        JSON.stringify(value, (_, each) => (typeof each === "string" ? this.#short(each, most) : each)) ?? "null";
      if (utf8Length(json) <= MAX_CONTENT_BYTES) return json;
    }
    return this.text(JSON.stringify(value) ?? "null");
  }

  #short(text: string, most: number): string {
    return cutText(this.#redact?.(text) ?? text, most);
  }
}

/** Messages that the model has not been shown yet. */
export class PendingInput {
  #messages: ContentMessage[] = [];
  #leftOut = 0;

  add(message: ContentMessage): void {
    if (this.#messages.length < MAX_PENDING) this.#messages.push(message);
    else this.#leftOut += 1;
  }

  take(): ContentMessage[] {
    const messages = this.#messages;
    if (this.#leftOut > 0) messages.push(said("user", `… [${this.#leftOut} messages left out]`));
    this.#messages = [];
    this.#leftOut = 0;
    return messages;
  }
}

export function said(role: "user" | "assistant" | "system", text: string): ContentMessage {
  return { role, parts: [textPart(text)] };
}

/** The reasons why a model stopped, in the words of the conventions; `paused` and `other` are ours. */
export const FINISH_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: "stop",
  "tool-calls": "tool_call",
  length: "length",
  "content-filter": "content_filter",
  paused: "paused",
  other: "other",
};

/** A message of a model or an agent; the conventions require its reason. */
export function answered(message: ContentMessage, finishReason: string): ContentMessage & { finish_reason: string } {
  return { ...message, finish_reason: finishReason };
}

export function textPart(content: string): Part {
  return { type: "text", content };
}

export function contentOf({ role, content }: UserMessage | AssistantMessage): ContentMessage {
  return { role, parts: content.map(partOf) };
}

export function resultMessage({ callId, output }: EventOf<"tool-call-end">): ContentMessage {
  return { role: "tool", parts: [{ type: "tool_call_response", id: callId, response: output }] };
}

function partOf(part: (UserMessage | AssistantMessage)["content"][number]): Part {
  switch (part.type) {
    case "text":
      return textPart(part.text);
    case "reasoning":
      return { type: "reasoning", content: part.text };
    case "file":
      return { type: "file", mime_type: part.mediaType };
    case "tool-call":
      return { type: "tool_call", id: part.callId, name: part.toolName, arguments: part.input };
    case "provider":
      return providerPart(part);
    default:
      return part satisfies never;
  }
}

/** The conventions have no type for sources. */
function providerPart({ kind, callId, toolName, value }: ProviderPart): Part {
  if (kind === "result") return { type: "tool_call_response", id: callId, response: value };
  return { type: kind === "call" ? "tool_call" : "sources", id: callId, name: toolName, arguments: value };
}

/** Cuts a text to `maxBytes`, the words that say how much is missing included. */
export function cutText(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text.toWellFormed();
  const bytes = utf8Length(text);
  if (bytes <= maxBytes) return text.toWellFormed();
  const { text: kept, keptBytes } = truncateUtf8(text, maxBytes - MARK_BYTES);
  return `${kept}… [${bytes - keptBytes} bytes left out]`;
}

/** Room for the words behind a cut text. */
const MARK_BYTES = 40;
