/** Everything `sous doctor` looks at, in the order in which it is printed. */

import { messageOf } from "../../core/errors.ts";
import { countLeftovers } from "../../process/group-record.ts";
import { findPrograms } from "../application/programs.ts";
import { databaseFile, userFolder } from "../files/paths.ts";
import { type Check, ok, problem, warning } from "./check.ts";
import { checkDatabase, checkDisk, checkFolders, checkSettingsFile } from "./folders.ts";
import { checkPrograms, checkTerminal, checkVersions, PROGRAM_NAMES, type Terminal } from "./machine.ts";
import { checkModel, checkPrices } from "./model.ts";
import { checkSetup } from "./setup.ts";

export type DoctorRequest = {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly flags: {
    readonly model: string | undefined;
    readonly config: string | undefined;
    readonly dbPath: string | undefined;
    readonly isOnline: boolean;
  };
  readonly terminal: Terminal;
  readonly versions: { readonly node: string; readonly sous: string };
};

export async function examine(request: DoctorRequest): Promise<Check[]> {
  const { cwd, env, flags, terminal, versions } = request;
  const setup = await checkSetup({ cwd, env, configFile: flags.config, model: flags.model });
  const provider = setup.configuration?.provider;
  const choice = setup.configuration?.model ?? flags.model ?? (env.SOUS_MODEL || undefined);
  return [
    ...checkVersions(versions.node, versions.sous),
    checkTerminal(terminal, env),
    ...checkFolders(env),
    ...checkSettingsFile(env),
    ...setup.checks,
    ...(await checkModel({
      choice,
      apiKeyEnv: provider?.apiKeyEnv,
      apiKeyCommand: provider?.apiKeyCommand,
      baseUrl: provider?.baseUrl,
      env,
      isOnline: flags.isOnline,
    })),
    checkPrices(choice, setup.configuration),
    ...(await checkRuns(request, setup.configuration?.agent.subagent.persistencePath)),
    ...checkPrograms(await findPrograms(PROGRAM_NAMES, { cwd, env })),
    await checkLeftovers(env),
  ];
}

async function checkRuns({ env, flags }: DoctorRequest, configured: string | undefined): Promise<Check[]> {
  try {
    const file = databaseFile(flags.dbPath ?? configured, env);
    return [await checkDatabase(file), checkDisk(file)];
  } catch (error) {
    return [problem("database", messageOf(error), "set HOME or XDG_DATA_HOME, or give --db-path FILE")];
  }
}

async function checkLeftovers(env: DoctorRequest["env"]): Promise<Check> {
  try {
    const count = await countLeftovers(userFolder("state", env));
    if (count === 0) return ok("processes", "none left by earlier runs");
    const found = `${count} left by runs whose own process is gone`;
    return warning("processes", found, "the next sous run or sous chat ends them");
  } catch {
    return ok("processes", "nowhere to look for those of earlier runs");
  }
}
