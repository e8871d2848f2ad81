/** `subagent_spawn` and `subagent_delegate` for any registry: a thin face of the same spawn. */

import * as z from "zod";
import { type AgentDefinition, agent, type ModelChoice } from "../core/agent.ts";
import { UserError } from "../core/errors.ts";
import type { EventListener } from "../core/event.ts";
import type { ExternalAgents } from "../core/external-agent.ts";
import { toRefusal } from "../core/refused.ts";
import type { RunOptions, RunResult } from "../core/runtime.ts";
import { type Tool, type ToolContext, type ToolRegistry, type ToolResult, tool } from "../core/tool.ts";
import { type SubagentCallbacks, toListener } from "./callbacks.ts";
import { externalModel } from "./external-model.ts";
import { DESCRIPTIONS } from "./prompts.ts";
import { rootToolResult, toToolResult } from "./report.ts";
import { sentenceSchema } from "./sentence-schema.ts";

/** More than seven, as the contract of these two tools names them. With only a client, children are external runs. */
export type SubagentToolsOptions = {
  model?: ModelChoice | undefined;
  client?: ExternalAgents | undefined;
  callbacks?: SubagentCallbacks | undefined;
  defaultMaxTurns?: number | undefined;
  maxDepth?: number | undefined;
  serverName?: string | undefined;
  agentId?: string | undefined;
  systemPrompt?: string | undefined;
};

/** Starts a tree of its own, for a tool that is called outside of one. The runtime supplies it. */
export type StartRun = (definition: AgentDefinition, task: string, options: RunOptions) => Promise<RunResult>;

const DEFAULT_MAX_TURNS = 10;
const DEFAULT_MAX_DEPTH = 2;
const DEEPEST_TREE = 10;

const notBlank = z.string().refine((text) => text.trim() !== "");
const SENTENCES = {
  task: "task cannot be empty",
  description: "description cannot be empty",
  maxTurns: "maxTurns must be between 1 and 50",
  systemPrompt: "systemPrompt cannot be empty",
  serverName: "serverName cannot be empty",
  agentId: "agentId cannot be empty",
};

const spawnInput = sentenceSchema(
  z.strictObject({
    task: notBlank.describe("Everything the subagent must know: it sees nothing else."),
    description: notBlank.describe("What it is for, in three to five words."),
    maxTurns: z.int().min(1).max(50).optional(),
    systemPrompt: notBlank.optional(),
  }),
  { ...SENTENCES, "*": "Allowed: task, description, maxTurns, systemPrompt." },
);

const delegateInput = sentenceSchema(
  z.strictObject({
    task: notBlank.describe("Everything the agent must know: it sees nothing else."),
    description: notBlank.describe("What it is for, in three to five words."),
    serverName: notBlank.optional().describe("Which server to use; the default one when omitted."),
    agentId: notBlank.optional().describe("Which of its agents."),
  }),
  { ...SENTENCES, "*": "Allowed: task, description, serverName, agentId." },
);

/** Registers nothing at the depth limit. */
export function addSubagentTools(
  registry: ToolRegistry,
  options: SubagentToolsOptions,
  depth: number,
  start: StartRun,
): void {
  const { model, client } = options;
  if (model === undefined && client === undefined)
    throw new UserError("registerSubagentTools needs a model, a client, or both");
  if (depth >= (options.maxDepth ?? DEFAULT_MAX_DEPTH)) return;
  registry.register(spawnTool(registry, options, depth, start));
  if (client !== undefined) registry.register(delegateTool(client, options, depth, start));
}

function spawnTool(registry: ToolRegistry, options: SubagentToolsOptions, depth: number, start: StartRun): Tool {
  const { model, client, callbacks, systemPrompt: instructions, maxDepth = DEFAULT_MAX_DEPTH } = options;
  // Made here, so that a number that is not allowed shows before anything runs.
  const ordinary = agent({
    name: "subagent",
    instructions,
    model: model ?? external(client, options),
    maxTurns: options.defaultMaxTurns ?? DEFAULT_MAX_TURNS,
  });
  return tool({
    name: "subagent_spawn",
    description: DESCRIPTIONS.spawn,
    category: "subagent",
    inputSchema: spawnInput,
    execute(input, context) {
      const own = registry.cloneFiltered((each) => each.category !== "subagent");
      if (model !== undefined) addSubagentTools(own, options, depth + 1, start);
      const definition = ordinary.with({
        instructions: input.systemPrompt ?? instructions,
        tools: model === undefined ? [] : [...own],
        maxTurns: input.maxTurns ?? ordinary.maxTurns,
      });
      const child: ChildCall = { mode: "spawn", callbacks, context, start, depth: depth + 1, maxDepth };
      return runChild(definition, input, child);
    },
  }) as Tool;
}

function delegateTool(client: ExternalAgents, options: SubagentToolsOptions, depth: number, start: StartRun): Tool {
  const { callbacks, serverName, agentId, maxDepth = DEFAULT_MAX_DEPTH } = options;
  return tool({
    name: "subagent_delegate",
    description: DESCRIPTIONS.delegate,
    category: "subagent",
    tier: "confirm",
    inputSchema: delegateInput,
    execute(input, context) {
      const target = { serverName: input.serverName ?? serverName, agentId: input.agentId ?? agentId };
      const definition = agent({ name: "external", model: external(client, target), tools: [] });
      const child: ChildCall = { mode: "delegate", callbacks, context, start, depth: depth + 1, maxDepth };
      return runChild(definition, input, child);
    },
  }) as Tool;
}

function external(client: ExternalAgents | undefined, target: SubagentToolsOptions): ModelChoice {
  if (client === undefined) throw new UserError("No client for external agents");
  return externalModel(client, { serverName: target.serverName, agentId: target.agentId });
}

type ChildCall = {
  mode: "spawn" | "delegate";
  callbacks: SubagentCallbacks | undefined;
  context: ToolContext | undefined;
  start: StartRun;
  /** The child's own level, as the registry counts, and the deepest there may be. */
  depth: number;
  maxDepth: number;
};

/** In a tree of ours the child goes through its gate; elsewhere it is a root of its own. */
async function runChild(
  definition: AgentDefinition,
  { task, description: label }: { task: string; description: string },
  call: ChildCall,
): Promise<ToolResult> {
  const { mode, callbacks, context } = call;
  const onEvent = callbacks === undefined ? undefined : toListener(callbacks, { description: label, mode });
  if (context?.spawn === undefined) return runAlone(definition, task, { ...call, label, onEvent });
  const watched = onEvent === undefined ? definition : definition.with({ hooks: { onEvent } });
  return toToolResult(await context.spawn({ label, task, agent: watched, options: { summary: "never" } }));
}

/** Nobody can continue it or read the rest, so all of its text is given and no id to call it by. */
async function runAlone(
  definition: AgentDefinition,
  task: string,
  {
    context,
    start,
    depth,
    maxDepth,
    label,
    onEvent,
  }: ChildCall & { label: string; onEvent: EventListener | undefined },
): Promise<ToolResult> {
  try {
    const result = await start(definition, task, {
      signal: context?.signal,
      onEvent: onEvent && ((event) => (event.parentId === null ? onEvent(event) : undefined)),
      // In a tree of its own it is the root, so that many levels may be below it.
      limits: { maxDepth: Math.min(Math.max(maxDepth - depth, 1), DEEPEST_TREE) },
    });
    return rootToolResult(result, label, depth);
  } catch (error) {
    const refusal = toRefusal(error);
    if (refusal === undefined) throw error;
    return toToolResult({ kind: "refused", errorType: refusal.errorType, message: refusal.message });
  }
}
