/** All tools of the command line, in the order people and models see them. */

import type { Programs } from "../../core/process.ts";
import type { Tool } from "../../core/tool.ts";
import { editFileTool, type WriteToolOptions, writeFileTool } from "./edit-file.ts";
import { fetchTool } from "./fetch.ts";
import { readingTools } from "./read-only.ts";
import { type TerminalOptions, terminalTool } from "./terminal.ts";
import type { BackgroundCommands } from "./terminal-background.ts";

export type BuiltInOptions = {
  /** The workspace; the working directory of the run when unset. */
  root?: string | undefined;
  /** Starts the commands of `terminal`, and ripgrep; without it there is no `terminal`. */
  programs?: Programs | undefined;
  /** Says which files are guarded, and what is done around a write. */
  writes?: Pick<WriteToolOptions, "guards" | "aroundWrite"> | undefined;
  terminalTimeoutMs?: number | undefined;
  /** Our variables: the secrets among them are removed from what commands print. */
  environment?: Readonly<Record<string, string | undefined>> | undefined;
  /** Reads where git may work in a command of `terminal`. */
  gitFolders?: TerminalOptions["gitFolders"];
  /** Hosts that `fetch` may be redirected to without asking again. */
  allowHosts?: readonly string[] | undefined;
  /** Keeps commands in the background, so that the end of a conversation can end them. */
  background?: BackgroundCommands | undefined;
};

const DEFAULT_TERMINAL_TIMEOUT_MS = 120_000;

export function builtInTools(options: BuiltInOptions = {}): Tool[] {
  const { root, programs, writes, environment, allowHosts, background, gitFolders } = options;
  const timeoutMs = options.terminalTimeoutMs ?? DEFAULT_TERMINAL_TIMEOUT_MS;
  return [
    ...readingTools(root, programs),
    writeFileTool({ root, ...writes }),
    editFileTool({ root, ...writes }),
    ...(programs === undefined
      ? []
      : [terminalTool({ programs, root, timeoutMs, environment, background, gitFolders })]),
    fetchTool({ allowHosts }),
  ];
}
