/** The parts of a message in the words of the AI SDK: texts, thoughts, files, calls and results. */

import type {
  LanguageModelV4FilePart,
  LanguageModelV4ReasoningPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import { ModelError } from "../core/errors.ts";
import type { FilePart, ProviderData, ReasoningPart, TextPart, ToolCallPart, ToolResultPart } from "../core/message.ts";

export type ContentPart = LanguageModelV4TextPart | LanguageModelV4FilePart;

/** A text or a file. A file of text becomes text, since most providers take only pictures and PDF. */
export function toContent(part: TextPart | FilePart): ContentPart {
  if (part.type === "text") return isPlain(part) ? part : withOptions({ type: "text", text: part.text }, part.provider);
  return toFile(part);
}

export function toReasoning({ text, provider }: ReasoningPart): LanguageModelV4ReasoningPart {
  return withOptions({ type: "reasoning", text }, provider);
}

export function toCall({ callId, toolName, input, provider }: ToolCallPart): LanguageModelV4ToolCallPart {
  return withOptions({ type: "tool-call", toolCallId: callId, toolName, input: toInput(input) }, provider);
}

/** The result as text, or with `isWithFiles` as text and files together. */
export function toResult(result: ToolResultPart, isWithFiles: boolean): LanguageModelV4ToolResultPart {
  const { callId: toolCallId, toolName, output: text, isError, files = [] } = result;
  if (!isWithFiles || files.length === 0) {
    return {
      type: "tool-result",
      toolCallId,
      toolName,
      output: { type: isError ? "error-text" : "text", value: text },
    };
  }
  const value = files.map(toFile);
  if (text !== "") value.unshift({ type: "text", text });
  return { type: "tool-result", toolCallId, toolName, output: { type: "content", value } };
}

/** A part that already is what the AI SDK wants. */
export function isPlain(part: { type: string; provider?: ProviderData }): boolean {
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
  if (data.type === "data" && isText(mediaType)) {
    const text = Buffer.from(data.data, "base64").toString("utf8");
    return { type: "text", text: filename === undefined ? text : `${filename}:\n${text}` };
  }
  return withOptions({ type: "file", mediaType, data, ...(filename === undefined ? {} : { filename }) }, file.provider);
}

const TEXT_TYPES = /^(text\/|application\/(json|xml|yaml|toml|javascript|x-sh)\b)/;

function isText(mediaType: string): boolean {
  return TEXT_TYPES.test(mediaType);
}

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
