/** `subagent_spawn` and `subagent_delegate` for any registry: a thin face of the same spawn. */

import * as z from "zod";
import { type AgentDefinition, agent, type ModelChoice } from "../core/agent.ts";
import { UserError } from "../core/errors.ts";
import type { ExternalAgents } from "../core/external-agent.ts";
import { isSuccess } from "../core/outcome.ts";
import type { RunOptions, RunResult } from "../core/runtime.ts";
import { type Tool, type ToolContext, type ToolRegistry, type ToolResult, tool } from "../core/tool.ts";
import { type SubagentCallbacks, toListener } from "./callbacks.ts";
import { externalModel } from "./external-model.ts";
import { DESCRIPTIONS } from "./prompts.ts";
import { toToolResult } from "./report.ts";
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

const notBlank = z.string().refine((text) => text.trim() !== "");
const SENTENCES = {
  task: "task cannot be empty",
  description: "description cannot be empty",
  maxTurns: "maxTurns must be between 1 and 50",
  systemPrompt: "systemPrompt cannot be empty",
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
    serverName: z.string().optional().describe("Which server to use; the default one when omitted."),
    agentId: z.string().optional().describe("Which of its agents."),
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
  if (client !== undefined) registry.register(delegateTool(client, options, start));
}

function spawnTool(registry: ToolRegistry, options: SubagentToolsOptions, depth: number, start: StartRun): Tool {
  const { model, client, callbacks } = options;
  return tool({
    name: "subagent_spawn",
    description: DESCRIPTIONS.spawn,
    category: "subagent",
    inputSchema: spawnInput,
    execute(input, context) {
      const own = registry.cloneFiltered((each) => each.category !== "subagent");
      if (model !== undefined) addSubagentTools(own, options, depth + 1, start);
      const definition = agent({
        name: "subagent",
        instructions: input.systemPrompt ?? options.systemPrompt,
        model: model ?? external(client, options),
        tools: model === undefined ? [] : [...own],
        maxTurns: input.maxTurns ?? options.defaultMaxTurns ?? DEFAULT_MAX_TURNS,
      });
      return runChild(definition, input, { mode: "spawn", callbacks, context, start });
    },
  }) as Tool;
}

function delegateTool(client: ExternalAgents, options: SubagentToolsOptions, start: StartRun): Tool {
  return tool({
    name: "subagent_delegate",
    description: DESCRIPTIONS.delegate,
    category: "subagent",
    tier: "confirm",
    inputSchema: delegateInput,
    execute(input, context) {
      const definition = agent({ name: "external", model: external(client, { ...options, ...input }), tools: [] });
      return runChild(definition, input, { mode: "delegate", callbacks: options.callbacks, context, start });
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
};

/** In a tree of ours the child goes through its gate; elsewhere it is a root of its own. */
async function runChild(
  definition: AgentDefinition,
  { task, description }: { task: string; description: string },
  { mode, callbacks, context, start }: ChildCall,
): Promise<ToolResult> {
  const onEvent = callbacks === undefined ? undefined : toListener(callbacks, { description, mode });
  if (context?.spawn !== undefined) {
    const watched = onEvent === undefined ? definition : definition.with({ hooks: { onEvent } });
    return toToolResult(
      await context.spawn({ label: description, task, agent: watched, options: { summary: "never" } }),
    );
  }
  const { runId, text, status, error } = await start(definition, task, {
    signal: context?.signal,
    onEvent: onEvent && ((event) => (event.parentId === null ? onEvent(event) : undefined)),
  });
  const success = isSuccess({ status });
  return {
    success,
    output: text,
    error: success ? undefined : (error?.message ?? status),
    metadata: { subagent_id: runId },
  };
}
