/** The files of a result within limits, so that no tool fills the store or a request. What is left out is said in text. */

import { oneLine, shortened } from "../core/clean-text.ts";
import type { FilePart } from "../core/message.ts";
import type { ToolResult } from "../core/tool.ts";

const MEGABYTE = 1024 * 1024;
const MAX_FILES = 20;
/** Of all files together, as they are stored and sent: base64, a third more than the file. */
const MAX_TOTAL = 10 * MEGABYTE;
/** Of one picture: providers refuse a request with a larger one. */
const MAX_PICTURE = 5 * MEGABYTE;
/** How many of those that are left out are named. */
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
