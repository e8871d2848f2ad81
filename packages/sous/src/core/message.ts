/** The parts of a conversation. Plain serialisable values: they go into the journal as they are. */

import { UserError } from "./errors.ts";
import { kindOf, type OptionKind } from "./option-kinds.ts";
import { isRecord, jsonOf } from "./schema.ts";

/** A piece of text. */
export type TextPart = { type: "text"; text: string; provider?: ProviderData };

/** A picture or a document. `data` is base64, or an address when it begins with `http://`, `https://` or `data:`. */
export type FilePart = { type: "file"; mediaType: string; data: string; filename?: string; provider?: ProviderData };

/** A model's thinking. `provider` holds signatures and the like; it is sent back unchanged. */
export type ReasoningPart = { type: "reasoning"; text: string; provider?: ProviderData };

/** `input` is what the model sent, parsed; a string when it was not JSON, which no tool takes. */
export type ToolCallPart = {
  type: "tool-call";
  callId: string;
  toolName: string;
  input: unknown;
  provider?: ProviderData;
};

/** The result of one tool call, as the model reads it. */
export type ToolResultPart = {
  type: "tool-result";
  callId: string;
  toolName: string;
  /** The text that the model reads. */
  output: string;
  isError: boolean;
  /** Pictures and documents that belong to the result. */
  files?: readonly FilePart[];
};

/**
 * An act of a provider by itself while it answered, such as a web search. A `call` and its `result` are sent back unchanged on the
 * next turn; a `note` is not. Nothing of it runs here.
 */
export type ProviderPart = {
  type: "provider";
  kind: "call" | "result" | "note";
  /** The provider it came from, as its adapter is called; no other provider is sent it. */
  from: string;
  /** The same for a call and its result. */
  callId: string;
  toolName: string;
  /** JSON: the input of a call, its result, or the sources that an answer was made from. */
  value: unknown;
  isError?: boolean;
  provider?: ProviderData;
};

/** Data that a provider wants back unchanged on the next turn, keyed by provider name. Opaque to all but the model adapter. */
export type ProviderData = Record<string, Record<string, unknown>>;

/** A task or a further message: text and files. */
export type UserMessage = { role: "user"; content: readonly (TextPart | FilePart)[] };
/** An answer of the model: text, reasoning, tool calls, and what its provider did meanwhile. */
export type AssistantMessage = {
  role: "assistant";
  content: readonly (TextPart | FilePart | ReasoningPart | ToolCallPart | ProviderPart)[];
};
/** The results of the tool calls of one answer. */
export type ToolMessage = { role: "tool"; content: readonly ToolResultPart[] };

/** The system prompt is not a message: it travels as `instructions` beside them. */
export type Message = UserMessage | AssistantMessage | ToolMessage;

/** A task: plain text, or text with files. */
export type UserInput = string | readonly (TextPart | FilePart)[];

export function userMessage(input: UserInput): UserMessage {
  if (typeof input === "string") return { role: "user", content: [{ type: "text", text: input.toWellFormed() }] };
  return { role: "user", content: input.map(wellFormedPart) };
}

/** `messageFrom` says more about what is in it. */
export const USER_INPUT: OptionKind<UserInput> = kindOf(
  "text, or a list of text and file parts",
  (value) => typeof value === "string" || Array.isArray(value),
);

/** A task or a message from outside. Throws a `UserError` when it is of another kind, or nothing that could be read. */
export function messageFrom(input: UserInput): UserMessage {
  const isText = typeof input === "string";
  if (!isText && !(Array.isArray(input) && input.every(isUserPart))) {
    throw new UserError("A task or message must be text, or a list of text and file parts");
  }
  if (isText ? isBlank(input) : input.every((part) => part.type === "text" && isBlank(part.text))) {
    throw new UserError("A task or message cannot be empty");
  }
  return userMessage(input);
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}

function isUserPart(part: unknown): part is TextPart | FilePart {
  const { type, text, provider } = (part ?? {}) as Record<string, unknown>;
  return type === "text" ? typeof text === "string" && isProviderData(provider) : isFilePart(part);
}

/** Files come from callers, models and tools: untrusted code. */
export function isFilePart(part: unknown): part is FilePart {
  const { type, mediaType, data, filename, provider } = (part ?? {}) as Record<string, unknown>;
  const isNamed = filename === undefined || typeof filename === "string";
  return (
    type === "file" && typeof mediaType === "string" && typeof data === "string" && isNamed && isProviderData(provider)
  );
}

/** True for what can be kept and sent back; none at all is fine. */
export function isProviderData(data: unknown): data is ProviderData | undefined {
  if (data === undefined) return true;
  return isRecord(data) && Object.values(data).every(isRecord) && jsonOf(data) !== undefined;
}

/** The text of a message, its parts joined; calls, results and reasoning are left out. */
export function textOf(message: { content: readonly { type: string; text?: string }[] }): string {
  const parts = message.content;
  if (parts.length === 1 && parts[0]?.type === "text") return parts[0].text ?? "";
  let text = "";
  for (const part of parts) if (part.type === "text") text += part.text ?? "";
  return text;
}

export function toolCallsOf(message: AssistantMessage): ToolCallPart[] {
  const calls: ToolCallPart[] = [];
  for (const part of message.content) if (part.type === "tool-call") calls.push(part);
  return calls;
}

function wellFormedPart<Part extends TextPart | FilePart>(part: Part): Part {
  return part.type === "text" && !part.text.isWellFormed() ? { ...part, text: part.text.toWellFormed() } : part;
}
