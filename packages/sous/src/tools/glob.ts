/** `glob`: the names of files that match a pattern. */

import { z } from "zod";
import { compileGlob } from "../core/glob.ts";
import { type Tool, type ToolResult, tool } from "../core/tool.ts";
import { walkFiles } from "./walk.ts";
import { locate, openWorkspace, printable, readFolder } from "./workspace.ts";

const MAX_FILES = 1000;

const input = z.strictObject({
  pattern: z.string().min(1).max(1000).describe("Such as src/**/*.ts or *.{json,yaml}; relative to path."),
  path: z.string().min(1).optional().describe("The folder to look in; the whole workspace when unset."),
  include_ignored: z.boolean().optional().describe("Also look into node_modules and what .gitignore names."),
});

export function globTool(root?: string): Tool {
  return tool({
    name: "glob",
    displayName: "Find files",
    description:
      "Finds files by name. * and ? stay within a name, ** spans folders, [a-z] and {a,b} choose; a pattern without a " +
      "slash matches at any depth. Answers with sorted paths, one a line. node_modules and what .gitignore names are " +
      "left out unless you ask for them; links are not followed.",
    category: "search",
    tier: "observe",
    effect: "read",
    inputSchema: input,
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

/** `list_files`: the names in one folder. */
const MAX_ENTRIES = 1000;

const folderInput = z.strictObject({
  path: z.string().min(1).optional().describe("The folder, relative to the top of the workspace; the top when unset."),
});

const SUFFIX = { file: "", folder: "/", link: "@", other: "=" } as const;

export function listFilesTool(root?: string): Tool {
  return tool({
    name: "list_files",
    displayName: "List files",
    description:
      "Lists the names in one folder of the workspace, sorted, one a line. A name that ends in / is a folder, in @ a " +
      "link, in = a device, pipe or socket. Use glob to look into folders below.",
    category: "search",
    tier: "observe",
    effect: "read",
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
