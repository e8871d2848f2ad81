/**
 * Our messages and tools in the types of the AI SDK. Both are converted once: a history only grows, so each call converts
 * what was added since the last one, and what was sent before is sent again as the same objects.
 */

import type {
  JSONValue,
  LanguageModelV4FilePart,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ProviderTool,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import { ModelError } from "../../core/errors.ts";
import type {
  AssistantMessage,
  FilePart,
  Message,
  ProviderData,
  ProviderPart,
  TextPart,
  ToolCallPart,
  ToolMessage,
  ToolResultPart,
  UserMessage,
} from "../../core/message.ts";
import type { ModelRequest, ToolDefinition } from "../../core/model.ts";
import { notShown, type SentCalls, sendable, takesFile } from "./sendable.ts";

type Conversation = Pick<ModelRequest, "instructions" | "messages">;

/** The converted part of one history. `last` distinguishes a history that only grew from one that was edited. */
type Converted = SentCalls & {
  instructions: string | undefined;
  prompt: LanguageModelV4Message[];
  count: number;
  last: Message | undefined;
};

/** A function from a request to a prompt, with a memory of the histories it has seen. `provider` as the AI SDK names it. */
export function promptBuilder(provider: string): (conversation: Conversation) => LanguageModelV4Prompt {
  const known = new WeakMap<readonly Message[], Converted>();
  const marksCache = takesCacheMarks(provider);
  const convert = messageConverter(provider);
  return ({ instructions, messages }) => {
    let converted = known.get(messages);
    if (converted === undefined || !isContinuation(converted, instructions, messages)) {
      const prompt = systemPrompt(instructions, marksCache);
      converted = { instructions, prompt, count: 0, last: undefined, sentCalls: undefined };
      known.set(messages, converted);
    }
    for (let index = converted.count; index < messages.length; index++) {
      const message = messages[index];
      if (message !== undefined) convert(message, converted, messages[index + 1]);
    }
    converted.count = messages.length;
    converted.last = messages.at(-1);
    // A copy of the pointers: a provider, or a test's fake, may keep what it was given while our array grows.
    const prompt = converted.prompt.slice();
    if (marksCache) markLatest(prompt);
    return prompt;
  };
}

type ForeignDefinition = LanguageModelV4FunctionTool | LanguageModelV4ProviderTool;

/** Converts the definitions of a run once; the same array gives the same result. */
export function toolConverter(provider: string): (tools: readonly ToolDefinition[]) => ForeignDefinition[] {
  const known = new WeakMap<readonly ToolDefinition[], ForeignDefinition[]>();
  return (tools) => {
    let converted = known.get(tools);
    if (converted === undefined) {
      converted = tools.map(toDefinition);
      const last = converted.findLast((each) => each.type === "function");
      if (last !== undefined && takesCacheMarks(provider)) last.providerOptions = CACHE_MARK;
      known.set(tools, converted);
    }
    return converted;
  };
}

function toDefinition({ name, description, inputSchema, provider }: ToolDefinition): ForeignDefinition {
  if (provider === undefined) return { type: "function", name, description, inputSchema };
  return { type: "provider", id: provider.id as LanguageModelV4ProviderTool["id"], name, args: { ...provider.args } };
}

function isContinuation(converted: Converted, instructions: string | undefined, messages: readonly Message[]): boolean {
  return (
    converted.instructions === instructions &&
    converted.count <= messages.length &&
    messages[converted.count - 1] === converted.last
  );
}

function systemPrompt(instructions: string | undefined, isMarked: boolean): LanguageModelV4Message[] {
  if (instructions === undefined || instructions === "") return [];
  const message: LanguageModelV4Message = { role: "system", content: instructions };
  if (isMarked) message.providerOptions = CACHE_MARK;
  return [message];
}

const CACHE_MARK = { anthropic: { cacheControl: { type: "ephemeral" } } };

/** Anthropic caches a prompt up to the marks it finds in it; the others cache by themselves. */
function takesCacheMarks(provider: string): boolean {
  return provider.includes("anthropic");
}

/**
 * Marks the end of this prompt and the end of the one before it. With the system prompt and the tools that makes four,
 * which is all Anthropic takes. The second mark is needed because it looks back only twenty blocks for an earlier one,
 * and a turn of many parallel calls is longer than that. Marked messages are copies: what is remembered stays unmarked.
 */
function markLatest(prompt: LanguageModelV4Message[]): void {
  const latest = prompt.length - 1;
  markAt(prompt, latest);
  let before = latest;
  while (before >= 0 && prompt[before]?.role !== "assistant") before--;
  markAt(prompt, before - 1);
}

function markAt(prompt: LanguageModelV4Message[], index: number): void {
  const message = prompt[index];
  if (message?.role !== "user" && message?.role !== "tool") return;
  const last = message.content.at(-1);
  // Anthropic refuses a mark on an empty text.
  if (last === undefined || (last.type === "text" && last.text === "")) return;
  prompt[index] = { ...message, providerOptions: CACHE_MARK };
}

/** `next` is the message behind this one, when there is one already. */
type Convert = (message: Message, converted: Converted, next: Message | undefined) => void;

function messageConverter(provider: string): Convert {
  // The chat protocol has no files in tool results: its adapters would send the bytes as JSON text.
  const hasFilesInResults = !provider.endsWith(".chat");
  return (message, sent, next) => {
    const { prompt } = sent;
    switch (message.role) {
      case "user":
        prompt.push(fromUser(message));
        return;
      case "assistant": {
        const converted = fromAssistant(sendable(message, next, provider, sent));
        if (converted !== undefined) prompt.push(converted);
        return;
      }
      case "tool":
        prompt.push({
          role: "tool",
          content: message.content.map((result) => toResult(result, hasFilesInResults, provider)),
        });
        if (!hasFilesInResults) prompt.push(...filesOf(message, provider));
        return;
      default:
        message satisfies never;
    }
  };
}

function fromUser(message: UserMessage): LanguageModelV4Message {
  // Plain text has the same form here and in the AI SDK, so it is not copied.
  if (message.content.every(isPlain)) return message as LanguageModelV4Message;
  return { role: "user", content: message.content.map(toContent) };
}

/** Undefined when nothing is left to send: providers refuse an empty message. */
function fromAssistant(message: AssistantMessage): LanguageModelV4Message | undefined {
  if (message.content.length > 0 && message.content.every(isPlain)) return message as LanguageModelV4Message;
  let { content } = message;
  // An answer that was cut during reasoning ends with it, and providers refuse such a message.
  while (content.at(-1)?.type === "reasoning") content = content.slice(0, -1);
  if (content.length === 0) return undefined;
  return { role: "assistant", content: content.map(toAssistantPart) };
}

function toAssistantPart(part: AssistantMessage["content"][number]) {
  if (part.type === "tool-call") return toCall(part);
  if (part.type === "provider") return toProviderPart(part);
  if (part.type === "reasoning") return withOptions({ type: "reasoning", text: part.text } as const, part.provider);
  return toContent(part);
}

/** The files of the results as a message of their own, each named after the call it belongs to. */
function filesOf(message: ToolMessage, provider: string): LanguageModelV4Message[] {
  const content: ContentPart[] = [];
  for (const { toolName, callId, files = [] } of message.content) {
    if (files.length > 0) content.push({ type: "text", text: `Files of the result of ${toolName} (${callId}):` });
    content.push(...files.map((file) => toTaken(file, provider)));
  }
  return content.length === 0 ? [] : [{ role: "user", content }];
}

type ContentPart = LanguageModelV4TextPart | LanguageModelV4FilePart;

/** A text or a file. A file of text becomes text, since most providers take only pictures and PDF. */
function toContent(part: TextPart | FilePart): ContentPart {
  if (part.type === "text") return isPlain(part) ? part : withOptions({ type: "text", text: part.text }, part.provider);
  return toFile(part);
}

function toCall({ callId, toolName, input, provider }: ToolCallPart): LanguageModelV4ToolCallPart {
  return withOptions({ type: "tool-call", toolCallId: callId, toolName, input: toInput(input) }, provider);
}

function toProviderPart(part: ProviderPart): LanguageModelV4ToolCallPart | LanguageModelV4ToolResultPart {
  const { kind, callId: toolCallId, toolName, value, isError, provider } = part;
  if (kind === "call")
    return withOptions(
      { type: "tool-call", toolCallId, toolName, input: toInput(value), providerExecuted: true },
      provider,
    );
  // It came from the provider as JSON.
  const output = { type: isError === true ? "error-json" : "json", value: value as JSONValue } as const;
  return withOptions({ type: "tool-result", toolCallId, toolName, output }, provider);
}

/** The result as text, or with `isWithFiles` as text and files together. */
function toResult(result: ToolResultPart, isWithFiles: boolean, provider: string): LanguageModelV4ToolResultPart {
  const { callId: toolCallId, toolName, output: text, isError, files = [] } = result;
  if (!isWithFiles || files.length === 0) {
    return {
      type: "tool-result",
      toolCallId,
      toolName,
      output: { type: isError ? "error-text" : "text", value: text },
    };
  }
  const value = files.map((file) => toTaken(file, provider));
  if (text !== "") value.unshift({ type: "text", text });
  return { type: "tool-result", toolCallId, toolName, output: { type: "content", value } };
}

/** A part that already has the form of the AI SDK. */
function isPlain(part: { type: string; provider?: ProviderData }): boolean {
  return part.type === "text" && part.provider === undefined;
}

function withOptions<Part extends object>(part: Part, provider: ProviderData | undefined): Part {
  // The data came from the provider as JSON and goes back as it came.
  return provider === undefined ? part : { ...part, providerOptions: provider as SharedV4ProviderOptions };
}

/** Every provider refuses input that is not an object, also when the model itself sent it. */
function toInput(input: unknown): object {
  if (typeof input === "object" && input !== null && !Array.isArray(input)) return input;
  return { invalid_input: input ?? null };
}

function toFile(file: FilePart): ContentPart {
  const { mediaType, filename } = file;
  const data = toData(file);
  if (data.type === "data" && TEXT_TYPES.test(mediaType)) {
    const text = Buffer.from(data.data, "base64").toString("utf8");
    return { type: "text", text: filename === undefined ? text : `${filename}:\n${text}` };
  }
  return withOptions({ type: "file", mediaType, data, ...(filename === undefined ? {} : { filename }) }, file.provider);
}

/** The file of a tool, or a line that says that the model does not take it: no tool knows who reads its result. */
function toTaken(file: FilePart, provider: string): ContentPart {
  const part = toFile(file);
  if (part.type === "text" || takesFile(provider, file.mediaType)) return part;
  return { type: "text", text: notShown(file) };
}

const TEXT_TYPES = /^(text\/|application\/(json|xml|yaml|toml|javascript|x-sh)\b)/;

type FileData = { type: "data"; data: string } | { type: "url"; url: URL };

function toData({ data }: FilePart): FileData {
  if (data.startsWith("data:")) return fromDataAddress(data);
  if (!data.startsWith("http://") && !data.startsWith("https://")) return { type: "data", data };
  const url = URL.parse(data);
  if (url === null) throw new ModelError("invalid_request", `A file of the conversation has no valid address: ${data}`);
  return { type: "url", url };
}

function fromDataAddress(address: string): FileData {
  const comma = address.indexOf(",");
  const content = address.slice(comma + 1);
  if (address.slice(0, comma).endsWith(";base64")) return { type: "data", data: content };
  return { type: "data", data: Buffer.from(decodeURIComponent(content)).toString("base64") };
}
