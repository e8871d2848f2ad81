/**
 * Makes the runtime that `sous run` and `sous chat` use from flags, configuration and files, in four stages: `settings.ts`,
 * `machine.ts`, and here the tools and the runtime. Everything is loaded late.
 */

import type { AgentDefinition } from "../../../core/agent.ts";
import { type ApprovalRequest, type RuleAnswer, stricter } from "../../../core/approval.ts";
import type { Clock } from "../../../core/clock.ts";
import type { PermissionRule } from "../../../core/configuration.ts";
import { UnpricedModel } from "../../../core/errors.ts";
import { isExternalModel } from "../../../core/model.ts";
import type { Programs } from "../../../core/process.ts";
import type { RunOptions, RuntimeOptions } from "../../../core/runtime.ts";
import type { Store } from "../../../core/store.ts";
import type { Tool } from "../../../core/tool.ts";
import type { ReadingRuntime } from "../../../runtime.ts";
import type { AgentFile } from "../../config/agents/file.ts";
import type { Configuration } from "../../config/configuration.ts";
import { CHILDREN_PER_MESSAGE, LIMIT_SETTINGS } from "../../config/limit-settings.ts";
import { databaseSecrets, userFileIfAny } from "../files/paths.ts";
import { alsoHide, withoutValuesIn } from "../files/without-secrets.ts";
import { inertLine } from "../terminal/text.ts";
import { configuredModels } from "./configured-models.ts";
import { externalAgents, serverSecrets } from "./external.ts";
import { builtInFor, type Machine, openMachine } from "./machine.ts";
import { mcpSecrets, neededServers, openServerTools } from "./mcp.ts";
import { type ModelSource, modelSource } from "./models.ts";
import type { NestedNoteBook } from "./nested-notes.ts";
import { readNotes } from "./notes.ts";
import { Opened } from "./opened.ts";
import { ROOT_NAME, rootAndAgents } from "./root.ts";
import { type CommandRules, commandRules } from "./rules.ts";
import { type ApplicationRequest, readSettings, type Settings } from "./settings.ts";
import { openTelemetry } from "./telemetry.ts";
import { allowanceInside, withinOuter } from "./within.ts";

export type Application = AsyncDisposable & {
  readonly configuration: Configuration;
  readonly runtime: ReadingRuntime;
  readonly clock: Clock;
  /** The root of every run of this command. */
  readonly agent: AgentDefinition;
  /** All tools of the command line, whatever the flags leave to the root. */
  readonly tools: readonly Tool[];
  /** Agents from files, by which a person or a model can call them. */
  readonly agents: readonly AgentDefinition[];
  /** Names of the agents that can be roots here, where roots are placed. */
  readonly rootNames: readonly string[];
  /** Limits and budget of one run, from the flags and the configuration. */
  readonly runOptions: Pick<RunOptions, "budget" | "limits" | "conversation" | "requireAll">;
  /** The children that models may start for one message; undefined where the person has set a limit. */
  readonly childrenPerMessage?: number | undefined;
  /** Undefined when nothing is stored. */
  readonly store: Store | undefined;
  /** Starts the lines that a person runs with `!`. */
  readonly programs: Programs;
  readonly commands: ConversationCommands;
  /** Rejects in one sentence when there is no such model, or no key for it. */
  checkModel(name: string): Promise<void>;
  /** Describes what a call would do, exactly and in words that are harmless to show. */
  describe(request: ApprovalRequest): ActionWords;
  /** Holds for the agent that asks, at the same position below the same agents, until the command ends. */
  remember(rule: PermissionRule, request: ApprovalRequest): void;
  /** The answer of the rules to a call of the root to this tool, whatever its input; undefined when none decides. */
  ruleOn(toolName: string): RuleAnswer["effect"] | undefined;
};

/** Commands that the agents of a conversation have left running in the background. */
type ConversationCommands = {
  /** Ends what this root and everything below it has started, or all there is. */
  end(rootId?: string): Promise<void>;
  /** Gives the commands of the root to this run, which continues its conversation. */
  moveTo(rootId: string): void;
};

export type ActionWords = {
  readonly title: string;
  /** All of it, a row for each line, however long: it is broken at the width that it is printed at. */
  readonly lines: readonly string[];
  /** The reason of the rule that has the person asked, where it gives one. */
  readonly why: readonly string[];
  /** The rule that "always for this agent" would remember: this action and no other. */
  readonly rule: PermissionRule | undefined;
};

/** Closes everything again when a stage fails. What is opened last is closed first. */
export async function openApplication(asked: ApplicationRequest): Promise<Application> {
  const settings = await readSettings(asked);
  await using opened = new Opened();
  const machine = await openMachine(settings, opened);
  const toolSet = await openTools(settings, machine, opened);
  const { runtime, clock, root, agents, rootNames } = await openRuntime(
    { ...settings, ...machine, ...toolSet },
    opened,
  );
  const { request, configuration } = settings;
  const { store, programs, commands } = machine;
  const { models, tools, rules } = toolSet;
  return opened.moveTo<Omit<Application, keyof AsyncDisposable>>({
    configuration,
    runtime,
    clock,
    agent: root,
    tools,
    agents,
    rootNames,
    runOptions: {
      budget: configuration.agent.budget,
      limits: configuration.agent.limits,
      conversation: configuration.agent.conversation,
      ...(asked.flags.requireAll && { requireAll: true }),
    },
    childrenPerMessage: configuration.agent.limits.children.executions === undefined ? PER_MESSAGE.children : undefined,
    store,
    programs,
    commands,
    async checkModel(name) {
      const { priceFor } = await import("../../../runtime/budget/prices.ts");
      const isPriced = priceFor(await models.resolve(name), configuration.prices) !== undefined;
      if (configuration.agent.budget.costUsd !== undefined && !isPriced) throw new UnpricedModel(name);
    },
    // A person sees all that would run, but for known values. What they do not see they cannot allow for always.
    describe: (action) => {
      const input = withoutValuesIn(action.input);
      const shown = rules.describe({ ...action, input }, Number.POSITIVE_INFINITY);
      // Nor can a rule answer what a tool asks by itself.
      const isWhole = input === action.input && action.isFromTool !== true;
      return isWhole ? shown : { ...shown, rule: undefined };
    },
    remember: rules.remember,
    ruleOn: (toolName) => {
      const call = { ...NOT_MADE, path: root.name, agent: root.name, toolName, input: {}, cwd: request.cwd };
      return stricter(rules.decide(call), root.rules?.decide(call))?.effect;
    },
  });
}

/** A call of the root that has not been made. */
const NOT_MADE = { runId: "", above: [], callId: "" };

/** Stage 4: telemetry, external agents, the root and the agents of files, and the runtime they run on. */
async function openRuntime(parts: Settings & Machine & CommandTools, opened: Opened) {
  const { request, say, outer, project, configuration, files, chosen } = parts;
  const { storage, store, programs, models, tools, nested, rules, rulesOfFiles } = parts;
  const { cwd, env, flags, ask, trace } = request;
  const { agentServers } = configuration;
  const secrets = {
    ...models.secrets,
    ...serverSecrets(agentServers),
    ...mcpSecrets(Object.values(configuration.mcpServers)),
    ...databaseSecrets(storage.dbPath ?? env.SOUS_DB_PATH),
  };
  alsoHide(secrets);
  const telemetry =
    request.telemetry ??
    opened.use(
      await openTelemetry({ settings: configuration, env, models: configuredModels(configuration, files), say }),
    );
  const [{ systemHost }, { runtimeOn }] = await Promise.all([
    import("../../../machine/host.ts"),
    import("../../../runtime.ts"),
  ]);
  const { isSampled } = telemetry;
  const host = systemHost({ cwd, environment: { ...env, ...secrets }, isSampled, trace });
  const external = externalAgents(agentServers, { programs, clock: host.clock });
  const notes = await readNotes({
    cwd,
    now: host.clock.now(),
    programs,
    project,
    userFile: flags.isBare ? undefined : userFileIfAny("config", "AGENTS.md", env),
    hasNested: nested !== undefined,
    warn: request.warn,
  });
  const { rights } = flags;
  const given = { configuration, tools, files, rulesOfFiles, rights, notes, external, chosen };
  const { root, agents } = await rootAndAgents(given);
  const placing = mayPlace(request, configuration, files) ? await import("./placing.ts") : undefined;
  const options: RuntimeOptions = {
    host,
    agents,
    store,
    engine: placing?.engineOf(store, request.places),
    requireStore: storage.isRequired,
    // The database may be another's: what it says was allowed is asked about again.
    approve: { decide: rules.decide, ask, asksAgain: true },
    maxConcurrentCalls: configuration.provider.maxConcurrentCalls,
    onEvent: [...(nested === undefined ? [] : [nested.onEvent]), ...telemetry.listeners],
    models: { allow: configuration.models.allow, prices: configuration.prices, external },
  };
  const isWorker = request.places === "roots";
  const resolve =
    isWorker && placing !== undefined
      ? placing.withoutForeignModels(models.resolve, { ...configuration, files })
      : models.resolve;
  const roots = isWorker ? placing?.rootsOf(given) : undefined;
  const runtime = runtimeOn(resolve, options, { perMessage: PER_MESSAGE, roots });
  return { runtime: withinOuter(runtime, outer), clock: host.clock, root, agents, rootNames: roots?.names ?? [] };
}

/** An engine is not made in vain: with one a run needs its store. */
function mayPlace(
  { places }: Settings["request"],
  { agent }: Configuration,
  files: readonly Pick<AgentFile, "place">[],
): boolean {
  return places !== undefined || agent.limits.place === "children" || files.some(({ place }) => place === "worker");
}

/** Holds where the person has set no limit. In code there is none. */
const PER_MESSAGE = {
  children: CHILDREN_PER_MESSAGE,
  advice: `A person allows more with --max-agents N or ${LIMIT_SETTINGS["limits.children.executions"].key}.`,
};

type CommandTools = CommandRules & {
  readonly models: ModelSource;
  /** All that the command line has, those of MCP servers included. */
  readonly tools: readonly Tool[];
  /** The notes of sub-folders, which results of tools carry; undefined when there are none. */
  readonly nested: NestedNoteBook | undefined;
};

/** Stage 3: models, the tools of the command line, and the rules about calls to them. */
async function openTools(settings: Settings, machine: Machine, opened: Opened): Promise<CommandTools> {
  const { request, outer, configuration, files, chosen, trust } = settings;
  const { cwd, env, flags } = request;
  const { programs, guards } = machine;
  const nested = await openNested(settings, machine);
  const builtIn = await builtInFor(request, configuration, machine);
  const models = await modelSource({ cwd, env, programs }, configuration);
  const users = { rights: flags.rights, rootName: chosen?.name ?? ROOT_NAME, chosen, files };
  const needed = neededServers(configuration, users);
  const { model } = configuration;
  // A missing key is said before servers are waited for. An external agent is not a model that could be looked at.
  if (needed.length > 0 && model !== undefined && !isExternalModel(model)) await models.resolve(model);
  const served = await openServerTools(needed, request, {
    programs,
    allowHosts: configuration.tools.fetch.allowHosts,
    allowance: allowanceInside(configuration, outer),
    opened,
  });
  const tools = [...(nested?.tools(builtIn) ?? builtIn), ...served];
  const bounds = { heldRules: trust?.heldRules ?? [], guards, files, tools };
  return { models, tools, nested, ...commandRules(request, configuration, bounds) };
}

/** The notes of sub-folders; undefined when there are none to read. */
async function openNested(
  { project, files, request: { warn } }: Settings,
  { store }: Machine,
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
