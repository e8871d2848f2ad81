/** Files for an agent: `fs/read_text_file` and `fs/write_text_file` are the run's own `read_file` and `write_file`. */

import type { OutsideAction } from "../core/outside-agent.ts";
import type { ToolResult } from "../core/tool.ts";
import { Refusal } from "./connection.ts";

/** Runs a tool of the run under its rights, rules and limits. */
export type CallTool = (action: Pick<OutsideAction, "toolName" | "input" | "isPoll">) => Promise<ToolResult>;

/** The code of ACP for a resource that is not there or not given. */
const NOT_GIVEN = -32002;
/** Read in several calls; an agent that wants more asks for a part. */
const MAX_FILE_LENGTH = 4 * 1024 * 1024;
const MAX_LINES_AT_ONCE = 2000;

/** How `read_file` says that there is no such file. */
const MISSING = /^No file at /;

export type ReadRequest = { path: string; line?: number | null | undefined; limit?: number | null | undefined };

/** `read_file` numbers its lines and shows a long file in parts: the parts are put together, without the numbers. */
export async function readLentFile(
  { path, line, limit }: ReadRequest,
  callTool: CallTool,
  isMissingEmpty = false,
): Promise<{ content: string }> {
  const first = Math.max(1, line ?? 1);
  const wanted = limit ?? Number.POSITIVE_INFINITY;
  const lines: string[] = [];
  let length = 0;
  while (lines.length < wanted) {
    const input = { path, offset: first + lines.length, limit: Math.min(MAX_LINES_AT_ONCE, wanted - lines.length) };
    const result = await callTool({ toolName: "read_file", input });
    if (!result.success && isMissingEmpty && MISSING.test(result.error ?? "")) return { content: "" };
    if (!result.success) throw refusalOf(result);
    const part = numberedLines(result.output, first + lines.length);
    lines.push(...part);
    length += result.output.length;
    if (length > MAX_FILE_LENGTH)
      throw new Refusal(NOT_GIVEN, "The file is too large: ask for a part with line and limit");
    if (part.length === 0 || result.metadata?.truncated !== true) break;
  }
  // The tool does not say whether the last line has an end; nearly all files of text have one.
  const isWhole = lines.length < wanted;
  return { content: lines.join("\n") + (isWhole && lines.length > 0 ? "\n" : "") };
}

export async function writeLentFile({ path, content }: { path: string; content: string }, callTool: CallTool) {
  const result = await callTool({ toolName: "write_file", input: { path, content } });
  if (!result.success) throw refusalOf(result);
  return {};
}

export function refusalOf({ error, output }: ToolResult): Refusal {
  return new Refusal(NOT_GIVEN, error ?? (output || "It was refused"));
}

/** The lines that begin with the expected numbers; the notice behind them does not. */
function numberedLines(output: string, first: number): string[] {
  const lines: string[] = [];
  for (const line of output.split("\n")) {
    const number = `${first + lines.length}\t`;
    if (!line.startsWith(number)) break;
    const text = line.slice(number.length);
    // A part of a line, given as the whole, would be written back as the whole.
    if (CUT.test(text)) throw new Refusal(NOT_GIVEN, "The file has a line that is too long to be read");
    lines.push(text);
  }
  return lines;
}

const CUT = /… \[\d+ more bytes\]$/;
