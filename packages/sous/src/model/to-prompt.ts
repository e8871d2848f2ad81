/**
 * Our messages and tools in the words of the AI SDK. Both are converted once: a history only grows, so each call converts
 * what was added since the last one, and what was sent before is sent again as the same objects.
 */

import type { LanguageModelV4FunctionTool, LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { AssistantMessage, Message, ToolMessage, UserMessage } from "../core/message.ts";
import type { ModelRequest, ToolDefinition } from "../core/model.ts";
import { type ContentPart, isPlain, toCall, toContent, toReasoning, toResult } from "./to-part.ts";

type Conversation = Pick<ModelRequest, "instructions" | "messages">;

/** What was converted of one history. `last` tells a history that only grew from one that was changed in place. */
type Converted = {
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
      converted = { instructions, prompt: systemPrompt(instructions, marksCache), count: 0, last: undefined };
      known.set(messages, converted);
    }
    for (let index = converted.count; index < messages.length; index++) {
      const message = messages[index];
      if (message !== undefined) convert(message, converted.prompt);
    }
    converted.count = messages.length;
    converted.last = messages.at(-1);
    // A copy of the pointers: a provider, or a test's fake, may keep what it was given while our array grows.
    const prompt = converted.prompt.slice();
    if (marksCache) markLatest(prompt);
    return prompt;
  };
}

/** Converts the definitions of a run once; the same array gives the same result. */
export function toolConverter(provider: string): (tools: readonly ToolDefinition[]) => LanguageModelV4FunctionTool[] {
  const known = new WeakMap<readonly ToolDefinition[], LanguageModelV4FunctionTool[]>();
  return (tools) => {
    let converted = known.get(tools);
    if (converted === undefined) {
      converted = tools.map(({ name, description, inputSchema }) => ({
        type: "function",
        name,
        description,
        inputSchema,
      }));
      const last = converted.at(-1);
      if (last !== undefined && takesCacheMarks(provider)) last.providerOptions = CACHE_MARK;
      known.set(tools, converted);
    }
    return converted;
  };
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

function messageConverter(provider: string): (message: Message, prompt: LanguageModelV4Message[]) => void {
  // The chat protocol has no files in tool results: its adapters would send the bytes as JSON text.
  const hasFilesInResults = !provider.endsWith(".chat");
  return (message, prompt) => {
    switch (message.role) {
      case "user":
        prompt.push(fromUser(message));
        return;
      case "assistant": {
        const converted = fromAssistant(message);
        if (converted !== undefined) prompt.push(converted);
        return;
      }
      case "tool":
        prompt.push({ role: "tool", content: message.content.map((result) => toResult(result, hasFilesInResults)) });
        if (!hasFilesInResults) prompt.push(...filesOf(message));
        return;
      default:
        message satisfies never;
    }
  };
}

function fromUser(message: UserMessage): LanguageModelV4Message {
  // Plain text is the same in both worlds, and a history of it need not be kept twice.
  if (message.content.every(isPlain)) return message as LanguageModelV4Message;
  return { role: "user", content: message.content.map(toContent) };
}

/** Undefined when nothing is left to send: providers refuse an empty message. */
function fromAssistant(message: AssistantMessage): LanguageModelV4Message | undefined {
  if (message.content.length > 0 && message.content.every(isPlain)) return message as LanguageModelV4Message;
  let { content } = message;
  // An answer that was cut while the model thought ends in thoughts, and providers refuse a message that does.
  while (content.at(-1)?.type === "reasoning") content = content.slice(0, -1);
  if (content.length === 0) return undefined;
  return { role: "assistant", content: content.map(toAssistantPart) };
}

function toAssistantPart(part: AssistantMessage["content"][number]) {
  if (part.type === "tool-call") return toCall(part);
  return part.type === "reasoning" ? toReasoning(part) : toContent(part);
}

/** The files of the results as a message of their own, each named after the call it belongs to. */
function filesOf(message: ToolMessage): LanguageModelV4Message[] {
  const content: ContentPart[] = [];
  for (const { toolName, callId, files = [] } of message.content) {
    if (files.length > 0) content.push({ type: "text", text: `Files of the result of ${toolName} (${callId}):` });
    content.push(...files.map(toContent));
  }
  return content.length === 0 ? [] : [{ role: "user", content }];
}
