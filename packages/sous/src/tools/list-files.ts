/** `list_files`: the names in one folder. */

import { z } from "zod";
import { type Tool, type ToolResult, tool } from "../core/tool.ts";
import { printable } from "./printable.ts";
import { locate, openWorkspace, readFolder } from "./workspace.ts";

const MAX_ENTRIES = 1000;

const input = z.strictObject({
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
    inputSchema: input,
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
