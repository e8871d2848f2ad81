/** `grep`: lines that match a pattern. Found in this process; ripgrep, if installed, only says which files to read. */

import { z } from "zod";
import { ToolFailure } from "../../core/errors.ts";
import { compileGlob } from "../../core/glob.ts";
import { loadPatternEngine, Pattern, UnusablePattern } from "../../core/pattern.ts";
import type { Programs } from "../../core/process.ts";
import { type Tool, type ToolResult, tool } from "../../core/tool.ts";
import { truncateUtf8, truncateUtf8Start } from "../../core/truncate.ts";
import { utf8Length } from "../../core/usage.ts";
import { toolWords } from "../../core/words/tools.ts";
import { type ScanEnd, scanLines, textOfLine } from "./line-scan.ts";
import { filesHolding } from "./ripgrep.ts";
import { type FoundFile, skippedFolders, walkFiles } from "./walk.ts";
import {
  HardLinkFailure,
  locate,
  nameInside,
  type OpenedFile,
  openFile,
  openKnownFile,
  openWorkspace,
  type Workspace,
} from "./workspace.ts";

const DEFAULT_MATCHES = 200;
const MAX_MATCHES = 1000;
/** Max size of one answer. */
const MAX_BYTES = 48 * 1024;
/** Max bytes of a line that are searched, and that are shown. */
const MAX_SEARCHED_BYTES = 16 * 1024;
const MAX_SHOWN_BYTES = 400;
/** Max size of one file. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;
/** Max time of matching in one call. It ends between two lines: the longest line and the slowest pattern take half a second. */
const MAX_MILLISECONDS = 1000;
/** Opened while another is searched. */
const FILES_AHEAD = 8;

const input = z.strictObject({
  pattern: z.string().min(1).max(1000).describe("A regular expression, matched against each line."),
  path: z.string().min(1).optional().describe("The file or folder to search; the whole workspace when unset."),
  glob: z.string().min(1).max(1000).optional().describe("Only files that match, such as *.ts; relative to path."),
  literal: z.boolean().optional().describe("Search for the pattern as plain text."),
  ignore_case: z.boolean().optional(),
  include_ignored: z.boolean().optional().describe("Also search node_modules and what .gitignore names."),
  limit: z.int().min(1).max(MAX_MATCHES).optional().describe(`How many lines to show; ${DEFAULT_MATCHES} when unset.`),
});

/** `now` counts milliseconds. */
export function grepTool(root?: string, programs?: Programs, now: () => number = () => performance.now()): Tool {
  return tool({
    ...toolWords("grep"),
    description:
      "Searches the text files of the workspace for lines that match a regular expression, and answers with " +
      "file:line:text. Known: . [a-z] [^a] \\d \\w \\s \\b \\p{L} ^ $ | ( ) * + ? {2,5}; not look-around or " +
      "back-references. node_modules and what .gitignore names are left out unless you ask for them.",
    inputSchema: input,
    async execute(asked, context): Promise<ToolResult> {
      const pattern = compilePattern(asked);
      await loadPatternEngine();
      const search = newSearch(pattern, asked.limit ?? DEFAULT_MATCHES, programs, now);
      const workspace = await openWorkspace(root ?? context.cwd);
      const { real, isFolder } = await locate(workspace, asked.path ?? ".");
      if (isFolder) await searchFolder(workspace, real, asked, search, context.signal);
      else await searchNamedFile(workspace, asked.path ?? ".", search, context.signal);
      return result(search, asked.pattern);
    },
  });
}

type Asked = z.infer<typeof input>;

function compilePattern({ pattern, literal = false, ignore_case: ignoreCase = false }: Asked): Pattern {
  try {
    return new Pattern(pattern, { isLiteral: literal, ignoreCase, dialect: "lines" });
  } catch (error) {
    if (!(error instanceof UnusablePattern)) throw error;
    throw new ToolFailure(`${error.message} Change it, or set literal to true to search for the text as it stands.`, {
      cause: error,
    });
  }
}

/** The finds of a search so far, and why it ended early. */
type Search = ReturnType<typeof newSearch>;

function newSearch(pattern: Pattern, limit: number, programs: Programs | undefined, now: () => number) {
  return {
    ...{ pattern, limit, programs, now },
    required: pattern.required === undefined ? undefined : Buffer.from(pattern.required),
    lines: [] as string[],
    bytes: 0,
    files: new Set<string>(),
    milliseconds: 0,
    longLines: 0,
    hardLinks: 0,
    notices: new Set<string>(),
    isOver: false,
  };
}

async function searchNamedFile(workspace: Workspace, path: string, search: Search, signal: AbortSignal): Promise<void> {
  await using file = await openFile(workspace, path);
  const end = await searchFile(file, search, signal);
  if (end === "binary") search.notices.add(`${file.name} is a binary file and was not searched`);
}

async function searchFolder(
  workspace: Workspace,
  start: string,
  asked: Asked,
  search: Search,
  signal: AbortSignal,
): Promise<void> {
  const wanted = asked.glob === undefined ? undefined : compileGlob(asked.glob);
  const includeIgnored = asked.include_ignored ?? false;
  const onLimit = (): void => void search.notices.add("the workspace is too large to be searched whole; give a path");
  const holding = await filesWith(search, start, includeIgnored, signal);
  const top = nameInside(workspace, start);
  const ahead: Promise<OpenedFile | undefined>[] = [];
  const searchNext = async (): Promise<void> => {
    await using file = await ahead.shift();
    if (file !== undefined) await searchFile(file, search, signal);
  };
  try {
    for await (const found of walkFiles(workspace, { start, includeIgnored, wanted, onLimit, signal })) {
      if (holding?.has(top === "." ? found.name : found.name.slice(top.length + 1)) === false) continue;
      const opening = openQuietly(workspace, found, search);
      // Awaited later, and may fail before that.
      opening.catch(() => undefined);
      ahead.push(opening);
      if (ahead.length === FILES_AHEAD) await searchNext();
      if (search.isOver) return;
    }
    while (ahead.length > 0 && !search.isOver) await searchNext();
  } finally {
    await Promise.allSettled(ahead.map(async (opening) => (await opening)?.[Symbol.asyncDispose]()));
  }
}

/** Undefined when every file must be read. */
async function filesWith(
  { pattern, programs }: Search,
  folder: string,
  includeIgnored: boolean,
  signal: AbortSignal,
): Promise<ReadonlySet<string> | undefined> {
  if (programs === undefined || pattern.required === undefined) return undefined;
  const skipped = skippedFolders(includeIgnored);
  return filesHolding(programs, { folder, text: pattern.required, skipped, signal });
}

/** Leaves out files that cannot be opened or are gone. */
async function openQuietly(
  workspace: Workspace,
  { name, real }: FoundFile,
  search: Search,
): Promise<OpenedFile | undefined> {
  try {
    return await openKnownFile(workspace, real, name);
  } catch (error) {
    if (error instanceof HardLinkFailure) search.hardLinks += 1;
    if (error instanceof ToolFailure) return undefined;
    throw error;
  }
}

async function searchFile(file: OpenedFile, search: Search, signal: AbortSignal): Promise<ScanEnd> {
  const { required } = search;
  const end = await scanLines(file.handle, {
    maxLineBytes: MAX_SEARCHED_BYTES,
    maxBytes: MAX_FILE_BYTES,
    sought: required,
    signal,
    onLine(line) {
      if (line.droppedBytes > 0 && line.droppedHolds) search.longLines += 1;
      if (required !== undefined && !line.bytes.includes(required)) return true;
      const text = textOfLine(line);
      const shown = findIn(text, search);
      if (shown !== undefined) keep(search, file.name, line.number, shown);
      return !search.isOver;
    },
  });
  if (end === "limit") search.notices.add(`only the first ${MAX_FILE_BYTES} bytes of ${file.name} were searched`);
  return end;
}

/** The part of the line to show; undefined when it does not match. Ends the search when its time is used up. */
function findIn(text: string, search: Search): string | undefined {
  const { pattern, now } = search;
  const startedAt = now();
  const shown = pattern.isIn(text) ? shownPart(text, pattern) : undefined;
  search.milliseconds += now() - startedAt;
  if (search.milliseconds > MAX_MILLISECONDS)
    stop(search, "the pattern takes too long to search for; make it simpler, or give a path or a glob");
  return shown;
}

function keep(search: Search, name: string, number: number, text: string): void {
  const line = `${name}:${number}:${text}`;
  const bytes = utf8Length(line) + 1;
  if (search.lines.length === search.limit || search.bytes + bytes > MAX_BYTES) {
    stop(search, `only the first ${search.lines.length} matches are shown; make the pattern narrower or give a path`);
    return;
  }
  search.lines.push(line);
  search.bytes += bytes;
  search.files.add(name);
}

function stop(search: Search, why: string): void {
  search.isOver = true;
  search.notices.add(why);
}

/** The part of a long line where the match ends. */
function shownPart(text: string, pattern: Pattern): string {
  if (utf8Length(text) <= MAX_SHOWN_BYTES) return text.toWellFormed();
  const matchEnd = pattern.endIn(text);
  const before = truncateUtf8Start(text.slice(0, matchEnd), Math.ceil(MAX_SHOWN_BYTES * 0.75));
  const after = truncateUtf8(text.slice(matchEnd), MAX_SHOWN_BYTES - before.keptBytes);
  return `${before.truncated ? "…" : ""}${before.text}${after.text}${after.truncated ? "…" : ""}`;
}

function result(search: Search, pattern: string): ToolResult {
  const { lines, files, longLines, hardLinks, notices, isOver } = search;
  if (hardLinks > 0) notices.add(`hard links not searched, because their files may lie outside: ${hardLinks}`);
  if (longLines > 0)
    notices.add(`${longLines} lines are longer than ${MAX_SEARCHED_BYTES} bytes; only their beginning was searched`);
  const notes = [...notices].map((notice) => `[${notice}]`);
  return {
    success: true,
    output: [...(lines.length === 0 ? ["No matches."] : lines), ...notes].join("\n"),
    metadata: { pattern, matches: lines.length, files: files.size, truncated: isOver },
  };
}
