/** The configuration of a command: flags, variables, the project's file, the user's file and the defaults, checked and merged. */

import { dirname, isAbsolute, relative, resolve } from "node:path";
import type { Variables } from "../../core/process.ts";
import { secondsToMs } from "../../core/units.ts";
import { AGENT_SERVER_RULES, toAgentServers } from "./agent-servers.ts";
import type { Configuration, SettingValues } from "./configuration.ts";
import { hideSecrets, type Layer, readEnvironment } from "./layer.ts";
import { ALL_LIMITS } from "./limit-settings.ts";
import { type ConfigurationCode, ConfigurationError, type Problem, type ProblemLocation } from "./problem.ts";
import { MAX_CONFIGURATION_BYTES, readSmallFile } from "./read-file.ts";
import { type CheckRule, createResolver, type Resolved, type Resolver } from "./resolve-settings.ts";
import { ALL_SETTINGS, isSetting, SETTINGS } from "./settings.ts";
import { inHome, type Surroundings } from "./start-folder.ts";
import { MCP_SERVER_RULES, toMcpServers } from "./to-mcp-servers.ts";

export type ConfigurationSources = {
  /** The default path; the file may be absent. Undefined when there is no such path. */
  readonly userFile: string | undefined;
  /** Only of a folder that is trusted, as it was compared: nothing is looked for here. */
  readonly project?: ProjectSettings | undefined;
  /** The same for its `.mcp.json`, whose mistakes are told and stop nothing: it is written for other programs. */
  readonly mcpFile?: ProjectSettings | undefined;
  /** `--config`, which goes before SOUS_CONFIG; both stand in for the user's file and must exist. */
  readonly configFlagFile?: string | undefined;
  readonly env: Variables;
  readonly flags?: readonly FlagSetting[] | undefined;
  /** Relative names are in it, and files in it are named relative to it. */
  readonly cwd: string;
  /** Checked by the part that applies the rules. */
  readonly checkRule?: CheckRule | undefined;
};

/** Without content it is a link that leads out of the project. */
export type ProjectSettings = { readonly file: string; readonly content: Uint8Array | undefined };

/** The value that a flag gives a setting: `{ key: "agent.max_turns", flag: "--max-turns", value: 5 }`. */
export type FlagSetting = { readonly key: string; readonly flag: string; readonly value: unknown };

export type LoadedConfiguration = {
  readonly configuration: Configuration;
  /** Every setting by its key, with its value and where it came from. */
  readonly origins: ReadonlyMap<string, Resolved>;
  /** One line each: what was ignored, where, and why. */
  readonly warnings: readonly string[];
};

/** Throws a `ConfigurationError` with every problem of every source. */
export async function loadConfiguration(sources: ConfigurationSources): Promise<LoadedConfiguration> {
  const { env, flags = [], checkRule = () => undefined } = sources;
  const environment = readEnvironment(env);
  const [user, project, mcp] = await Promise.all([readUserFile(sources), readProject(sources), readMcp(sources)]);
  // With one name, the server of the user goes before that of the project, and that of its settings before that of `.mcp.json`.
  const layers = [flagLayer(flags), environment.layer, mcp.layer, project.layer, user.layer];
  const resolver = createResolver(
    layers.filter((layer) => layer !== undefined),
    checkRule,
  );
  // The file lies in the folder `.sous` of the project.
  const root = sources.project && dirname(dirname(resolve(sources.cwd, sources.project.file)));
  const mcpRoot = sources.mcpFile && dirname(resolve(sources.cwd, sources.mcpFile.file));
  const configuration = build(resolver, { env, cwd: sources.cwd, projectRoot: root ?? mcpRoot });
  const problems = [...user.problems, ...project.problems, ...resolver.problems];
  if (problems.length > 0) throw new ConfigurationError(inOrder(problems));
  return {
    configuration,
    origins: resolver.resolved,
    warnings: [
      ...[...environment.warnings, ...(project.warnings ?? []), ...(mcp.warnings ?? [])],
      ...resolver.warnings,
    ],
  };
}

function build(from: Resolver, { env, cwd, projectRoot }: Surroundings): Configuration {
  const values = new Map(
    ALL_SETTINGS.filter(({ project }) => project !== "add").map((setting) => [setting.key, from.valueOf(setting)]),
  );
  const settings = valuesIn(SETTINGS, values, "") as SettingValues;
  const { subagent } = settings.agent;
  const { persistencePath } = subagent;
  return {
    ...settings,
    agent: {
      ...settings.agent,
      ...limitsOf(values),
      subagent: { ...subagent, persistencePath: persistencePath && inHome(persistencePath, env.HOME ?? "") },
    },
    permissions: from.rules({ key: "permissions", ...SETTINGS.permissions }).map((rule) => {
      const { effect, pattern, origin, isProject } = rule;
      return isProject ? { effect, pattern, origin, root: projectRoot } : { effect, pattern, origin };
    }),
    agentServers: toAgentServers(
      from.servers({ key: "agent_servers", ...SETTINGS.agent_servers }, AGENT_SERVER_RULES),
      { env, cwd, projectRoot },
      from.warnings,
    ),
    mcpServers: toMcpServers(
      from.servers({ key: "mcp_servers", ...SETTINGS.mcp_servers }, MCP_SERVER_RULES),
      { env, cwd, projectRoot, readable: settings.mcpVariables },
      from.warnings,
    ),
  };
}

/** The values of a group by their names in code; limits have a place of their own. */
function valuesIn(group: object, values: ReadonlyMap<string, unknown>, prefix: string): object {
  const inside = Object.entries(group).filter(([name]) => !LIMIT_KEYS.has(prefix + name));
  return Object.fromEntries(
    inside.map(([name, each]: [string, object]) => [
      name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
      isSetting(each) ? values.get(prefix + name) : valuesIn(each, values, `${prefix}${name}.`),
    ]),
  );
}

const LIMIT_KEYS: ReadonlySet<string> = new Set(ALL_LIMITS.map(([, { key }]) => key));

/** Each at the path of its option. */
function limitsOf(
  values: ReadonlyMap<string, unknown>,
): Pick<Configuration["agent"], "maxTurns" | "budget" | "limits"> {
  const below = (prefix: string): object => {
    const inside = ALL_LIMITS.filter(([path]) => path.startsWith(prefix) && !path.includes(".", prefix.length));
    return Object.fromEntries(
      inside.map(([path, { key }]) => {
        const value = values.get(key);
        // Settings count seconds, options milliseconds.
        const isSeconds = path.endsWith(".durationMs") && typeof value === "number";
        return [path.slice(prefix.length), isSeconds ? secondsToMs(value) : value];
      }),
    );
  };
  const limits = { ...below("limits."), children: below("limits.children.") };
  return { ...below(""), budget: below("budget."), limits } as ReturnType<typeof limitsOf>;
}

type FileSource = {
  readonly layer?: Layer | undefined;
  readonly problems: readonly Problem[];
  readonly warnings?: readonly string[];
};

async function readUserFile({ userFile, configFlagFile, env, cwd }: ConfigurationSources): Promise<FileSource> {
  const named = configFlagFile ?? (env.SOUS_CONFIG || undefined);
  const path = named === undefined ? userFile : resolve(cwd, named);
  if (path === undefined) return { problems: [] };
  const file = named ?? nameOf(path, cwd);
  const fromFlag = { kind: "flag", name: "--config", text: configFlagFile && hideSecrets(`--config ${file}`) } as const;
  const fromVariable = { kind: "variable", name: "SOUS_CONFIG", text: hideSecrets(`SOUS_CONFIG=${file}`) } as const;
  const location = configFlagFile === undefined ? fromVariable : fromFlag;
  return readOne(path, { file, whenMissing: named === undefined ? undefined : location });
}

async function readProject({ project, cwd }: ConfigurationSources): Promise<FileSource> {
  if (project === undefined) return { problems: [] };
  const file = nameOf(resolve(cwd, project.file), cwd);
  if (project.content === undefined) return { problems: [], warnings: [leadsOut(file)] };
  return readLayer(project.content, file, "project");
}

async function readMcp({ mcpFile, cwd }: ConfigurationSources): Promise<FileSource> {
  if (mcpFile === undefined) return { problems: [] };
  const file = nameOf(resolve(cwd, mcpFile.file), cwd);
  if (mcpFile.content === undefined) return { problems: [], warnings: [leadsOut(file)] };
  const { readMcpFile } = await import("./mcp-file.ts");
  return { problems: [], ...readMcpFile(mcpFile.content, file) };
}

/** A file outside was not looked at when the project was trusted. */
function leadsOut(file: string): string {
  return `${file} is ignored: it is a link that leads out of the project, or no file`;
}

type FileRequest = {
  readonly file: string;
  /** The flag or variable that named it, when it must exist. */
  readonly whenMissing: ProblemLocation | undefined;
};

async function readOne(path: string, { file, whenMissing }: FileRequest): Promise<FileSource> {
  const read = await readSmallFile(path, MAX_CONFIGURATION_BYTES);
  if ("bytes" in read) return readLayer(read.bytes, file, "user");
  if (read.trouble === "missing" && whenMissing === undefined) return { problems: [] };
  const code: ConfigurationCode = read.trouble === "too-large" ? "SOUS-C002" : "SOUS-C001";
  const location = whenMissing ?? { kind: "file", file, line: 1, column: 1, source: [] };
  return { problems: [{ code, location, ...TROUBLE[read.trouble](file) }] };
}

/** Most folders have no such file, and a reader of YAML takes longer to load than everything else that a start needs. */
async function readLayer(bytes: Uint8Array, file: string, name: "user" | "project"): Promise<FileSource> {
  const { readFileLayer } = await import("./file-layer.ts");
  return readFileLayer(bytes, file, name);
}

const TROUBLE = {
  missing: (file: string) => ({ message: `there is no file ${file}`, fix: "correct the name, or write the file" }),
  "not-a-file": (file: string) => ({ message: `${file} is not a regular file`, fix: "give the name of a file" }),
  "too-large": (file: string) => ({
    message: `${file} is larger than ${MAX_CONFIGURATION_BYTES} bytes`,
    fix: "make it smaller",
  }),
  unreadable: (file: string) => ({ message: `${file} cannot be read`, fix: "check who may read it" }),
};

/** Names a path as people type it, when it is in the folder where they are. */
function nameOf(path: string, cwd: string): string {
  const inside = relative(cwd, path);
  return inside === "" || inside.startsWith("..") || isAbsolute(inside) ? path : inside;
}

function flagLayer(flags: readonly FlagSetting[]): Layer {
  return {
    name: "flag",
    entries: new Map(
      flags.map(({ key, flag, value }) => [
        key,
        {
          given: value,
          origin: () => ({ layer: "flag", where: flag }),
          location: () => ({ kind: "flag", name: flag, text: hideSecrets(`${flag} ${String(value)}`) }),
        },
      ]),
    ),
  };
}

/** Files from top to bottom, then variables, then flags. */
function inOrder(problems: readonly Problem[]): Problem[] {
  const rank = { file: 0, variable: 1, flag: 2 };
  return [...problems].sort((one, other) => {
    if (one.location.kind !== "file" || other.location.kind !== "file")
      return rank[one.location.kind] - rank[other.location.kind];
    if (one.location.file !== other.location.file) return one.location.file < other.location.file ? -1 : 1;
    return one.location.line - other.location.line || one.location.column - other.location.column;
  });
}
