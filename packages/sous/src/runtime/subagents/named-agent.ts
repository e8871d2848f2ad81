/** One tool per specialist: `subagent_<name>`, and the factory that makes several from one model and one registry. */

import * as z from "zod";
import {
  type AgentDefinition,
  type AgentOptions,
  agent,
  MODEL,
  type ModelChoice,
  RESERVED_AGENT_NAMES,
} from "../../core/agent.ts";
import { UserError } from "../../core/errors.ts";
import { type OptionKinds, objectOf, TEXTS, withFunctions } from "../../core/option-kinds.ts";
import { checkOptions } from "../../core/options.ts";
import { isSuccess } from "../../core/outcome.ts";
import type { StandardSchema } from "../../core/schema.ts";
import type { ChildReport, SpawnReply } from "../../core/spawn.ts";
import {
  type Tool,
  type ToolContext,
  type ToolRegistry,
  type ToolResult,
  type ToolTier,
  tool,
} from "../../core/tool.ts";
import type { Usage } from "../../core/usage.ts";
import { DEFAULT_LIMITS } from "../../core/words/limits.ts";
import { lacksApproval } from "../../core/words/outcomes.ts";
import { type ChildStores, storingHooks } from "./child-stores.ts";
import type { NamedAgentInput } from "./input.ts";
import { describeNamedAgent } from "./prompts.ts";
import { failureSentence, toToolResult } from "./report.ts";
import { aloneToolResult, displayNameIn, runAlone, type StartRun } from "./run-alone.ts";
import { notBlank, sentenceSchema } from "./sentence-schema.ts";
import { type ToolLog, toToolLog } from "./tool-logs.ts";

/** The `data` of a specialist's tool; every ending has the partial text, the usage and the logs. */
export type NamedAgentResult = {
  name: string;
  finalResponse: string;
  totalTurns: number;
  toolCount: number;
  toolLogs: ToolLog[];
  /** The usage of the agent itself, without its children. */
  usage: Usage;
  success: boolean;
  durationMs: number;
  errorDetails?: string;
  /** Only when known for certain. */
  failedTool?: string;
};

const taskInput: StandardSchema<NamedAgentInput> = sentenceSchema(
  z.strictObject({ task: notBlank.describe("Everything the agent must know: it sees nothing else.") }),
  { task: "task cannot be empty" },
  // The name of the task in `subagent`.
  { name: "task", other: "task_prompt" },
);

/** The tool that hands its task to this agent. Asks first, unless its holder listed the agent as its own. */
export function namedAgentTool(
  definition: AgentDefinition,
  { tier = "confirm", start }: { tier?: ToolTier; start?: StartRun | undefined } = {},
): Tool {
  const { name } = definition;
  if (RESERVED_AGENT_NAMES.includes(name)) {
    throw new UserError(`An agent cannot be called ${name}: subagent_${name} is a tool of the runtime`);
  }
  return tool({
    name: `subagent_${name}`,
    displayName: `Subagent: ${name}`,
    description: definition.description ?? describeNamedAgent(name),
    category: "subagent",
    tier,
    effect: "idempotent",
    inputSchema: taskInput,
    agent: definition,
    async execute({ task }, context?: ToolContext) {
      if (context?.spawn === undefined) return callAlone(definition, task, context, start);
      const reply = await context.spawn({ label: name, task, agent: definition, options: { keepToolLog: true } });
      return toNamedToolResult(definition, reply, toToolResult(reply));
    },
  }) as Tool;
}

/** Makes the call from outside of a tree: the agent runs as the root of its own tree, with the usual depth limit. */
async function callAlone(
  definition: AgentDefinition,
  task: string,
  context: ToolContext | undefined,
  start: StartRun | undefined,
): Promise<ToolResult> {
  const { name: label } = definition;
  if (start === undefined) throw new UserError(`subagent_${label} can only be called inside a run`);
  const { maxDepth } = DEFAULT_LIMITS;
  const call = { start, label, depth: 1, maxDepth: maxDepth + 1, context, onEvent: undefined };
  const reply = await runAlone(definition, task, call);
  return toNamedToolResult(definition, reply, aloneToolResult(reply));
}

function toNamedToolResult(definition: AgentDefinition, reply: SpawnReply, result: ToolResult): ToolResult {
  return reply.kind === "ended" ? { ...result, data: toNamedResult(definition, reply.report) } : result;
}

function toNamedResult(definition: AgentDefinition, report: ChildReport): NamedAgentResult {
  const { outcome, toolLog = [] } = report;
  const success = isSuccess(outcome);
  const result: NamedAgentResult = {
    name: definition.name,
    finalResponse: outcome.text,
    totalTurns: outcome.turns,
    toolCount: outcome.toolCount,
    // Computed only when it is read.
    get toolLogs() {
      // The log of a run that ended before a restart has no display names.
      return toolLog.map((entry) =>
        toToolLog({ ...entry, displayName: entry.displayName ?? displayNameIn(definition, entry.toolName) }),
      );
    },
    usage: outcome.usage,
    success,
    durationMs: outcome.durationMs,
  };
  if (!success) result.errorDetails = errorDetails(report);
  // A failed tool never ends a run, so only a missing approval names a tool for certain.
  const denied = lacksApproval(outcome) ? toolLog.findLast((entry) => entry.isDenied) : undefined;
  if (denied !== undefined) result.failedTool = denied.toolName;
  return result;
}

/** A refusal has no reason of its own, so the model's text is added. */
function errorDetails(report: ChildReport): string {
  const { status, text } = report.outcome;
  const sentence = failureSentence(report);
  return status === "refused" && text.trim() !== "" ? `${sentence}: ${text}` : sentence;
}

/** The options that the specialists of a factory share. */
export type FactoryOptions = {
  model: ModelChoice;
  /** The tools its agents may name. */
  registry: ToolRegistry;
  /** Copies of what the journal holds, one set of stores per child. */
  stores?: ChildStores | undefined;
};

/** A definition whose tools are names in the factory's registry; all of them when unset. */
export type FactoryDefinition = Omit<AgentOptions, "tools"> & { tools?: readonly string[] | undefined };

/** Makes tools from definitions. */
export type SubagentFactory = {
  create(definition: FactoryDefinition): Tool;
  /** The same, with only those tools that read. */
  createReadOnly(definition: FactoryDefinition): Tool;
};

const FACTORY_OPTIONS: OptionKinds<FactoryOptions> = {
  model: MODEL,
  registry: withFunctions("has", "list"),
  stores: objectOf(),
};

/** Makes specialists' tools from one model and one registry. They ask before they run, unless a rule allows them. */
export function subagentFactory(options: FactoryOptions, start?: StartRun): SubagentFactory {
  checkOptions("subagentFactory()", options, FACTORY_OPTIONS);
  if (options.registry === undefined) throw new UserError("subagentFactory() needs a registry of tools");
  const make = (definition: FactoryDefinition, keep: (candidate: Tool) => boolean): Tool => {
    const { model, stores } = options;
    const hooks = stores === undefined ? definition.hooks : storingHooks(stores, definition.hooks);
    const made = agent({ model, ...definition, hooks, tools: pick(options.registry, definition, keep) });
    return namedAgentTool(made, { start });
  };
  return {
    create: (definition) => make(definition, () => true),
    createReadOnly: (definition) => make(definition, (candidate) => candidate.effect === "read"),
  };
}

/** Names, where `agent()` takes tools. */
const FACTORY_TOOLS: OptionKinds<Pick<FactoryDefinition, "tools">> = { tools: TEXTS };

function pick(registry: ToolRegistry, { name, tools }: FactoryDefinition, keep: (candidate: Tool) => boolean): Tool[] {
  checkOptions(`agent ${name}`, { tools }, FACTORY_TOOLS);
  for (const each of tools ?? []) {
    if (!registry.has(each)) throw new UserError(`Agent ${name} names a tool the registry does not have: ${each}`);
  }
  const isWanted = (candidate: Tool) => tools === undefined || tools.includes(candidate.name);
  return [...registry].filter((each) => each.category !== "subagent" && isWanted(each) && keep(each));
}
