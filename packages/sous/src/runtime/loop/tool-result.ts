/** Turns the value a tool returned into a result within limits: the text a model reads and the files. */

import { cleanText, oneLine, type Redactor, shortened } from "../../core/clean-text.ts";
import { messageOf } from "../../core/errors.ts";
import { type FilePart, isFilePart, type ToolCallPart } from "../../core/message.ts";
import type { Run } from "../../core/run.ts";
import { isRecord } from "../../core/schema.ts";
import type { ToolResult } from "../../core/tool.ts";
import {
  cutNotice,
  MAX_RESULT_BYTES,
  type Truncated,
  truncateMiddle,
  truncateUtf8,
  truncateUtf8Start,
} from "../../core/truncate.ts";
import { utf8Length } from "../../core/usage.ts";
import { isJson, toJson } from "./to-json.ts";

/** A string is the text, a `ToolResult` is itself, anything else is shown as JSON. What is behind this can be trusted. */
export function toToolResult(value: unknown): ToolResult {
  if (typeof value === "string") return { success: true, output: value };
  if (value === undefined || value === null) return { success: true, output: "done" };
  if (isToolResult(value)) return checkedResult(value);
  if (value instanceof Error) return failedResult(messageOf(value));
  if (value instanceof Uint8Array) return { success: true, output: new TextDecoder().decode(value) };
  return { success: true, output: asMade("what it returned cannot be shown", () => toJson(value)), data: value };
}

export function failedResult(error: string, metadata?: ToolResult["metadata"]): ToolResult {
  return { success: false, output: "", error, metadata };
}

/** True for what says how a call went; its output may be missing when it failed. */
export function isToolResult(value: unknown): value is ToolResult {
  if (typeof value !== "object" || value === null || !("success" in value)) return false;
  if ("output" in value && value.output !== undefined)
    return typeof value.success === "boolean" && typeof value.output === "string";
  return value.success === false && "error" in value && value.error !== undefined;
}

/** The result itself when all of it is as its type says, which is nearly always. */
export function checkedResult(result: ToolResult): ToolResult {
  const { output, error, metadata, documents } = result;
  const isPlain =
    output !== undefined &&
    (error === undefined || typeof error === "string") &&
    (metadata === undefined || (isRecord(metadata) && isJson(metadata))) &&
    (documents === undefined || isFiles(documents));
  if (isPlain) return result;
  return {
    ...result,
    output: output ?? "",
    error: error === undefined ? undefined : messageOf(error),
    metadata: metadata == null ? undefined : asMade("its metadata cannot be kept", () => toRecord(metadata)),
    documents: documents === undefined ? undefined : asMade("its documents cannot be used", () => toFiles(documents)),
  };
}

/** Says that the call was made, so that the model does not repeat it. */
function asMade<T>(what: string, make: () => T): T {
  try {
    return make();
  } catch (cause) {
    throw new Error(`The call was made, but ${what}: ${messageOf(cause)}`, { cause });
  }
}

function toRecord(metadata: unknown): NonNullable<ToolResult["metadata"]> {
  if (!isRecord(metadata)) throw new Error("it is not an object");
  return JSON.parse(toJson(metadata));
}

function toFiles(documents: unknown): readonly FilePart[] {
  if (isFiles(documents)) return documents;
  throw new Error('each must be { type: "file", mediaType, data }, with data as base64 or an address');
}

function isFiles(documents: unknown): documents is readonly FilePart[] {
  return Array.isArray(documents) && documents.every(isFilePart);
}

/** The text for the model: nothing in it acts or hides, and it is cut in the middle when it is too long. */
export function boundResult(result: ToolResult, call: ToolCallPart, run: Run): { output: string; isError: boolean } {
  const isError = !result.success;
  let output = isError ? result.error || result.output || "The tool failed without saying why" : result.output;
  // A failed result may still carry text worth reading, such as the partial report of a child.
  if (isError && result.error && result.output !== "") output = `${result.error}\n${result.output}`;
  const cut = boundText(output, run.tree.redactor, { maxCleaned: MAX_CLEANED, maxBytes: MAX_RESULT_BYTES });
  if (!cut.truncated) return { output: cut.text, isError };
  run.emit({
    type: "truncation",
    subject: "tool-result",
    of: call.callId,
    originalBytes: cut.originalBytes,
    keptBytes: cut.keptBytes,
  });
  return { output: cut.text, isError };
}

/** Far more than a model is given. To clean it takes a fraction of a second at most. */
const MAX_CLEANED = 1_000_000;

type TextBounds = {
  /** A text with more characters is cleaned only at its beginning and its end. */
  readonly maxCleaned: number;
  readonly maxBytes: number;
  /** A longer text is cut to this, besides the notice of the cut; `maxBytes` when unset. */
  readonly cutTo?: number;
};

/** Cleaned before the cut: half a secret is no longer known as one, and neither is one with a colour in the middle. */
export function boundText(output: string, redactor: Redactor, bounds: TextBounds): Truncated {
  const { maxCleaned, maxBytes, cutTo = maxBytes } = bounds;
  const clean = (text: string): string => redactor.text(cleanText(text));
  if (output.length <= maxCleaned) {
    const text = clean(output);
    const fits = text.length * 3 <= maxBytes || utf8Length(text) <= maxBytes;
    return fits ? { text, originalBytes: 0, keptBytes: 0, truncated: false } : truncateMiddle(text, cutTo);
  }
  // The middle is dropped anyway, and a secret that is cut at its edges is far from the text that stays.
  const head = truncateUtf8(clean(output.slice(0, maxCleaned / 2)), cutTo / 2);
  const tail = truncateUtf8Start(clean(output.slice(-maxCleaned / 2)), cutTo / 2);
  const originalBytes = utf8Length(output);
  const keptBytes = head.keptBytes + tail.keptBytes;
  const text = head.text + cutNotice(originalBytes - keptBytes, originalBytes) + tail.text;
  return { text, originalBytes, keptBytes, truncated: true };
}

const MEGABYTE = 1024 * 1024;
const MAX_FILES = 20;
/** Max size of all files together, as they are stored and sent: base64, a third more than the file. */
const MAX_TOTAL = 10 * MEGABYTE;
/** Max size of one picture: providers refuse a request with a larger one. */
const MAX_PICTURE = 5 * MEGABYTE;
/** Max names of files that are left out. */
const MAX_NAMED = 5;

/** The result itself when its files are within the limits, which is nearly always. */
export function boundFiles(result: ToolResult): ToolResult {
  const { documents = [] } = result;
  const kept: FilePart[] = [];
  const left: FilePart[] = [];
  let total = 0;
  for (const file of documents) {
    const fits = kept.length < MAX_FILES && total + file.data.length <= MAX_TOTAL && isSendable(file);
    (fits ? kept : left).push(file);
    if (fits) total += file.data.length;
  }
  if (left.length === 0) return result;
  const notice = leftOut(left);
  // A failed result is read by its error, with the output behind it.
  return { ...result, documents: kept, output: result.output === "" ? notice : `${result.output}\n${notice}` };
}

function isSendable({ mediaType, data }: FilePart): boolean {
  return !mediaType.startsWith("image/") || data.length <= MAX_PICTURE;
}

function leftOut(files: readonly FilePart[]): string {
  const named = files.slice(0, MAX_NAMED).map(describe);
  const more = files.length > named.length ? `, and ${files.length - named.length} more` : "";
  return `[Files that were left out: ${named.join(", ")}${more}. A result can have ${MAX_FILES} files, 10 MB together and 5 MB for one picture.]`;
}

function describe({ filename, mediaType, data }: FilePart): string {
  const name = filename === undefined ? "" : `${shortened(oneLine(filename), 80)} `;
  return `${name}(${shortened(oneLine(mediaType), 80)}, ${(data.length / MEGABYTE).toFixed(1)} MB)`;
}
