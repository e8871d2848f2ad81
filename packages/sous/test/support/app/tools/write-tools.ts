/** Calls the tools that write, as a run in `cwd` would, and looks at what is on disk. */

import { lstat, readdir, readFile, readlink } from "node:fs/promises";
import { join, relative } from "node:path";
import { editFileTool, type WriteToolOptions, writeFileTool } from "../../../../src/app/tools/edit-file.ts";
import { ToolFailure } from "../../../../src/core/errors.ts";
import type { Tool, ToolResult } from "../../../../src/core/tool.ts";
import { contextIn } from "./temporary-tree.ts";

export type Written = { path: string; content: string };
export type Edit = { path: string; old: string; new: string; all?: boolean };

/** The answer as the model reads it: the output, or the message of the failure. */
export function write(input: Written, cwd: string, options: WriteToolOptions = {}): Promise<string> {
  return answerOf(writeFileTool(options), input, cwd);
}

export function edit(input: Edit, cwd: string, options: WriteToolOptions = {}): Promise<string> {
  return answerOf(editFileTool(options), input, cwd);
}

export async function answerOf(tool: Tool, input: unknown, cwd: string, signal?: AbortSignal): Promise<string> {
  try {
    const { output } = (await tool.execute(input, contextIn(cwd, signal))) as ToolResult;
    return output;
  } catch (error) {
    if (error instanceof ToolFailure) return `failed: ${error.message}`;
    throw error;
  }
}

/** Every name below a folder with what it is and holds; links are not followed. */
export async function contentsOf(folder: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const stats = await lstat(path);
    const name = relative(folder, path);
    if (stats.isFile()) found[name] = await readFile(path, "utf8");
    else found[name] = stats.isSymbolicLink() ? `→ ${await readlink(path)}` : stats.isDirectory() ? "folder" : "other";
  }
  return found;
}
