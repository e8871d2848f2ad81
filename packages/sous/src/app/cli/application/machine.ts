/** Stage 2 of an application: the store, the programs and the guarded files of this machine. */

import type { GuardPaths } from "../../core/guarded-files.ts";
import type { Programs } from "../../core/process.ts";
import type { Store } from "../../core/store.ts";
import type { BackgroundCommands } from "../../tools/terminal-background.ts";
import { openForRun, storageOf } from "../stored/database.ts";
import type { RunFlags } from "../table/run-flags.ts";
import { openCommands } from "./built-in.ts";
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
