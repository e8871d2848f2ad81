/** Makes the result of a tool from a server's answer. Nothing that the answer names is opened. */

import { oneLine, shortened } from "../../core/clean-text.ts";
import type { FilePart } from "../../core/message.ts";
import { isRecord } from "../../core/schema.ts";
import type { ToolResult } from "../../core/tool.ts";

const MAX_PARTS = 1000;
const MAX_WORDS = 200;

/** The media types that providers take. Others are named in the text and left out. */
const MEDIA_TYPES: ReadonlySet<string> = new Set([
  ...["image/png", "image/jpeg", "image/gif", "image/webp"],
  ...["audio/wav", "audio/x-wav", "audio/mpeg", "audio/mp3", "audio/ogg", "audio/flac", "audio/aac", "audio/webm"],
  "application/pdf",
]);

/** The texts in their order, the files beside them, and `structuredContent` as data. */
export function toToolResult(answer: Readonly<Record<string, unknown>>): ToolResult {
  const { content = [], structuredContent, isError = false, task, inputRequests } = answer;
  if (isRecord(task))
    return failed("The server answered with a task, which sous does not support: its result was not waited for");
  if (isRecord(inputRequests))
    return failed(
      "The server asks for input before it makes the call, which sous does not support: the call was not made",
    );
  if (!Array.isArray(content)) return failed("The server's answer is not a tool result of MCP");
  const documents: FilePart[] = [];
  const lines = content.slice(0, MAX_PARTS).map((part) => readPart(part, documents));
  if (content.length > MAX_PARTS) lines.push(`[${content.length - MAX_PARTS} more parts were left out]`);
  const texts = lines.filter((line) => line !== "");
  const isStructured = structuredContent !== undefined && structuredContent !== null;
  const data = isStructured ? jsonOf(structuredContent) : "";
  if (data === undefined) return failed("The server's answer is nested too deeply to be read");
  if (isStructured && !isSaid(structuredContent, texts)) texts.push(data);
  const text = texts.join("\n");
  const files = documents.length > 0 && { documents };
  if (isError === true)
    return { ...failed(text === "" ? "The call failed, and the server did not say why" : text), ...files };
  return {
    success: true,
    output: text === "" && documents.length === 0 ? "done" : text,
    ...(isStructured && { data: structuredContent }),
    ...files,
  };
}

function failed(error: string): ToolResult {
  return { success: false, output: "", error };
}

/** Undefined for what is nested so deeply that nothing can walk through it. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** Servers with structured content should say the same as text, as JSON or as it is; then it is not said twice. */
function isSaid(structured: unknown, texts: readonly string[]): boolean {
  if (texts.some(isJsonText)) return true;
  const values = isRecord(structured) ? Object.values(structured) : [];
  return values.length > 0 && values.every((value) => typeof value === "string" && texts.includes(value));
}

function isJsonText(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) || Array.isArray(value);
  } catch {
    return false;
  }
}

/** A line of text for every part; empty for a file that stands beside the text. */
function readPart(part: unknown, documents: FilePart[]): string {
  if (!isRecord(part)) return "[a part that is not an object was left out]";
  const { type, text, resource } = part;
  switch (type) {
    case "text":
      return typeof text === "string" ? text : "[a text part without text was left out]";
    case "image":
    case "audio":
      return addFile(part.data, part.mimeType, documents, type);
    case "resource":
      return isRecord(resource)
        ? readResource(resource, documents)
        : "[a resource part without a resource was left out]";
    case "resource_link":
      return `[link to ${named(part.name)}: ${named(part.uri)}; it was not opened]`;
    default:
      return `[a part of the type ${named(type)} was left out]`;
  }
}

function readResource({ uri, text, blob, mimeType }: Record<string, unknown>, documents: FilePart[]): string {
  if (typeof text === "string") return `[resource ${named(uri)}]\n${text}`;
  const problem = addFile(blob, mimeType, documents, "resource");
  return problem === "" ? `[resource ${named(uri)} is attached]` : `[resource ${named(uri)}] ${problem}`;
}

/** Empty when it was added. How many and how large files may be, the loop decides for all tools. */
function addFile(data: unknown, mimeType: unknown, documents: FilePart[], what: string): string {
  const claimed = typeof mimeType === "string" ? (mimeType.toLowerCase().split(";")[0] ?? "").trim() : "";
  if (typeof data !== "string" || data === "") return `[${what} without data was left out]`;
  if (!MEDIA_TYPES.has(claimed)) return `[${what} of the type ${named(mimeType)} was left out: ${sizeOf(data)}]`;
  if (!isBase64(data)) return `[${what} that is not base64 was left out]`;
  const mediaType = mediaTypeOf(data);
  if (mediaType === undefined) return `[${what} was left out: it is not of the type ${claimed}]`;
  documents.push({ type: "file", mediaType, data });
  return "";
}

function sizeOf(base64: string): string {
  return `about ${Math.ceil((base64.length * 3) / 4 / 1024)} KB`;
}

/** Data that is not base64 could be an address, which a provider would open. */
function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text);
}

function named(value: unknown): string {
  return typeof value === "string" && value !== "" ? shortened(oneLine(value), MAX_WORDS) : "(no name)";
}

/** Patterns of the first bytes; `.` is any byte. */
const BEGINNINGS: readonly [mediaType: string, begins: string][] = [
  ["image/png", "\x89PNG\r\n\x1a\n"],
  ["image/jpeg", "\xff\xd8\xff"],
  ["image/gif", "GIF8"],
  ["image/webp", "RIFF....WEBP"],
  ["application/pdf", "%PDF-"],
  ["audio/wav", "RIFF....WAVE"],
  ["audio/ogg", "OggS"],
  ["audio/flac", "fLaC"],
  ["audio/webm", "\x1a\x45\xdf\xa3"],
  ["audio/mpeg", "ID3"],
  ["audio/aac", "\xff\xf1"],
  ["audio/aac", "\xff\xf9"],
  ["audio/mpeg", "\xff\xfb"],
  ["audio/mpeg", "\xff\xf3"],
  ["audio/mpeg", "\xff\xf2"],
  ["audio/mpeg", "\xff\xfa"],
];

/**
 * The type of a file by its first bytes; undefined for what no provider takes. Providers refuse the whole request when a file is
 * not what it is called.
 */
function mediaTypeOf(base64: string): string | undefined {
  const first = Buffer.from(base64.slice(0, 32), "base64").toString("latin1");
  const [found] =
    BEGINNINGS.find(([, begins]) => [...begins].every((byte, at) => byte === "." || first[at] === byte)) ?? [];
  return found;
}
