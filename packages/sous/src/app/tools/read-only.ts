/** The built-in tools that only look: nothing they do needs approval. */

import { checkOptions, type OptionNames } from "../core/options.ts";
import type { Tool } from "../core/tool.ts";
import { globTool, listFilesTool } from "./glob.ts";
import { grepTool } from "./grep.ts";
import { readFileTool } from "./read-file.ts";

const OPTIONS: OptionNames<{ root?: string }> = { root: true };

/** `root` is the workspace; the working directory of the run when unset. */
export function readOnlyTools(options: { root?: string } = {}): Tool[] {
  checkOptions("readOnlyTools()", options, OPTIONS);
  return [readFileTool(options.root), listFilesTool(options.root), globTool(options.root), grepTool(options.root)];
}
