/** The built-in tools that only look: nothing they do needs approval. */

import type { Tool } from "../core/tool.ts";
import { globTool, listFilesTool } from "./glob.ts";
import { grepTool } from "./grep.ts";
import { readFileTool } from "./read-file.ts";

/** `root` is the workspace; the working directory of the run when unset. */
export function readOnlyTools(options: { root?: string } = {}): Tool[] {
  return [readFileTool(options.root), listFilesTool(options.root), globTool(options.root), grepTool(options.root)];
}
