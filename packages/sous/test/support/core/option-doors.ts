/** The functions that define and run agents, and which values each of their options takes. Said again here, apart from the tables in the sources. */

import * as z from "zod";
import { type AgentDefinition, type AgentOptions, agent } from "../../../src/core/agent.ts";
import type { Hooks } from "../../../src/core/approval.ts";
import type { ConversationLimits } from "../../../src/core/conversation.ts";
import type { Budget } from "../../../src/core/limits.ts";
import type {
  ForkOptions,
  ModelOptions,
  ReservedId,
  ResumeOptions,
  RunOptions,
  RuntimeOptions,
} from "../../../src/core/runtime.ts";
import type { AnySchema } from "../../../src/core/schema.ts";
import type { RootBudget } from "../../../src/core/shared-budget.ts";
import { type ToolOptions, ToolRegistry, tool } from "../../../src/core/tool.ts";
import type { DelegationLimits } from "../../../src/core/words/limits.ts";
import type { FactoryDefinition, FactoryOptions } from "../../../src/runtime/subagents/named-agent.ts";
import type { SubagentToolsOptions } from "../../../src/runtime/subagents/register.ts";
import {
  createRuntime,
  type FanOutOptions,
  fanOut,
  fork,
  registerSubagentTools,
  resume,
  run,
  subagentFactory,
} from "../../../src/runtime.ts";
import {
  type Door,
  door,
  echo,
  FLAG,
  FUNCTION,
  LISTENERS,
  MODEL,
  model,
  NUMBER,
  OBJECT,
  SIGNAL,
  scout,
  store,
  type Taken,
  TEXT,
  TEXTS,
  WORDS,
} from "./option-samples.ts";

const shared = await store.sharedBudget("team", { tokens: 1_000_000 });
const registry = new ToolRegistry([tool(echo)]);
const DEFINITION: Taken = [[], scout];
const CLIENT: Taken = [[], { serverNames: [], externalAgent: () => undefined }];

const runRows = {
  signal: SIGNAL,
  budget: OBJECT,
  onExhausted: WORDS("wrap-up", "stop"),
  onEvent: LISTENERS,
  conversation: OBJECT,
  onLiveChildren: WORDS("wait", "cancel"),
  requireAll: FLAG,
  limits: OBJECT,
  rootId: TEXT,
};
const runtimeRows = {
  store: [[], store],
  requireStore: FLAG,
  approve: [["function"], { decide: () => undefined }],
  limits: OBJECT,
  agents: [["list"], [scout]],
  models: OBJECT,
  maxConcurrentCalls: NUMBER,
  onEvent: LISTENERS,
  engine: [[], { continueRun: async () => undefined }],
  host: OBJECT,
} satisfies Record<string, Taken>;
const resumeRows = {
  signal: SIGNAL,
  onEvent: LISTENERS,
  agent: DEFINITION,
  message: [["text", "list"]],
  addBudget: OBJECT,
  answers: OBJECT,
  summarizes: FLAG,
  sharedBudget: [[], shared],
} satisfies Record<string, Taken>;
const forkRows = {
  signal: SIGNAL,
  onEvent: LISTENERS,
  budget: OBJECT,
  limits: OBJECT,
  afterTurn: [["number"], 0],
  agent: DEFINITION,
  message: resumeRows.message,
  summarizes: FLAG,
} satisfies Record<string, Taken>;
const amounts = { tokens: NUMBER, costUsd: NUMBER, durationMs: NUMBER, executions: NUMBER };
const BUDGET = { ...amounts, from: [[], shared] } satisfies Record<string, Taken>;

export const RUN_DOORS: readonly Door[] = [
  door<AgentOptions & Pick<AgentDefinition, "with">>("agent x", (given) => agent({ name: "x", ...given }), {
    name: TEXT,
    nickname: TEXT,
    description: TEXT,
    instructions: TEXT,
    notes: TEXT,
    model: MODEL,
    tools: [["list", "object"], { echo: tool(echo) }],
    subagents: [["list"], [scout]],
    delegate: FLAG,
    maxTurns: NUMBER,
    timeoutMs: NUMBER,
    maxOutputTokens: NUMBER,
    temperature: [[], 0, 2],
    effort: WORDS("none", "minimal", "low", "medium", "high", "xhigh", "max"),
    toolChoice: [[], "auto", "none", "required", { tool: "echo" }],
    providerOptions: OBJECT,
    outputSchema: [["object", "function"], z.object({})],
    budget: OBJECT,
    deny: TEXTS,
    rules: [[], { decide: () => undefined }],
    place: WORDS("worker"),
    fixed: FLAG,
    hooks: OBJECT,
    with: FUNCTION,
  }),
  door<Hooks>("agent x: hooks", (hooks) => agent({ name: "x", hooks }), {
    beforeToolCall: FUNCTION,
    afterToolCall: FUNCTION,
    onEvent: FUNCTION,
    onError: FUNCTION,
  }),
  door<Budget>("agent x: budget", (budget) => agent({ name: "x", budget }), amounts),
  door<ToolOptions<AnySchema>>("tool echo", (given) => tool({ ...echo, ...given }), {
    name: TEXT,
    description: TEXT,
    displayName: TEXT,
    agent: DEFINITION,
    origin: [["object"], { server: "s", tool: "t" }],
    category: WORDS("read", "edit", "search", "execute", "memory", "vfs", "task", "subagent", "other"),
    tier: WORDS("observe", "confirm"),
    effect: WORDS("read", "idempotent", "unsafe"),
    inputSchema: [["object", "function"]],
    execute: FUNCTION,
  }),
  door<RuntimeOptions>("createRuntime()", (given) => createRuntime(given), runtimeRows),
  door<ModelOptions>("models", (models) => createRuntime({ models }), {
    allow: [["list"], ["openai/*"]],
    prices: [["object"], { "a/b": { input: 1, output: 2 } }],
    external: CLIENT,
  }),
  door<RunOptions & ReservedId & RuntimeOptions>("run()", (given) => run(scout, "Go.", given), {
    ...runRows,
    ...runtimeRows,
  }),
  door<RunOptions & ReservedId>("run()", (given) => createRuntime().run(scout, "Go.", given), runRows, {
    name: "run() of a runtime",
  }),
  door<RootBudget>("budget", (budget) => run(scout, "Go.", { budget }), BUDGET),
  door<ConversationLimits>("conversation", (conversation) => run(scout, "Go.", { conversation }), {
    maxTokens: NUMBER,
    minRetainTurns: NUMBER,
    pruneThreshold: [[], 0.5],
  }),
  door<DelegationLimits>("limits", (limits) => run(scout, "Go.", { limits }), {
    maxDepth: NUMBER,
    defaultMaxTurns: NUMBER,
    outputMaxSize: [[], 4096],
    maxConcurrent: NUMBER,
    onFull: WORDS("queue", "refuse"),
    summary: WORDS("auto", "always", "never"),
    place: WORDS("asked", "children"),
    children: OBJECT,
  }),
  door<RootBudget>("budget", (budget) => fanOut(scout, ["Go."], { budget }), BUDGET, { name: "budget of fanOut()" }),
  door<RootBudget>("budget", (budget) => fork("x", { store, budget }), BUDGET, { name: "budget of fork()" }),
  door<Budget>("limits.children", (children) => run(scout, "Go.", { limits: { children } }), amounts),
  door<FanOutOptions & RuntimeOptions>("fanOut()", (given) => fanOut(scout, ["Go."], given), {
    ...{ ...runRows, ...runtimeRows, concurrency: NUMBER, resumes: TEXT, answers: OBJECT },
  }),
  door<ResumeOptions & RuntimeOptions>("resume()", (given) => resume("x", { store, ...given }), {
    ...runtimeRows,
    ...resumeRows,
  }),
  door<Budget>("addBudget", (addBudget) => resume("x", { store, addBudget }), amounts),
  door<ForkOptions & RuntimeOptions>("fork()", (given) => fork("x", { store, ...given }), {
    ...runtimeRows,
    ...forkRows,
  }),
  door<FactoryOptions>("subagentFactory()", (given) => subagentFactory({ registry, ...given }), {
    model: MODEL,
    registry: [[], registry],
    stores: OBJECT,
  }),
  door<Pick<FactoryDefinition, "tools">>(
    "agent x",
    (given) => subagentFactory({ registry: registry, model }).create({ name: "x", ...given }),
    { tools: [["list"], ["echo"]] },
    { name: "a definition of a factory" },
  ),
  door<SubagentToolsOptions>(
    "registerSubagentTools()",
    (given) => registerSubagentTools(new ToolRegistry(), { model, ...given }),
    {
      model: MODEL,
      client: CLIENT,
      callbacks: OBJECT,
      defaultMaxTurns: NUMBER,
      maxDepth: [["number"], 0],
      serverName: TEXT,
      agentId: TEXT,
      systemPrompt: TEXT,
    },
  ),
];
