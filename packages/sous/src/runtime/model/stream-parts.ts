/** Parts of a stream of the AI SDK as parts of a message. */

import type { LanguageModelV4File, LanguageModelV4ToolCall, SharedV4ProviderMetadata } from "@ai-sdk/provider";
import type { FilePart, ProviderData, ToolCallPart } from "../../core/message.ts";

/** Merges the metadata that arrives at different times for one block. */
export function keepProviderData(
  block: { provider?: ProviderData } | undefined,
  metadata: SharedV4ProviderMetadata | undefined,
): void {
  if (block === undefined || metadata === undefined) return;
  const merged: ProviderData = { ...block.provider };
  for (const [provider, values] of Object.entries(metadata)) merged[provider] = { ...merged[provider], ...values };
  block.provider = merged;
}

export function toToolCall(part: LanguageModelV4ToolCall): ToolCallPart {
  const call: ToolCallPart = {
    type: "tool-call",
    callId: part.toolCallId,
    toolName: part.toolName,
    input: parseInput(part.input),
  };
  keepProviderData(call, part.providerMetadata);
  return call;
}

const ESCAPED_SURROGATE = /\\u[dD][89a-fA-F]/;

/** Some servers send an empty text for "no arguments". Text that is not JSON stays text: no tool takes a string. */
export function parseInput(json: string): unknown {
  if (json.trim() === "") return {};
  try {
    const text = json.toWellFormed();
    return ESCAPED_SURROGATE.test(text) ? JSON.parse(text, wellFormedValue) : JSON.parse(text);
  } catch {
    return json.toWellFormed();
  }
}

function wellFormedValue(_key: string, value: unknown): unknown {
  return typeof value === "string" ? value.toWellFormed() : value;
}

export function toFile(part: LanguageModelV4File): FilePart {
  const { data, mediaType } = part;
  let text: string;
  if (data.type === "url") text = data.url.href;
  else text = typeof data.data === "string" ? data.data : Buffer.from(data.data).toString("base64");
  const file: FilePart = { type: "file", mediaType, data: text };
  keepProviderData(file, part.providerMetadata);
  return file;
}
