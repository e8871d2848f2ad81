/** `write_file`: a whole text file, made or replaced in one step. */

import { z } from "zod";
import { ToolFailure } from "../core/errors.ts";
import type { GuardPaths } from "../core/guarded-files.ts";
import { type Tool, type ToolResult, tool } from "../core/tool.ts";
import { MAX_WRITTEN_BYTES, openTarget } from "./file-target.ts";
import { openWorkspace, protectPaths } from "./workspace.ts";

const input = z.strictObject({
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
    name: "write_file",
    displayName: "Write file",
    description:
      "Writes a whole text file of the workspace; a file that is there is replaced, folders on the way are made. Use " +
      "edit_file to change a part of a file. Settings of agents, git, shells and editors (.sous, .claude, .git, .vscode " +
      "and the like) cannot be written.",
    category: "edit",
    tier: "confirm",
    effect: "idempotent",
    inputSchema: input,
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

export const justWrite: AroundWrite = (_file, _content, write) => write();

/** The bytes of a text, if a file may hold them. */
export function encode(path: string, content: string): Buffer {
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
