/** The built-in tools as a command has them: its folder, its settings, its guards. */

import { writeTrusted } from "../../config/trust/trust.ts";
import type { Configuration } from "../../core/configuration.ts";
import type { GuardPaths } from "../../core/guarded-files.ts";
import type { Programs } from "../../core/process.ts";
import type { Tool } from "../../core/tool.ts";
import { guardOfFile } from "../../rights/guarded-writes.ts";
import type { BackgroundCommands } from "../../tools/terminal-background.ts";
import type { AroundWrite } from "../../tools/write-file.ts";
import { type ProcessContext, userFolderIfAny } from "../files/paths.ts";
import type { RunFlags } from "../table/run-flags.ts";

type ToolRequest = ProcessContext & { readonly flags: Pick<RunFlags, "isBare"> };

export async function builtInFor(
  { cwd, env, flags }: ToolRequest,
  configuration: Configuration,
  { programs, guards, commands }: { programs: Programs; guards: GuardPaths; commands: BackgroundCommands },
): Promise<Tool[]> {
  const { builtInTools } = await import("../../tools/built-in.ts");
  const aroundWrite = flags.isBare ? undefined : writeInProject({ cwd, env }, guards);
  const { terminal, fetch } = configuration.tools;
  return builtInTools({
    root: cwd,
    programs,
    writes: { guards, aroundWrite },
    terminalTimeoutMs: terminal.timeoutMs,
    environment: env,
    allowHosts: fetch.allowHosts,
    background: commands,
  });
}

export async function openCommands(programs: Programs, env: ProcessContext["env"]): Promise<BackgroundCommands> {
  const [{ BackgroundCommands }, { createRedactor }, { secretsOf }] = await Promise.all([
    import("../../tools/terminal-background.ts"),
    import("../../secrets/redact.ts"),
    import("../../secrets/variables.ts"),
  ]);
  return new BackgroundCommands(programs, createRedactor(secretsOf(env)));
}

/** For the tools that write. Rules let a guarded file be written only when a person has said yes to it. */
function writeInProject({ cwd, env }: ProcessContext, guards: GuardPaths): AroundWrite | undefined {
  const stateFolder = userFolderIfAny("state", env);
  if (stateFolder === undefined) return undefined;
  return async (file, content, write) => {
    if (guardOfFile(file, guards) === undefined) return write();
    return writeTrusted({ cwd, stateFolder }, { file, content }, write);
  };
}
