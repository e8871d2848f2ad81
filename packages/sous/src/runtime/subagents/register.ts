/** `subagent_spawn`, `subagent_delegate` and `subagent_report` for any registry: built on the same spawn. */

import * as z from "zod";
import { type AgentDefinition, agent, MODEL, type ModelChoice } from "../../core/agent.ts";
import { UserError } from "../../core/errors.ts";
import { type ExternalAgents, externalModel } from "../../core/external-agent.ts";
import { type OptionKinds, TEXT, wholeNumber, withFunctions } from "../../core/option-kinds.ts";
import { checkOptions } from "../../core/options.ts";
import type { StandardSchema } from "../../core/schema.ts";
import { type Tool, type ToolRegistry, type ToolResult, tool } from "../../core/tool.ts";
import { TURNS } from "../../core/words/limits.ts";
import { DELEGATE_TOOL } from "../../core/words/tools.ts";
import { CALLBACKS, checkCallbacks, type SubagentCallbacks, toListener } from "./callbacks.ts";
import { reportTool } from "./child-tools.ts";
import type { SubagentDelegateInput, SubagentSpawnInput } from "./input.ts";
import { DESCRIPTIONS } from "./prompts.ts";
import { toToolResult } from "./report.ts";
import { type AloneCall, aloneToolResult, runAlone, type StartRun } from "./run-alone.ts";
import { describedSchema, notBlank, type SentenceSchema, sentenceSchema } from "./sentence-schema.ts";

/** More than seven fields, as in the contract of these tools. With only a client, children are external runs. */
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

const OPTIONS: OptionKinds<SubagentToolsOptions> = {
  model: MODEL,
  client: withFunctions("externalAgent"),
  callbacks: CALLBACKS,
  defaultMaxTurns: wholeNumber(1, TURNS.max),
  maxDepth: wholeNumber(0),
  serverName: TEXT,
  agentId: TEXT,
  systemPrompt: TEXT,
};

const DEFAULT_MAX_TURNS = 10;
const DEFAULT_MAX_DEPTH = 2;

const SENTENCES = {
  task: "task cannot be empty",
  description: "description cannot be empty",
  maxTurns: "maxTurns must be between 1 and 50",
  systemPrompt: "systemPrompt cannot be empty",
  serverName: "serverName cannot be empty",
  agentId: "agentId cannot be empty",
};

const spawnInput: SentenceSchema<SubagentSpawnInput> = sentenceSchema(
  z.strictObject({
    task: notBlank.describe("Everything the subagent must know: it sees nothing else."),
    description: notBlank.describe("What it is for, in three to five words."),
    maxTurns: z.int().min(1).max(50).optional(),
    systemPrompt: notBlank.optional(),
  }),
  SENTENCES,
);

const delegateInput: StandardSchema<SubagentDelegateInput> = sentenceSchema(
  z.strictObject({
    task: notBlank.describe("Everything the agent must know: it sees nothing else."),
    description: notBlank.describe("What it is for, in three to five words."),
    serverName: notBlank.optional().describe("Which server to use; the default one when omitted."),
    agentId: notBlank.optional().describe("Which of its agents."),
  }),
  SENTENCES,
);

/** Registers nothing at the depth limit. */
export function addSubagentTools(
  registry: ToolRegistry,
  options: SubagentToolsOptions,
  depth: number,
  start: StartRun,
): void {
  checkOptions("registerSubagentTools()", options, OPTIONS);
  const { model, client } = options;
  if (model === undefined && client === undefined)
    throw new UserError("registerSubagentTools needs a model, a client, or both");
  if (options.callbacks !== undefined) checkCallbacks(options.callbacks);
  if (depth >= (options.maxDepth ?? DEFAULT_MAX_DEPTH)) return;
  registry.register(spawnTool(registry, options, depth, start));
  if (client !== undefined) registry.register(delegateTool(client, options, depth, start));
  if (!registry.has(reportTool.name)) registry.register(reportTool);
}

function spawnTool(registry: ToolRegistry, options: SubagentToolsOptions, depth: number, start: StartRun): Tool {
  const { model, client, callbacks, systemPrompt: instructions, maxDepth = DEFAULT_MAX_DEPTH } = options;
  // The agent is made here, so that an invalid number is reported before anything runs.
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
    inputSchema: describedSchema(spawnInput, {
      maxTurns: `How many turns it may take, 1 to 50 (default ${ordinary.maxTurns}).`,
    }),
    execute(input, context) {
      const own = registry.cloneFiltered((each) => each.category !== "subagent");
      if (model !== undefined) addSubagentTools(own, options, depth + 1, start);
      const definition = ordinary.with({
        instructions: input.systemPrompt ?? instructions,
        // An external agent has what its parent may pass on; it has tools of its own besides.
        tools: model === undefined ? undefined : [...own],
        maxTurns: input.maxTurns ?? ordinary.maxTurns,
      });
      const child: ChildCall = { mode: "spawn", callbacks, context, start, depth: depth + 1, maxDepth };
      return runChild(definition, input, child);
    },
  }) as Tool;
}

/** `subagent_delegate`. Its children are asked for like all others; only their work is done outside. */
function delegateTool(client: ExternalAgents, options: SubagentToolsOptions, depth: number, start: StartRun): Tool {
  const { callbacks, serverName, agentId, maxDepth = DEFAULT_MAX_DEPTH } = options;
  return tool({
    name: DELEGATE_TOOL,
    description: DESCRIPTIONS.delegate,
    category: "subagent",
    tier: "confirm",
    // The gate knows its child by the call, so a call that is made again starts none twice.
    effect: "idempotent",
    inputSchema: delegateInput,
    execute(input, context) {
      const external = client.externalAgent(input.serverName ?? serverName, input.agentId ?? agentId);
      const definition = agent({ name: "external", model: externalModel(external) });
      const child: ChildCall = { mode: "delegate", callbacks, context, start, depth: depth + 1, maxDepth };
      return runChild(definition, input, child);
    },
  }) as Tool;
}

/** Makes the tools of a root that has external agents. `start` is for calls from outside of a tree, which it has none of. */
export function externalTools(client: ExternalAgents): Tool[] {
  const start: StartRun = () => {
    throw new UserError(`${DELEGATE_TOOL} is called by an agent only`);
  };
  return [delegateTool(client, {}, 0, start)];
}

function external(client: ExternalAgents | undefined, { serverName, agentId }: SubagentToolsOptions): ModelChoice {
  if (client === undefined) throw new UserError("registerSubagentTools has no client for external agents: give it one");
  return externalModel(client.externalAgent(serverName, agentId));
}

type ChildCall = Omit<AloneCall, "label" | "onEvent"> & {
  mode: "spawn" | "delegate";
  callbacks: SubagentCallbacks | undefined;
};

/** Runs the child through its gate in a tree of ours; elsewhere as the root of its own tree. */
async function runChild(
  definition: AgentDefinition,
  { task, description: label }: { task: string; description: string },
  call: ChildCall,
): Promise<ToolResult> {
  const { mode, callbacks, context } = call;
  const isAlone = context?.spawn === undefined;
  const child = { description: label, mode };
  const onEvent = callbacks && toListener(callbacks, child, isAlone ? call.depth : 0);
  if (isAlone) return aloneToolResult(await runAlone(definition, task, { ...call, label, onEvent }));
  const watched = onEvent === undefined ? definition : definition.with({ hooks: { onEvent } });
  const approved = mode === "delegate" ? ({ approved: true } as const) : {};
  return toToolResult(await context.spawn({ label, task, agent: watched, options: { summary: "never" }, ...approved }));
}
