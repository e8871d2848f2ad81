/** Stage 2 of an application: the store, the programs and the guarded files of this machine, and the built-in tools that use them. */

import type { GuardPaths } from "../../../core/guarded-files.ts";
import type { Programs } from "../../../core/process.ts";
import type { Store } from "../../../core/store.ts";
import type { Tool } from "../../../core/tool.ts";
import { guardOfFile } from "../../../runtime/rights/target.ts";
import type { Configuration } from "../../config/configuration.ts";
import { writeTrusted } from "../../config/trust/trust.ts";
import type { AroundWrite } from "../../tools/edit-file.ts";
import type { BackgroundCommands } from "../../tools/terminal-background.ts";
import { type ProcessContext, userFolderIfAny } from "../files/paths.ts";
import { openForRun, storageOf } from "../stored/database.ts";
import type { RunFlags } from "../table/run-flags.ts";
import { guardPaths } from "./guards.ts";
import type { Opened } from "./opened.ts";
import { openProjectPrograms } from "./programs.ts";
import type { Settings } from "./settings.ts";

export type Machine = {
  readonly storage: RunFlags["storage"];
  /** Undefined when nothing is stored. */
  readonly store: Store | undefined;
  readonly programs: Programs;
  readonly guards: GuardPaths;
  /** Commands that agents leave running in the background. */
  readonly commands: BackgroundCommands;
};

export async function openMachine(settings: Settings, opened: Opened): Promise<Machine> {
  const { request, configuration, trust, project } = settings;
  const { flags, cwd, env, optionFiles = [] } = request;
  const storage = storageOf(flags.storage, configuration);
  const store = request.store ?? opened.use(await openForRun(storage));
  const programs = await openProjectPrograms(request, project, opened);
  const named = { configFile: flags.configFile, dbPath: storage.dbPath, optionFiles };
  const guards = await guardPaths({ cwd, env, ...named }, configuration, trust);
  const commands = await openCommands(programs, env);
  return { storage, store, programs, guards, commands };
}

type ToolRequest = ProcessContext & { readonly flags: Pick<RunFlags, "isBare"> };

export async function builtInFor(
  { cwd, env, flags }: ToolRequest,
  configuration: Configuration,
  { programs, guards, commands }: { programs: Programs; guards: GuardPaths; commands: BackgroundCommands },
): Promise<Tool[]> {
  const [{ builtInTools }, { gitFoldersOf }] = await Promise.all([
    import("../../tools/built-in.ts"),
    import("../../../runtime/rights/command-reading.ts"),
  ]);
  const aroundWrite = flags.isBare ? undefined : writeInProject({ cwd, env }, guards);
  const { terminal, fetch } = configuration.tools;
  return builtInTools({
    root: cwd,
    programs,
    writes: { guards, aroundWrite },
    terminalTimeoutMs: terminal.timeout * 1000,
    environment: env,
    allowHosts: fetch.allowHosts,
    background: commands,
    gitFolders: (command) => gitFoldersOf(command, { home: env.HOME, variables: terminal.inertVariables }),
  });
}

async function openCommands(programs: Programs, env: ProcessContext["env"]): Promise<BackgroundCommands> {
  const [{ BackgroundCommands }, { createRedactor }, { secretsOf }] = await Promise.all([
    import("../../tools/terminal-background.ts"),
    import("../../../runtime/secrets/redact.ts"),
    import("../../../runtime/secrets/variables.ts"),
  ]);
  return new BackgroundCommands(programs, createRedactor(secretsOf(env)));
}

/** Wraps the writes of tools. Rules let a guarded file be written only when a person has said yes to it. */
function writeInProject({ cwd, env }: ProcessContext, guards: GuardPaths): AroundWrite | undefined {
  const stateFolder = userFolderIfAny("state", env);
  if (stateFolder === undefined) return undefined;
  return async (file, content, write) => {
    if (guardOfFile(file, guards) === undefined) return write();
    return writeTrusted({ cwd, stateFolder }, { file, content }, write);
  };
}
