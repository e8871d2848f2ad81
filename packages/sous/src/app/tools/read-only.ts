/** The built-in tools that only look, `grep` in a file of its own: nothing they do needs approval. */

import { z } from "zod";
import { ToolFailure } from "../../core/errors.ts";
import { compileGlob } from "../../core/glob.ts";
import { type OptionKinds, TEXT } from "../../core/option-kinds.ts";
import { checkOptions } from "../../core/options.ts";
import type { Programs } from "../../core/process.ts";
import { type Tool, type ToolResult, tool } from "../../core/tool.ts";
import { utf8Length } from "../../core/usage.ts";
import { toolWords } from "../../core/words/tools.ts";
import { grepTool } from "./grep.ts";
import { scanLines, textOfLine, truncateLine } from "./line-scan.ts";
import { walkFiles } from "./walk.ts";
import { locate, type OpenedFile, openFile, openWorkspace, printable, readFolder } from "./workspace.ts";

const OPTIONS: OptionKinds<{ root?: string }> = { root: TEXT };

/** `root` is the workspace; the working directory of the run when unset. */
export function readOnlyTools(options: { root?: string } = {}): Tool[] {
  checkOptions("readOnlyTools()", options, OPTIONS);
  return readingTools(options.root);
}

/** Makes the tools that read; with `programs`, `grep` may use ripgrep. */
export function readingTools(root?: string, programs?: Programs): Tool[] {
  return [readFileTool(root), listFilesTool(root), globTool(root), grepTool(root, programs)];
}

const MAX_FILES = 1000;

const globInput = z.strictObject({
  pattern: z.string().min(1).max(1000).describe("Such as src/**/*.ts or *.{json,yaml}; relative to path."),
  path: z.string().min(1).optional().describe("The folder to look in; the whole workspace when unset."),
  include_ignored: z.boolean().optional().describe("Also look into node_modules and what .gitignore names."),
});

function globTool(root?: string): Tool {
  return tool({
    ...toolWords("glob"),
    description:
      "Finds files by name. * and ? stay within a name, ** spans folders, [a-z] and {a,b} choose; a pattern without a " +
      "slash matches at any depth. Answers with sorted paths, one a line. node_modules and what .gitignore names are " +
      "left out unless you ask for them; links are not followed.",
    inputSchema: globInput,
    async execute(
      { pattern, path = ".", include_ignored: includeIgnored = false },
      { cwd, signal },
    ): Promise<ToolResult> {
      const wanted = compileGlob(pattern);
      const workspace = await openWorkspace(root ?? cwd);
      const { real: start } = await locate(workspace, path);
      const names: string[] = [];
      let isCut = false;
      const onLimit = (): void => {
        isCut = true;
      };
      const walk = { start, includeIgnored, wanted, onLimit, signal };
      for await (const { name } of walkFiles(workspace, walk)) {
        if (names.length === MAX_FILES) {
          isCut = true;
          break;
        }
        names.push(printable(name));
      }
      return {
        success: true,
        output: [...names, ...notices(names.length, isCut, includeIgnored)].join("\n"),
        metadata: { pattern, files: names.length, truncated: isCut },
      };
    },
  });
}

function notices(found: number, isCut: boolean, includeIgnored: boolean): string[] {
  if (isCut) return [`[only the first ${found} files are shown; use a narrower pattern or a path]`];
  if (found > 0) return [];
  const hint = includeIgnored
    ? ""
    : " node_modules and what .gitignore names were left out: set include_ignored to look there.";
  return [`No files match.${hint}`];
}

const MAX_ENTRIES = 1000;

const folderInput = z.strictObject({
  path: z.string().min(1).optional().describe("The folder, relative to the top of the workspace; the top when unset."),
});

const SUFFIX = { file: "", folder: "/", link: "@", other: "=" } as const;

function listFilesTool(root?: string): Tool {
  return tool({
    ...toolWords("list_files"),
    description:
      "Lists the names in one folder of the workspace, sorted, one a line. A name that ends in / is a folder, in @ a " +
      "link, in = a device, pipe or socket. Use glob to look into folders below.",
    inputSchema: folderInput,
    async execute({ path = "." }, { cwd }): Promise<ToolResult> {
      const workspace = await openWorkspace(root ?? cwd);
      const { real } = await locate(workspace, path);
      const entries = await readFolder(workspace, real, path);
      const names = entries.slice(0, MAX_ENTRIES).map(({ name, kind }) => printable(name) + SUFFIX[kind]);
      const left = entries.length - names.length;
      if (left > 0) names.push(`[${left} more names are not shown; use glob with a narrower pattern]`);
      return {
        success: true,
        output: names.join("\n") || "[the folder is empty]",
        metadata: { path, files: entries.length - left, truncated: left > 0 },
      };
    },
  });
}

const MAX_LINES = 2000;
const MAX_LINE_BYTES = 2000;
/** Max size of one answer. */
const MAX_BYTES = 48 * 1024;
/** Read to get to `offset`; beyond this, grep finds the line faster. */
const MAX_SCAN_BYTES = 256 * 1024 * 1024;

const readInput = z.strictObject({
  path: z.string().min(1).describe("The file, relative to the top of the workspace."),
  offset: z.int().min(1).optional().describe("The first line to show; the first line of a file is 1."),
  limit: z.int().min(1).max(MAX_LINES).optional().describe(`How many lines to show; ${MAX_LINES} when unset.`),
});

export function readFileTool(root?: string): Tool {
  return tool({
    ...toolWords("read_file"),
    description:
      "Reads a text file of the workspace. Every line of the answer begins with its number and a tab. A long file is " +
      "shown in part, and the last line of the answer says how to continue.",
    inputSchema: readInput,
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
