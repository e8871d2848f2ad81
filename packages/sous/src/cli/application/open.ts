/** From flags, configuration and files to the runtime that `sous run` and `sous chat` use. Everything is loaded late. */

import type { AgentFile } from "../../config/agents/file.ts";
import type { ProjectTrust } from "../../config/trust/trust.ts";
import type { AgentDefinition } from "../../core/agent.ts";
import type { ApprovalRequest, Approve, RuleAnswer } from "../../core/approval.ts";
import type { Clock, Host } from "../../core/clock.ts";
import type { Configuration, McpServer, PermissionRule } from "../../core/configuration.ts";
import { UnpricedModel } from "../../core/errors.ts";
import { isOutsideModel } from "../../core/model.ts";
import type { Programs } from "../../core/process.ts";
import type { RunOptions, RuntimeOptions } from "../../core/runtime.ts";
import type { Store } from "../../core/store.ts";
import type { Tool } from "../../core/tool.ts";
import { createConsent, type Policy } from "../../rights/policy.ts";
import type { Runtime } from "../../runtime.ts";
import type { ProcessContext } from "../files/paths.ts";
import { alsoHide, withoutValuesIn } from "../files/without-secrets.ts";
import { openForRun, storageOf } from "../stored/database.ts";
import type { RunFlags } from "../table/run-flags.ts";
import { inertLine } from "../terminal/text.ts";
import { agentFiles } from "./agent-files.ts";
import { builtInFor, openCommands } from "./built-in.ts";
import { guardPaths } from "./guards.ts";
import { budgetOf, limitsOf } from "./limits.ts";
import { mcpSecrets, neededServers, openServerTools, withEditors } from "./mcp.ts";
import { type ModelSource, modelSource } from "./models.ts";
import { type RightsMode, rulesByMode } from "./modes.ts";
import type { NestedNoteBook } from "./nested-notes.ts";
import { readNotes } from "./notes.ts";
import { Opened } from "./opened.ts";
import { lateClient, outsideAgents, serverSecrets } from "./outside.ts";
import { openProjectPrograms } from "./programs.ts";
import { knownTrust, readConfiguration, userNotes } from "./project.ts";
import { ROOT_NAME, rootAndAgents, rootFile, withModelOf } from "./root.ts";
import { commandReading, lineOf, policyFor, withAgentRules } from "./rules.ts";
import { openTelemetry, type RunTelemetry } from "./telemetry.ts";
import { allowanceInside, narrowConfiguration, narrowRights, readOuterLimits, withinOuter } from "./within.ts";

export type ApplicationRequest = ProcessContext & {
  readonly flags: RunFlags;
  /** The person at the terminal; without one, a call that no rule decides is refused. */
  readonly ask: Approve | undefined;
  /** The mode that a session has at a moment; without it the flags decide. */
  readonly mode?: (() => RightsMode) | undefined;
  /** The trace of a root that starts now; when unset that of the variables. */
  readonly trace?: Host["trace"];
  /** Of a run that continues: the name of its root, which is its agent if there is a file of it. */
  readonly rootName?: string | undefined;
  /** The store of a run that continues; the caller opened it. */
  readonly store?: Store | undefined;
  /** Of the process, when several applications share it; the caller opened it. */
  readonly telemetry?: RunTelemetry | undefined;
  /** MCP servers of the editor that a session belongs to. */
  readonly mcpServers?: readonly McpServer[] | undefined;
  /** Aborting it ends the wait for MCP servers, and the servers; the opening rejects. */
  readonly signal?: AbortSignal | undefined;
  /** Files that other options name, where they are given, such as the log: no tool writes them. */
  readonly optionFiles?: readonly (string | undefined)[] | undefined;
  /** One line for a person: what was ignored, and what to do about it. */
  readonly warn: (line: string) => void;
};

export type Application = AsyncDisposable & {
  readonly configuration: Configuration;
  readonly runtime: Runtime;
  readonly clock: Clock;
  /** The root of every run of this command. */
  readonly agent: AgentDefinition;
  /** All tools of the command line, whatever the flags leave to the root. */
  readonly tools: readonly Tool[];
  /** Agents from files, by which a person or a model can call them. */
  readonly agents: readonly AgentDefinition[];
  /** Limits and budget of one run, from the flags and the configuration. */
  readonly runOptions: Pick<RunOptions, "budget" | "limits" | "conversation">;
  /** Undefined when nothing is stored. */
  readonly store: Store | undefined;
  /** For the lines a person runs with `!`. */
  readonly programs: Programs;
  readonly commands: ConversationCommands;
  /** Rejects in one sentence when there is no such model, or no key for it. */
  checkModel(name: string): Promise<void>;
  /** What a call would do, exactly and in words that are harmless to show. */
  describe(request: ApprovalRequest, columns?: number): ActionWords;
  /** Holds for the agent that asks, at the same position below the same agents, until the command ends. */
  remember(rule: PermissionRule, request: ApprovalRequest): void;
  /** What the rules say of a call of the root to this tool, whatever its input; undefined when none decides. */
  ruleOn(toolName: string): RuleAnswer["effect"] | undefined;
};

/** What the agents of a conversation have left running in the background. */
export type ConversationCommands = {
  /** Ends what this root and everything below it has started, or all there is. */
  end(rootId?: string): Promise<void>;
  /** From now on the commands of the root belong to this run, which continues its conversation. */
  moveTo(rootId: string): void;
};

export type ActionWords = {
  readonly title: string;
  /** All of it, wrapped and never cut. */
  readonly lines: readonly string[];
  /** Why a rule has the person asked, where it says so. */
  readonly why: readonly string[];
  /** What "always for this agent" would remember: this action and no other. */
  readonly rule: PermissionRule | undefined;
};

export async function openApplication(asked: ApplicationRequest): Promise<Application> {
  const outer = await readOuterLimits(asked.env);
  const warn = (line: string) => asked.warn(`warning: ${line}`);
  const request = { ...asked, flags: narrowRights(asked.flags, outer), warn };
  const { flags, cwd, env, ask } = request;
  const trust = flags.isBare ? undefined : await knownTrust(request, ask !== undefined);
  const project = trust?.state === "trusted" ? trust : undefined;
  const { configuration: given, warnings } = await readConfiguration({ flags, cwd, env, project });
  const narrowed = narrowConfiguration(given, outer);
  const { agentServers } = narrowed;
  for (const warning of warnings) request.warn(inertLine(warning, 1000));
  const files = await agentFiles(request, project, narrowed, request.warn);
  const chosen = rootFile(files, request);
  const ofFile = chosen === undefined ? narrowed : withModelOf(chosen, narrowed, flags);
  const configuration = { ...ofFile, mcpServers: withEditors(ofFile.mcpServers, request.mcpServers) };
  const storage = storageOf(flags.storage, configuration);
  await using opened = new Opened();
  const store = request.store ?? opened.use(await openForRun(storage));
  const programs = await openProjectPrograms(request, project, opened);
  const guards = await guardPaths(guardRequest(request, configuration), configuration, trust);
  const bounds = { heldRules: trust?.heldRules ?? [], guards, agents: files };
  const commands = await openCommands(programs, env);
  const nested = await openNested(project, { store, files, warn: request.warn });
  const builtIn = await builtInFor(request, configuration, { programs, guards, commands });
  const users = { rights: flags.rights, rootName: chosen?.name ?? ROOT_NAME, chosen, files };
  const models = await modelSource({ cwd, env, programs }, configuration);
  const needed = neededServers(configuration, users);
  if (needed.length > 0) await checkBefore(configuration.model, models);
  const served = await openServerTools(needed, request, {
    programs,
    allowHosts: configuration.tools.fetch.allowHosts,
    allowance: allowanceInside(configuration, outer),
    opened,
  });
  const tools = [...(nested?.tools(builtIn) ?? builtIn), ...served];
  const rulesFor = (allowsAll: boolean): Policy => {
    const policy = policyFor({ env, flags: { rights: { ...flags.rights, allowsAll } } }, configuration, bounds);
    return withAgentRules(policy, files, { allowsAll, ...commandReading(request, configuration, guards) });
  };
  const { mode } = request;
  const rules = mode === undefined ? rulesFor(flags.rights.allowsAll) : rulesByMode({ mode, rulesFor, tools });
  const [{ systemHost }, { runtimeOn }] = await Promise.all([import("../../host.ts"), import("../../runtime.ts")]);
  const secrets = {
    ...models.secrets,
    ...serverSecrets(agentServers),
    ...mcpSecrets(Object.values(configuration.mcpServers)),
  };
  alsoHide(secrets);
  const settings = configuration.telemetry;
  const telemetry = request.telemetry ?? opened.use(await openTelemetry({ settings, env, say: asked.warn }));
  const { isSampled } = telemetry;
  const host = systemHost({ cwd, environment: { ...env, ...secrets }, isSampled, trace: request.trace });
  const outside = outsideAgents(agentServers, opened.use(lateClient(agentServers, { programs, cwd })));
  const userFile = flags.isBare ? undefined : userNotes(env);
  const hasNested = nested !== undefined;
  const place = { cwd, now: host.clock.now(), programs, project, userFile, hasNested };
  const notes = await readNotes({ ...place, warn: request.warn });
  const { rights } = flags;
  const { root, agents } = await rootAndAgents({ configuration, tools, files, rights, notes, outside, chosen });
  const options: RuntimeOptions = {
    host,
    agents,
    store,
    requireStore: storage.isRequired,
    approve: createConsent(rules, ask),
    maxConcurrentCalls: configuration.provider.maxConcurrentCalls,
    onEvent: [...(nested === undefined ? [] : [nested.onEvent]), ...telemetry.listeners],
    models: { allow: configuration.models.allow, prices: configuration.prices, outside },
  };
  const lives = opened.move();
  return {
    configuration,
    runtime: withinOuter(runtimeOn(models.resolve, options), outer),
    clock: host.clock,
    agent: root,
    tools,
    agents,
    runOptions: {
      budget: budgetOf(configuration),
      limits: limitsOf(configuration),
      conversation: configuration.agent.conversation,
    },
    store,
    programs,
    commands,
    async checkModel(name) {
      const { priceFor } = await import("../../budget/prices.ts");
      const isPriced = priceFor(await models.resolve(name), configuration.prices) !== undefined;
      if (configuration.agent.budget !== undefined && !isPriced) throw new UnpricedModel(name);
    },
    // A person sees all that would run, but for known values. What they do not see they cannot allow for always.
    describe: (action, columns) => {
      const input = withoutValuesIn(action.input);
      const shown = rules.describe({ ...action, input }, columns);
      // Nor can a rule answer what a tool asks by itself.
      const isWhole = input === action.input && action.isFromTool !== true;
      return isWhole ? shown : { ...shown, rule: undefined };
    },
    remember: (rule, asked) => rules.remember(rule, lineOf(asked)),
    ruleOn: (toolName) =>
      rules.decide({ ...NOT_MADE, path: root.name, agent: root.name, toolName, input: {}, cwd })?.effect,
    [Symbol.asyncDispose]: () => lives[Symbol.asyncDispose](),
  };
}

/** A call of the root that has not been made. */
const NOT_MADE = { runId: "", above: [], callId: "" };

/** A missing key is said before servers are waited for. An agent outside is not a model that could be looked at. */
async function checkBefore(model: string | undefined, { resolve }: Pick<ModelSource, "resolve">): Promise<void> {
  if (model !== undefined && !isOutsideModel(model)) await resolve(model);
}

type NestedRequest = {
  readonly store: Store | undefined;
  readonly files: readonly AgentFile[];
  readonly warn: (line: string) => void;
};

/** The notes of sub-folders; undefined when there are none to read. */
async function openNested(
  project: ProjectTrust | undefined,
  { store, files, warn }: NestedRequest,
): Promise<NestedNoteBook | undefined> {
  if (project === undefined || project.nested.length === 0) return undefined;
  const [{ readNested }, { NestedNoteBook }] = await Promise.all([
    import("../../config/trust/nested-notes.ts"),
    import("./nested-notes.ts"),
  ]);
  const { byFolder, changed } = await readNested(project.root, project.nested);
  if (changed.length > 0)
    warn(
      inertLine(
        `notes of folders have changed since the project was trusted, so agents do not read them (${changed.join(", ")}); sous trust shows them and asks`,
        1000,
      ),
    );
  if (byFolder.size === 0) return undefined;
  const without = files.filter(({ notes }) => !notes).map(({ name }) => name);
  return new NestedNoteBook({ root: project.root, notes: byFolder, store, without });
}

function guardRequest({ cwd, env, flags, optionFiles = [] }: ApplicationRequest, configuration: Configuration) {
  return {
    cwd,
    env,
    configFile: flags.configFile,
    dbPath: storageOf(flags.storage, configuration).dbPath,
    optionFiles,
  };
}
