/** The composition root: from parts to runs. What a user calls begins here, and every part is put together here. */

import type { AgentDefinition } from "./core/agent.ts";
import { checkWhole, UserError } from "./core/errors.ts";
import { DEFAULT_LIMITS, smallerBudget } from "./core/limits.ts";
import { messageFrom, type UserInput } from "./core/message.ts";
import { checkAllowEntries } from "./core/model.ts";
import type {
  ForkOptions,
  ModelOptions,
  ReservedId,
  ResumeOptions,
  RunHandle,
  RunOptions,
  RunResult,
  RuntimeOptions,
} from "./core/runtime.ts";
import type { ToolRegistry } from "./core/tool.ts";
import { ulidSource } from "./core/ulid.ts";
import { isPrice } from "./core/usage.ts";
import { systemHost } from "./host.ts";
import { modelCache } from "./model/resolve.ts";
import { openMemoryStore } from "./store/memory.ts";
import { type FactoryOptions, subagentFactory as makeFactory, type SubagentFactory } from "./subagents/named-agent.ts";
import { addSubagentTools, type SubagentToolsOptions } from "./subagents/register.ts";
import { asksForReports, fanOutWidth, runFanOut } from "./tree/fan-out.ts";
import { type OpenTree, openTree, type Shared, type TreeOptions } from "./tree/open.ts";
import { forkRoot, resumeFanOut, resumeRoot } from "./tree/restore/resume.ts";
import { rootHandle } from "./tree/root-handle.ts";
import { RootRun } from "./tree/root-run.ts";

/** Functions that start runs with the same parts. */
export type Runtime = {
  run<Output>(
    definition: AgentDefinition<Output>,
    task: UserInput,
    options?: RunOptions & ReservedId,
  ): RunHandle<Output>;
  fanOut<Output>(
    definition: AgentDefinition<Output>,
    inputs: readonly string[],
    options?: FanOutOptions,
  ): Promise<RunResult<Output>[]>;
  /** Continues a stored run after a crash or a stop: finished work is not repeated, and a tree continues as a tree. */
  resume<Output>(runId: string, options?: ResumeOptions): RunHandle<Output>;
  /** A new tree that begins with what a stored run had said and heard by the end of a turn. */
  fork<Output>(runId: string, options?: ForkOptions): RunHandle<Output>;
};

/**
 * `limit` children at once. A `limits.maxConcurrent` that is given holds as well; its default of 5 gives way to a larger limit.
 * Each result is what `run` gives; `limits.summary` or `limits.outputMaxSize` ask for bounded reports instead.
 */
export type FanOutOptions = RunOptions & {
  limit?: number | undefined;
  /** The root of an earlier fan-out on the same inputs that was interrupted: what it has finished is not done again. */
  resumes?: string | undefined;
};

/** Shared parts for several runs. The bare `run` and `fanOut` make a runtime of their own. */
export function createRuntime(options: RuntimeOptions = {}): Runtime {
  checkModelOptions(options.models);
  return runtimeOn(modelCache(options.host?.environment ?? process.env), options);
}

function checkModelOptions({ allow = [], prices = {} }: ModelOptions = {}): void {
  checkAllowEntries(allow);
  const wrong = Object.entries(prices).find(([, price]) => !isPrice(price));
  if (wrong !== undefined)
    throw new UserError(`models.prices[${JSON.stringify(wrong[0])}] needs input and output, each 0 or more`);
}

/** A runtime whose models come from somewhere else than the providers of the environment. */
export function runtimeOn(models: Shared["models"], options: RuntimeOptions): Runtime {
  const host = systemHost(options.host);
  const store = options.store ?? openMemoryStore();
  const newId = ulidSource(host.clock.now, host.random);
  if (options.maxConcurrentCalls !== undefined) checkWhole("maxConcurrentCalls", options.maxConcurrentCalls, 1);
  const parts = { options, host, store, newId, models };
  const open = (runOptions: TreeOptions) => openTree({ ...parts, runOptions });
  return {
    run(definition, task, runOptions = {}) {
      const budget = smallerBudget(runOptions.budget, definition.budget);
      return startRoot(open({ ...runOptions, budget: { ...budget, from: runOptions.budget?.from } }), definition, task);
    },
    fanOut(definition, inputs, runOptions = {}) {
      const { limit } = runOptions;
      const isWide = limit !== undefined && limit > DEFAULT_LIMITS.maxConcurrent && Number.isFinite(limit);
      const wider = isWide ? { maxConcurrent: Math.floor(limit) } : {};
      const { resumes } = runOptions;
      if (resumes !== undefined) return resumeFanOut(resumes, parts, { definition, inputs, limit, runOptions });
      const given = { ...options.limits, ...runOptions.limits };
      const fanOut = { inputs: [...inputs], atOnce: fanOutWidth(inputs, limit), wholeAnswers: !asksForReports(given) };
      const opened = open({ ...runOptions, limits: { ...wider, ...given }, fanOut });
      return runFanOut({ opened }, definition, fanOut);
    },
    resume: (runId, runOptions = {}) => resumeRoot(runId, parts, runOptions),
    fork: (runId, runOptions = {}) => forkRoot(runId, parts, runOptions),
  };
}

/**
 * Runs an agent on a task, with a runtime of its own. Awaiting the handle rejects for a run that ended as `failed`, with a
 * `RunError` that has the result, and for one that could not begin (no model, no key, an unknown provider), with a
 * `UserError`. `handle.result` rejects only for the second. Wrong arguments throw a `UserError` at once.
 */
export function run<Output>(
  definition: AgentDefinition<Output>,
  task: UserInput,
  options: RunOptions & RuntimeOptions = {},
): RunHandle<Output> {
  return createRuntime(options).run(definition, task, options);
}

/**
 * Runs an agent on several tasks at once: one tree, one budget, one result per input in order. An input that fails is a
 * result with the status `failed`; only wrong arguments throw a `UserError`.
 */
export function fanOut<Output>(
  definition: AgentDefinition<Output>,
  inputs: readonly string[],
  options: FanOutOptions & RuntimeOptions = {},
): Promise<RunResult<Output>[]> {
  return createRuntime(options).fanOut(definition, inputs, options);
}

/**
 * Resumes a stored run from `store`. Ends like `run`; rejects with a `UserError` when there is no such run, when it has
 * completed, or when it cannot be continued.
 */
export function resume<Output>(runId: string, options: ResumeOptions & RuntimeOptions): RunHandle<Output> {
  return createRuntime(options).resume(runId, options);
}

/** Starts a new tree with the conversation of a stored run from `store`, up to a turn. Ends and rejects like `resume`. */
export function fork<Output>(runId: string, options: ForkOptions & RuntimeOptions): RunHandle<Output> {
  return createRuntime(options).fork(runId, options);
}

/** Adds `subagent_spawn`, with a client `subagent_delegate`, and `subagent_report` to any registry. */
export function registerSubagentTools(registry: ToolRegistry, options: SubagentToolsOptions, depth = 0): void {
  addSubagentTools(registry, options, depth, startAlone);
}

/** Makes specialists' tools from one model and one registry. They ask before they run, unless a rule allows them. */
export function subagentFactory(options: FactoryOptions): SubagentFactory {
  return makeFactory(options, startAlone);
}

function startAlone(definition: AgentDefinition, task: string, options: RunOptions): Promise<RunResult> {
  return run(definition, task, options).result;
}

/** The handle exists at once; the run starts a microtask later. */
function startRoot<Output>(opened: OpenTree, definition: AgentDefinition, input: UserInput): RunHandle<Output> {
  const { rootId, tree } = opened;
  const task = messageFrom(input);
  const root = Promise.resolve().then(() => tree.openRoot(rootId, definition));
  return rootHandle<Output>(rootId, new RootRun(opened, root, { runId: rootId, task }));
}
