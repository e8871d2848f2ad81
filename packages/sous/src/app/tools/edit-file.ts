/** `write_file`: a whole text file, made or replaced in one step. `edit_file`: an exact piece of one. */

import { z } from "zod";
import { orUndefined, ToolFailure } from "../../core/errors.ts";
import type { GuardPaths } from "../../core/guarded-files.ts";
import { type Tool, type ToolResult, tool } from "../../core/tool.ts";
import { toolWords } from "../../core/words/tools.ts";
import { describeChange, type Replacement } from "./edit-diff.ts";
import { describeNearest, occurrencesOf } from "./edit-nearest.ts";
import { MAX_WRITTEN_BYTES, openTarget } from "./file-target.ts";
import { openWorkspace, protectPaths } from "./workspace.ts";

const writeInput = z.strictObject({
  path: z.string().min(1).describe("The file, relative to the top of the workspace."),
  content: z.string().describe("All that the file will hold."),
});

export type WriteToolOptions = {
  /** The workspace; the working directory of the run when unset. */
  root?: string | undefined;
  /** The paths of guarded files, besides those that are known by their names. */
  guards?: GuardPaths | undefined;
  /** Called instead of the last step, which it must do: `write` puts the content into `file`. */
  aroundWrite?: AroundWrite | undefined;
};

/** `file` is absolute and without links. */
export type AroundWrite = (file: string, content: Uint8Array, write: () => Promise<void>) => Promise<void>;

export function writeFileTool({ root, guards, aroundWrite = justWrite }: WriteToolOptions = {}): Tool {
  return tool({
    ...toolWords("write_file"),
    description:
      "Writes a whole text file of the workspace; a file that is there is replaced, folders on the way are made. Use " +
      "edit_file to change a part of a file. Settings of agents, git, shells and editors (.sous, .claude, .git, .vscode " +
      "and the like) cannot be written.",
    inputSchema: writeInput,
    async execute({ path, content }, { cwd, signal }): Promise<ToolResult> {
      const bytes = encode(path, content);
      const workspace = await openWorkspace(root ?? cwd);
      await using target = await openTarget(workspace, path, {
        protectedPaths: protectPaths(workspace, guards),
        makeFolders: true,
      });
      const { name, existing } = target;
      await aroundWrite(target.real, bytes, () => target.replace(bytes, signal));
      const lines = countLines(content);
      const before = existing === undefined ? "" : `; before it had ${existing.size} bytes`;
      return {
        success: true,
        output: `${existing === undefined ? "Created" : "Replaced"} ${name}: ${lines} lines, ${bytes.length} bytes${before}.`,
        metadata: { path: name, created: existing === undefined, lines, bytes: bytes.length },
      };
    },
  });
}

const justWrite: AroundWrite = (_file, _content, write) => write();

/** The bytes of a text, if a file may hold them. */
function encode(path: string, content: string): Buffer {
  if (!content.isWellFormed()) throw new ToolFailure("The text holds half of a character. Write whole characters.");
  const bytes = Buffer.from(content, "utf8");
  if (bytes.length > MAX_WRITTEN_BYTES) {
    throw new ToolFailure(
      `${path} would have ${bytes.length} bytes; at most ${MAX_WRITTEN_BYTES} are written at once.`,
    );
  }
  return bytes;
}

function countLines(text: string): number {
  const breaks = text.split("\n").length - 1;
  return text === "" || text.endsWith("\n") ? breaks : breaks + 1;
}

/** Max occurrences that are named when there are several. */
const MAX_NAMED = 20;
/** Max occurrences that one call replaces. */
const MAX_REPLACED = 100_000;
/** A NUL among the first bytes marks a binary file, as in git and grep. */
const BINARY_BYTES = 8000;

const editInput = z.strictObject({
  path: z.string().min(1).describe("The file, relative to the top of the workspace."),
  old: z.string().min(1).describe("The text to replace, exactly as it stands in the file, without line numbers."),
  new: z.string().describe("The text to replace it with; empty to delete."),
  all: z.boolean().optional().describe("Replace every occurrence; without it there must be exactly one."),
});

/** Shows the most similar lines when the file has no such piece. */
export function editFileTool({ root, guards, aroundWrite = justWrite }: WriteToolOptions = {}): Tool {
  return tool({
    ...toolWords("edit_file"),
    description:
      "Replaces a piece of a text file of the workspace. The old text must occur exactly as given, and only once unless " +
      "all is set: give lines around it to make it unique. Line endings stay as they are in the file. Answers with what " +
      "changed.",
    inputSchema: editInput,
    async execute({ path, old, new: replacement, all = false }, { cwd, signal }): Promise<ToolResult> {
      if (old === replacement)
        throw new ToolFailure("The old and the new text are the same, so there is nothing to do.");
      const workspace = await openWorkspace(root ?? cwd);
      await using target = await openTarget(workspace, path, {
        protectedPaths: protectPaths(workspace, guards),
        makeFolders: false,
      });
      const text = decode(await target.read(), target.name);
      const replacements = findReplacements(text, { name: target.name, old, replacement, all });
      const bytes = encode(path, applied(text, replacements));
      await aroundWrite(target.real, bytes, () => target.replace(bytes, signal));
      const count = replacements.length === 1 ? "1 place" : `${replacements.length} places`;
      return {
        success: true,
        output: `Edited ${target.name} in ${count}.\n${describeChange(text, replacements)}`,
        metadata: { path: target.name, replacements: replacements.length },
      };
    },
  });
}

function decode(bytes: Buffer, name: string): string {
  if (bytes.subarray(0, BINARY_BYTES).includes(0)) throw new ToolFailure(`${name} is a binary file and is not edited.`);
  const text = orUndefined(() => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  if (text === undefined) throw new ToolFailure(`${name} is not UTF-8 text; to edit it would damage it.`);
  return text;
}

type Wanted = { name: string; old: string; replacement: string; all: boolean };

/** Line endings make no difference to what is found, and the ones of the file are written. */
function findReplacements(text: string, { name, old, replacement, all }: Wanted): Replacement[] {
  const flat = text.replaceAll("\r\n", "\n");
  const sought = old.replaceAll("\r\n", "\n");
  const occurrences = occurrencesOf(flat, sought);
  const found = all ? apart(occurrences, sought.length) : occurrences;
  const written = replacement.replaceAll("\r\n", "\n");
  const done = occurrencesOf(flat, written);
  if (found.length === 0) throw new ToolFailure(notFound(flat, sought, done, name));
  // A call that is made again after a crash must not make the same change twice.
  if (areWithin(found, sought.length, done, written.length)) {
    throw new ToolFailure(`${name} was not changed: the new text is already there, wherever the old text is.`);
  }
  if (found.length > 1 && !all) throw new ToolFailure(ambiguous(flat, found, name));
  if (found.length > MAX_REPLACED) {
    throw new ToolFailure(
      `The old text occurs ${found.length} times in ${name}, and at most ${MAX_REPLACED} are replaced at once. ` +
        "Give more of the text around the ones you mean.",
    );
  }
  return withEndings(text, flat, found, sought.length).map(({ start, end, ending }) => ({
    start,
    end,
    text: ending === "\n" ? written : written.replaceAll("\n", ending),
  }));
}

/** Leaves out positions whose text overlaps the one before. */
function apart(positions: readonly number[], length: number): number[] {
  let end = 0;
  return positions.filter((at) => {
    if (at < end) return false;
    end = at + length;
    return true;
  });
}

/** `done` is where the new text occurs. */
function notFound(flat: string, sought: string, done: readonly number[], name: string): string {
  const near =
    done.length === 0
      ? describeNearest(flat, sought)
      : `The new text is already there, at line ${lineNumbers(flat, done.slice(0, 1)).join()}: perhaps the change was made before.`;
  return `The old text is not in ${name}. ${near}`;
}

/** True when every old text is a part of a new text that is there. Both lists in order. */
function areWithin(found: readonly number[], length: number, done: readonly number[], doneLength: number): boolean {
  let last = -1;
  return found.every((at) => {
    while ((done[last + 1] ?? Number.POSITIVE_INFINITY) <= at) last += 1;
    const start = done[last];
    return start !== undefined && at + length <= start + doneLength;
  });
}

function ambiguous(flat: string, found: readonly number[], name: string): string {
  const numbers = lineNumbers(flat, found.slice(0, MAX_NAMED));
  const more = found.length > MAX_NAMED ? ` and ${found.length - MAX_NAMED} more` : "";
  return (
    `The old text occurs ${found.length} times in ${name}, at the lines ${numbers.join(", ")}${more}. ` +
    "Give more of the lines around the one you mean, or set all to replace every one."
  );
}

/** `positions` in order. */
function lineNumbers(text: string, positions: readonly number[]): number[] {
  let number = 1;
  let from = 0;
  return positions.map((position) => {
    for (let at = text.indexOf("\n", from); at !== -1 && at < position; at = text.indexOf("\n", from)) {
      number += 1;
      from = at + 1;
    }
    return number;
  });
}

/** The positions in the file of what was found without carriage returns, and how lines end there. */
function withEndings(
  text: string,
  flat: string,
  found: readonly number[],
  length: number,
): { start: number; end: number; ending: "\n" | "\r\n" }[] {
  if (text.length === flat.length) return found.map((at) => ({ start: at, end: at + length, ending: "\n" }));
  const usual = text.indexOf("\r\n") === text.indexOf("\n") - 1 ? "\r\n" : "\n";
  let skipped = 0;
  let from = 0;
  const inFile = (position: number): number => {
    for (let at = flat.indexOf("\n", from); at !== -1 && at < position; at = flat.indexOf("\n", from)) {
      if (text[at + skipped] === "\r") skipped += 1;
      from = at + 1;
    }
    return position + skipped;
  };
  return found.map((at) => {
    const start = inFile(at);
    const end = inFile(at + length);
    const first = text.slice(start, end).search(/\r?\n/);
    const ending = first === -1 ? usual : text[start + first] === "\r" ? "\r\n" : "\n";
    return { start, end, ending };
  });
}

function applied(text: string, replacements: readonly Replacement[]): string {
  const pieces: string[] = [];
  let from = 0;
  for (const { start, end, text: written } of replacements) {
    pieces.push(text.slice(from, start), written);
    from = end;
  }
  return [...pieces, text.slice(from)].join("");
}
