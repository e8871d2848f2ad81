/** From flags, variables and files to the configuration of a command. What a project says is read only when it is trusted. */

import { join } from "node:path";
import type { FlagSetting, LoadedConfiguration, ProjectSettings } from "../../config/load-configuration.ts";
import type { ProjectTrust } from "../../config/trust/trust.ts";
import { userFolderIfAny } from "../files/paths.ts";
import type { RunFlags } from "../table/run-flags.ts";

export type ConfigurationRequest = {
  /** What was typed; a command without these options gives only the file. */
  readonly flags: Pick<RunFlags, "configFile"> & Partial<Pick<RunFlags, "model" | "keep" | "limits">>;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Undefined when nothing of the project may be read. */
  readonly project: Pick<ProjectTrust, "root" | "files"> | undefined;
};

/** Throws a `ConfigurationError` with every mistake at once. */
export async function readConfiguration(request: ConfigurationRequest): Promise<LoadedConfiguration> {
  const { flags, cwd, env, project } = request;
  const [{ loadConfiguration }, { checkPattern }] = await Promise.all([
    import("../../config/load-configuration.ts"),
    import("../../rights/rule-pattern.ts"),
  ]);
  return loadConfiguration({
    userFile: userConfigurationFile(env),
    project: project && settingsOf(project),
    configFlagFile: flags.configFile,
    env,
    flags: flagSettings(flags),
    cwd,
    checkRule: checkPattern,
  });
}

/** The bytes that were compared when its trust was looked up: by now the file may be another. */
function settingsOf({ root, files }: Pick<ProjectTrust, "root" | "files">): ProjectSettings | undefined {
  const [folder, file] = [".sous", ".sous/config.yaml"];
  const found = files.find(({ path }) => path === file || path === folder);
  return found && { file: join(root, file), content: found.path === file ? found.content : undefined };
}

/** Undefined without a home. */
function userConfigurationFile(env: ConfigurationRequest["env"]): string | undefined {
  const folder = userFolderIfAny("config", env);
  return folder === undefined ? undefined : join(folder, "config.yaml");
}

/** The flags that are settings. */
function flagSettings({ model, keep, limits }: ConfigurationRequest["flags"]): FlagSetting[] {
  const given: FlagSetting[] = [
    { key: "model", flag: "--model", value: model },
    { key: "agent.subagent.persistence_path", flag: "--db-path", value: keep?.dbPath },
    { key: "agent.max_turns", flag: "--max-turns", value: limits?.maxTurns },
    { key: "agent.max_tokens_total", flag: "--max-tokens-total", value: limits?.tokens },
    { key: "agent.budget", flag: "--budget", value: limits?.costUsd },
    { key: "agent.timeout", flag: "--timeout", value: limits?.seconds },
    { key: "agent.subagent.max_depth", flag: "--max-depth", value: limits?.maxDepth },
    { key: "agent.subagent.max_executions", flag: "--max-agents", value: limits?.maxAgents },
    { key: "agent.subagent.max_concurrent", flag: "--max-concurrent", value: limits?.maxConcurrent },
  ];
  return given.filter(({ value }) => value !== undefined);
}
