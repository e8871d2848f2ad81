/** `read_file`: a bounded piece of a text file, with line numbers. */

import { z } from "zod";
import { ToolFailure } from "../core/errors.ts";
import { type Tool, type ToolResult, tool } from "../core/tool.ts";
import { utf8Length } from "../core/usage.ts";
import { scanLines, textOfLine, truncateLine } from "./line-scan.ts";
import { type OpenedFile, openFile, openWorkspace } from "./workspace.ts";

const MAX_LINES = 2000;
const MAX_LINE_BYTES = 2000;
/** Of one answer. */
const MAX_BYTES = 48 * 1024;
/** Read to get to `offset`; beyond this, grep finds the line faster. */
const MAX_SCAN_BYTES = 256 * 1024 * 1024;

const input = z.strictObject({
  path: z.string().min(1).describe("The file, relative to the top of the workspace."),
  offset: z.int().min(1).optional().describe("The first line to show; the first line of a file is 1."),
  limit: z.int().min(1).max(MAX_LINES).optional().describe(`How many lines to show; ${MAX_LINES} when unset.`),
});

export function readFileTool(root?: string): Tool {
  return tool({
    name: "read_file",
    displayName: "Read file",
    description:
      "Reads a text file of the workspace. Every line of the answer begins with its number and a tab. A long file is " +
      "shown in part, and the last line of the answer says how to continue.",
    category: "read",
    tier: "observe",
    effect: "read",
    inputSchema: input,
    async execute({ path, offset = 1, limit = MAX_LINES }, { cwd, signal }): Promise<ToolResult> {
      await using file = await openFile(await openWorkspace(root ?? cwd), path);
      return await readLines(file, offset, limit, signal);
    },
  });
}

async function readLines(file: OpenedFile, offset: number, limit: number, signal: AbortSignal): Promise<ToolResult> {
  const shown: string[] = [];
  let shownBytes = 0;
  let lastNumber = 0;
  const end = await scanLines(file.handle, {
    // A little more, so that the cut can see whether it splits a character.
    maxLineBytes: MAX_LINE_BYTES + 256,
    maxBytes: MAX_SCAN_BYTES,
    signal,
    onLine(line) {
      if (line.number < offset) {
        lastNumber = line.number;
        return true;
      }
      if (shown.length === limit) return false;
      const lineBytes = line.droppedBytes === 0 ? undefined : line.bytes.length + line.droppedBytes;
      const text = `${line.number}\t${truncateLine(textOfLine(line), MAX_LINE_BYTES, lineBytes)}`;
      const bytes = utf8Length(text) + 1;
      if (shownBytes + bytes > MAX_BYTES) return false;
      shown.push(text);
      shownBytes += bytes;
      lastNumber = line.number;
      return true;
    },
  });
  if (end === "binary") {
    throw new ToolFailure(`${file.name} is a binary file of ${file.size} bytes and cannot be read as text.`);
  }
  const isPart = end !== "end";
  if (shown.length === 0 && isPart) {
    throw new ToolFailure(`Line ${offset} of ${file.name} lies too far into the file. Use grep to find what you need.`);
  }
  if (shown.length === 0 && lastNumber > 0) {
    throw new ToolFailure(`${file.name} has ${lastNumber} lines; offset ${offset} is past its end.`);
  }
  return {
    success: true,
    output:
      [...shown, ...(isPart ? [continueNotice(file, offset, lastNumber)] : [])].join("\n") || "[the file is empty]",
    metadata: { path: file.name, lines: shown.length, truncated: isPart },
  };
}

function continueNotice(file: OpenedFile, first: number, last: number): string {
  return `[lines ${first} to ${last} of ${file.name}, ${file.size} bytes in all; continue with offset ${last + 1}]`;
}
