/**
 * The files that a command reads of its project and its user: trust, configuration, agent files. What a project says is read only when
 * it is trusted.
 */

import { join } from "node:path";
import { isExternalModel, providerOf, whyNotNamed } from "../../../core/model.ts";
import { checkPattern } from "../../../runtime/rights/rule-pattern.ts";
import type { AgentFile, AgentProblem, AgentSource } from "../../config/agents/file.ts";
import { folderNamed } from "../../config/agents/folders.ts";
import { type LoadedAgents, loadAgentFiles } from "../../config/agents/load.ts";
import type { Configuration } from "../../config/configuration.ts";
import { type LoadedConfiguration, loadConfiguration, type ProjectSettings } from "../../config/load-configuration.ts";
import { type ProjectTrust, trustOf } from "../../config/trust/trust.ts";
import { CommandError, EXIT } from "../exit-codes.ts";
import { type ProcessContext, userFileIfAny, userFolder, userFolderIfAny } from "../files/paths.ts";
import type { RunFlags } from "../table/run-flags.ts";
import { tell } from "../terminal/output.ts";
import { inertLine, plural } from "../terminal/text.ts";

/** Opens no file of a project that is not trusted. */
export async function findTrust({ cwd, env }: ProcessContext): Promise<ProjectTrust> {
  const stateFolder = userFolderIfAny("state", env);
  if (stateFolder === undefined) {
    const nothing = { present: [], problem: undefined, files: [], changes: [], heldRules: [], nested: [] };
    return { root: cwd, state: "unknown", ...nothing };
  }
  return trustOf({ cwd, stateFolder });
}

/** The one line about a project whose files are not read; undefined when there is nothing to say. */
export function trustWarning({ root, state, present, problem, changes }: ProjectTrust): string | undefined {
  if (state === "changed") {
    const what = problem ?? (changes.join(", ") || "it was trusted by an older version of sous");
    return `the project ${root} has changed since it was trusted (${what}), so its files are not read, and what it denied or asked about stays so; sous trust shows them and asks`;
  }
  if (problem !== undefined) return `no file of the project ${root} is read, because ${problem}`;
  if (state === "trusted" || present.length === 0) return undefined;
  return `the files of the project ${root} are not read (${present.join(", ")}), because it is not trusted; sous trust shows them and asks`;
}

type TrustRequest = ProcessContext & { readonly warn: (line: string) => void };

/** Warns when nothing of the project is read. Without a person to ask, lost trust ends the command. */
export async function knownTrust({ cwd, env, warn }: TrustRequest, canAsk: boolean): Promise<ProjectTrust> {
  const trust = await findTrust({ cwd, env });
  const warning = trustWarning(trust);
  const isLost = trust.state === "changed" || trust.problem !== undefined;
  if (isLost && !canAsk)
    throw new CommandError(
      inertLine(`${warning}. No one can be asked: run sous trust, or use --bare to run without the project`, 2000),
      EXIT.configuration,
    );
  if (warning !== undefined) warn(inertLine(warning, 1000));
  return trust;
}

/**
 * The user's agents, those of folders that the user's settings name, and the project's when it is trusted. Without a
 * configuration it is not known which servers there are.
 */
export async function loadAgents(
  context: ProcessContext,
  trust: Pick<ProjectTrust, "files">,
  configuration: Pick<Configuration, "agents" | "agentServers" | "mcpServers"> | undefined,
): Promise<LoadedAgents> {
  const { alsoRead, ignoreHooks } = configuration?.agents ?? { alsoRead: [], ignoreHooks: [] };
  const own = userFolderIfAny("config", context.env) === undefined ? [] : [userAgents(context)];
  const also = alsoRead.map((each) => folderNamed(each, context.env.HOME ?? "/"));
  return loadAgentFiles({
    ...serverNames(configuration),
    ignoreHooks,
    userFolders: [...own, ...also],
    projectFiles: trust.files,
    checkRule: checkPattern,
  });
}

/** The servers that an agent file may name; both are unknown without a configuration. */
export function serverNames(
  configuration: Pick<Configuration, "agentServers" | "mcpServers"> | undefined,
): Pick<AgentSource, "servers" | "mcpServers"> {
  if (configuration === undefined) return {};
  const { agentServers, mcpServers } = configuration;
  return { servers: Object.keys(agentServers), mcpServers: Object.keys(mcpServers) };
}

export function userAgents({ env }: Pick<ProcessContext, "env">): string {
  return join(userFolder("config", env), "agents");
}

type ConfigurationRequest = ProcessContext & {
  /** The options as they were typed; a command without these options gives only the file. */
  readonly flags: Pick<RunFlags, "configFile"> & Partial<Pick<RunFlags, "settings">>;
  /** Undefined when nothing of the project may be read. */
  readonly project: Pick<ProjectTrust, "root" | "files"> | undefined;
};

/** Throws a `ConfigurationError` with every mistake at once. */
export async function readConfiguration(request: ConfigurationRequest): Promise<LoadedConfiguration> {
  const { flags, cwd, env, project } = request;
  return loadConfiguration({
    userFile: userFileIfAny("config", "config.yaml", env),
    project: project && settingsOf(project),
    mcpFile: project && mcpFileOf(project),
    configFlagFile: flags.configFile,
    env,
    flags: flags.settings,
    cwd,
    checkRule: checkPattern,
  });
}

/** Reads the configuration with the settings of the project, and warns about what is not read or ignored. */
export async function readWithProject(
  configFile: string | undefined,
  context: ProcessContext,
): Promise<{ trust: ProjectTrust; loaded: LoadedConfiguration }> {
  const trust = await findTrust(context);
  const loaded = await readConfiguration({ flags: { configFile }, ...context, project: trust });
  const untrusted = trustWarning(trust);
  for (const line of untrusted === undefined ? loaded.warnings : [untrusted, ...loaded.warnings])
    tell(`warning: ${inertLine(line, 1000)}`);
  return { trust, loaded };
}

/** The bytes that were compared when trust was looked up; the file may have changed since. */
function settingsOf({ root, files }: Pick<ProjectTrust, "root" | "files">): ProjectSettings | undefined {
  const [folder, file] = [".sous", ".sous/config.yaml"];
  const found = files.find(({ path }) => path === file || path === folder);
  return found && { file: join(root, file), content: found.path === file ? found.content : undefined };
}

/** The same for its servers. */
function mcpFileOf({ root, files }: Pick<ProjectTrust, "root" | "files">): ProjectSettings | undefined {
  const found = files.find(({ path }) => path === ".mcp.json");
  return found && { file: join(root, found.path), content: found.content };
}

/** Warns once, however much there is to say: `sous agents check` says it. */
export async function agentFiles(
  context: ProcessContext,
  project: Pick<ProjectTrust, "files"> | undefined,
  configuration: Configuration,
  warn: (line: string) => void,
): Promise<readonly AgentFile[]> {
  const found = await loadAgents(context, project ?? { files: [] }, configuration);
  const { agents, problems } = onProviderOf(found.agents, configuration);
  const line = notesLine([...found.problems, ...problems]);
  if (line !== undefined) warn(line);
  return agents;
}

/**
 * A project was trusted to be read, not to choose whose server gets a task and which key pays for it: an agent of it that
 * names another provider runs on the model of its caller, unless the user's configuration lists that model.
 */
export function onProviderOf(
  files: readonly AgentFile[],
  { model, models }: Pick<Configuration, "model" | "models">,
): { agents: readonly AgentFile[]; problems: readonly AgentProblem[] } {
  const own = model === undefined ? undefined : providerOf(model);
  const problems: AgentProblem[] = [];
  const agents = files.map((file) => {
    // An external agent is asked about whenever it is called, also in a file that is trusted.
    const { scope, model: named } = file;
    if (scope !== "project" || named === undefined || named === "inherit" || isExternalModel(named)) return file;
    if (whyNotNamed(named, own, models.allow) === undefined) return file;
    problems.push({
      code: "SOUS-A005",
      file: file.file,
      severity: "warning",
      line: file.origins.fields.model?.line ?? 1,
      column: 1,
      message: `the model ${named} is ignored: a project may only choose a model of your provider, or one that models.allow lists`,
      fix: `add ${named} to models.allow in your own configuration, or leave it: the model of its caller is used`,
    });
    return { ...file, model: undefined };
  });
  return { agents, problems };
}

/** A single problem is told itself. Undefined when there is none. */
export function notesLine(problems: readonly AgentProblem[]): string | undefined {
  const [first, ...others] = problems;
  if (first === undefined) return undefined;
  const { code, file, line, message } = first;
  if (others.length === 0) return `${inertLine(file)}:${line}: ${code}: ${inertLine(message, 300)}`;
  const lost = new Set(problems.filter(({ severity }) => severity === "error").map((each) => each.file)).size;
  const notes = problems.filter(({ severity }) => severity === "warning").length;
  const told = notes === 0 ? [] : [plural(notes, "note")];
  const what =
    lost === 0
      ? `${told.join()} about agent files`
      : [`${plural(lost, "agent file")} ${lost === 1 ? "is" : "are"} not loaded`, ...told].join(", ");
  return `${what}: sous agents check`;
}
