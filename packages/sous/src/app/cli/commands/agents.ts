/** `sous agents list | show | check | new | import`: which agent files there are, what they may do, and what is wrong with them. */

import { lstat } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import { nearest } from "../../../core/nearest.ts";
import { shownLimit } from "../../../core/units.ts";
import { checkPattern } from "../../../runtime/rights/rule-pattern.ts";
import type { AgentFile, AgentProblem, ReadAgent } from "../../config/agents/file.ts";
import { placeOf } from "../../config/agents/folders.ts";
import { reservedProblems } from "../../config/agents/mcp-entries.ts";
import { readAgentFile } from "../../config/agents/read.ts";
import { checkCallSize, toEffectiveRights } from "../../config/agents/rights.ts";
import { OUR_TOOLS } from "../../config/agents/tools.ts";
import type { Configuration } from "../../config/configuration.ts";
import { MAX_AGENT_BYTES, readSmallFile } from "../../config/read-file.ts";
import { projectRoot } from "../../config/trust/files.ts";
import {
  findTrust,
  loadAgents,
  notesLine,
  onProviderOf,
  serverNames,
  trustWarning,
  userAgents,
} from "../application/project.ts";
import { CommandError, EXIT, usageError } from "../exit-codes.ts";
import { makePrivateFolder, writePrivate } from "../files/file-access.ts";
import { processContext } from "../files/paths.ts";
import { snakeCase } from "../stored/run-json.ts";
import { quoted, readOptions, refusePositionals, wrongWord } from "../table/options.ts";
import { AGENTS } from "../table/setup-entries.ts";
import { openOutput, printJson, tell } from "../terminal/output.ts";
import { inertLine, plural } from "../terminal/text.ts";
import {
  type AgentSettings,
  type AgentsRequest,
  agentLines,
  type ConfiguredLimit,
  problemLines,
  rightsLines,
  settingsFor,
} from "./agent-lines.ts";
import { agentTemplate } from "./agent-template.ts";
import { importAgents } from "./agents-import.ts";

const COMMAND = "sous agents";

export async function agents(parameters: readonly string[]): Promise<number> {
  const { values, positionals } = readOptions(AGENTS, parameters);
  const [action, ...names] = positionals;
  const request: AgentsRequest = { values, output: openOutput(process.stdout, values) };
  if (values.user && action !== "new") throw usageError("--user belongs to sous agents new");
  if ((values.yes || values.from !== undefined) && action !== "import")
    throw usageError("--from and --yes belong to sous agents import");
  switch (action) {
    case "list":
      refusePositionals(`${COMMAND} list`, names);
      return list(request);
    case "show":
      return show(oneName("show", names), request);
    case "check":
      return check(names, request);
    case "new":
      return begin(oneName("new", names), request);
    case "import":
      refusePositionals(`${COMMAND} import`, names);
      return importAgents(processContext(), request);
    default:
      throw wrongWord(COMMAND, "takes list, show NAME, check [FILE …], new NAME or import", action);
  }
}

function oneName(action: string, [name, ...rest]: readonly string[]): string {
  refusePositionals(`${COMMAND} ${action}`, rest);
  if (name === undefined) throw usageError(`${COMMAND} ${action} needs the NAME of an agent`);
  return name;
}

/** Loads the agents, after one line about what is not read. */
async function load() {
  const trust = await findTrust(processContext());
  const warning = trustWarning(trust);
  if (warning !== undefined) tell(`warning: ${inertLine(warning, 1000)}`);
  const settings = await settingsFor(processContext(), trust);
  const { configuration } = settings;
  const { agents: found, problems } = await loadAgents(processContext(), trust, configuration);
  // Without a model of the user's own it is not known whose models an agent may name.
  const models = configuration?.model === undefined ? [] : onProviderOf(found, configuration).problems;
  const mcpServers = Object.values(configuration?.mcpServers ?? {});
  return { agents: found, problems: [...problems, ...models], warning, settings, mcpServers };
}

/** None, after one line, when the configuration has mistakes. */
function limitsOf({ limits, problem }: AgentSettings): readonly ConfiguredLimit[] {
  if (problem !== undefined) tell(`warning: ${inertLine(problem, 1000)}`);
  return limits;
}

async function list({ values, output }: AgentsRequest): Promise<number> {
  const { agents: found, problems, warning } = await load();
  if (values.json) {
    printJson({
      schema: "sous.agents.v1",
      agents: found.map(agentJson),
      warnings: warning === undefined ? [] : [warning],
    });
  } else if (found.length > 0) output.print(agentLines(found, output));
  else output.printText(noAgents(problems));
  if (problems.length > 0)
    tell(`${plural(problems.length, "problem")}: ${COMMAND} check shows ${problems.length === 1 ? "it" : "them"}`);
  return EXIT.ok;
}

/** Files that give no agent are not nothing. */
function noAgents(problems: readonly AgentProblem[]): string {
  const files = new Set(problems.map(({ file }) => file)).size;
  if (files === 0) return `There are no agents. ${COMMAND} new NAME begins one.`;
  const what =
    files === 1 ? "one file is there and cannot be used as it is" : `${files} files cannot be used as they are`;
  return `No agent is loaded: ${what}.`;
}

async function show(name: string, request: AgentsRequest): Promise<number> {
  const { values, output } = request;
  const { agents: found, problems, settings, mcpServers } = await load();
  const agent = found.find((each) => each.name === name);
  if (agent === undefined) {
    const broken = problems.filter(({ file, severity }) => severity === "error" && basename(file) === `${name}.md`);
    if (broken.length > 0) return report(broken, request);
    const meant = nearest(
      name,
      found.map((each) => each.name),
    );
    throw new CommandError(
      `Unknown agent ${quoted(name)}. ${meant === undefined ? `${COMMAND} list shows all.` : `Did you mean ${meant}?`}`,
    );
  }
  const rights = toEffectiveRights(agent, OUR_TOOLS, mcpServers);
  const limits = limitsOf(settings);
  if (values.json) {
    const { instructions } = agent;
    printJson({ schema: "sous.agent.v1", ...agentJson(agent), rights, limits: limits.map(limitJson), instructions });
  } else output.print(rightsLines(agent, rights, limits, output));
  return EXIT.ok;
}

/** Files that are named are read whatever is trusted: reading is all that happens to them. */
async function check(files: readonly string[], request: AgentsRequest): Promise<number> {
  if (files.length === 0) {
    const { agents: found, problems, settings, mcpServers } = await load();
    const sizes = callSizeProblems(found, limitsOf(settings));
    const reserved = found.flatMap((agent) => reservedProblems(agent, mcpServers));
    return report([...problems, ...reserved, ...sizes], request, found.length === 0 ? NONE_READ : undefined);
  }
  const settings = await settingsFor(processContext(), await findTrust(processContext()));
  const read = await Promise.all(files.map((file) => readNamedFile(file, settings.configuration)));
  const found = read.map(({ agent }) => agent).filter((agent) => agent !== undefined);
  const sizes = callSizeProblems(found, limitsOf(settings));
  return report([...read.flatMap(({ problems }) => problems), ...sizes], request);
}

/** One file that a person has named, whatever is trusted. Throws a `CommandError` when it cannot be read. */
async function readNamedFile(given: string, configuration: Configuration | undefined): Promise<ReadAgent> {
  const cwd = process.cwd();
  const path = resolve(cwd, given);
  const read = await readSmallFile(path, MAX_AGENT_BYTES);
  if ("trouble" in read) throw new CommandError(`${inertLine(given)} cannot be read: it is ${TROUBLES[read.trouble]}`);
  const file = relative(cwd, path);
  const shown = file.startsWith("..") ? path : file;
  return readAgentFile({
    file: shown,
    text: read.bytes,
    ...placeOf(path),
    scope: "project",
    checkRule: checkPattern,
    ...serverNames(configuration),
    ignoreHooks: configuration?.agents.ignoreHooks,
  });
}

const TROUBLES = {
  missing: "not there",
  "not-a-file": "not a file",
  "too-large": "larger than 128 KB",
  unreadable: "not readable",
} as const;

/** Agents whose calls are large beside these limits. */
function callSizeProblems(agents: readonly AgentFile[], limits: readonly ConfiguredLimit[]): AgentProblem[] {
  const tokens = limits.find(({ unit }) => unit === "tokens")?.limit;
  return agents.map((agent) => checkCallSize(agent, tokens)).filter((problem) => problem !== undefined);
}

const NONE_READ = `No agent file was read. ${COMMAND} check FILE looks at any file.`;

function report(
  found: readonly AgentProblem[],
  { values, output }: AgentsRequest,
  otherwise = "The agent files have no mistakes.",
): number {
  // Problems of one file come together, in the order in which files were read.
  const problems = [...Map.groupBy(found, ({ file }) => file).values()].flat();
  if (values.json) printJson({ schema: "sous.agents-check.v1", problems });
  else if (problems.length > 0) output.print(problemLines(problems, output));
  else output.printText(otherwise);
  const line = notesLine(problems);
  if (!values.json && problems.length > 1 && line !== undefined) tell(line.replace(/: sous agents check$/, ""));
  return problems.some(({ severity }) => severity === "error") ? EXIT.configuration : EXIT.ok;
}

async function begin(name: string, { values, output }: AgentsRequest): Promise<number> {
  const text = newAgentText(name);
  const root = values.user ? undefined : await projectRoot(process.cwd());
  const folder = root === undefined ? userAgents(processContext()) : join(root, ".sous", "agents");
  const file = join(folder, `${name}.md`);
  await makeFolder(folder, root);
  if ((await lstat(file).catch(() => undefined)) !== undefined)
    throw new CommandError(`${inertLine(file)} already exists: edit it, or choose another name`);
  await writePrivate(file, text, false);
  if (values.json) printJson({ schema: "sous.agents-new.v1", file });
  else output.printText(inertLine(file));
  tell(root === undefined ? `Next: ${COMMAND} show ${name}` : "Next: edit it, then sous trust lets sous read it");
  return EXIT.ok;
}

/** Throws a `CommandError` for a name that no agent can have. */
function newAgentText(name: string): string {
  const text = agentTemplate(JSON.stringify(name));
  const { problems } = readAgentFile({ file: `${name}.md`, text, dialect: "sous", scope: "user" });
  const [problem] = problems;
  if (problem !== undefined) throw new CommandError(problem.message);
  return agentTemplate(name);
}

/** Writes into no folder that is a link. */
async function makeFolder(folder: string, root: string | undefined): Promise<void> {
  for (const each of root === undefined ? [] : [join(root, ".sous"), folder]) {
    const found = await lstat(each).catch(() => undefined);
    if (found !== undefined && !found.isDirectory()) throw new CommandError(`${inertLine(each)} is not a folder`);
  }
  await makePrivateFolder(folder);
}

function limitJson({ setting, from, ...state }: ConfiguredLimit): object {
  const { of, unit, limit } = shownLimit(state);
  return { of, unit: snakeCase(unit), limit, setting, from };
}

function agentJson(agent: AgentFile): object {
  const { name, nickname = null, description = null, tools = null, model = "inherit" } = agent;
  const { deny, delegate, dialect, scope, file } = agent;
  return { name, nickname, description, tools, deny, model, delegate, dialect, scope, file };
}
