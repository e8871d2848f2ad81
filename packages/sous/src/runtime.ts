/** The composition root: from parts to runs. What a user calls begins here, and every part is put together here. */

import type { AgentDefinition } from "./core/agent.ts";
import type { Approve, OpenQuestion } from "./core/approval.ts";
import { messageFrom, type UserInput } from "./core/message.ts";
import { checkAllowEntries } from "./core/model.ts";
import { type AnyKind, functionOf, NUMBER, type OptionKinds, TEXT, wholeNumber } from "./core/option-kinds.ts";
import { checkOptions } from "./core/options.ts";
import {
  FORK_OPTIONS,
  type ForkOptions,
  MODEL_OPTIONS,
  type ModelOptions,
  RESUME_OPTIONS,
  type ReservedId,
  type ResumeOptions,
  RUN_OPTIONS,
  RUNTIME_OPTIONS,
  type RunHandle,
  type RunOptions,
  type RunResult,
  type RuntimeOptions,
} from "./core/runtime.ts";
import type { ToolRegistry } from "./core/tool.ts";
import { checkAddedBudget, checkBudget, DEFAULT_LIMITS, smallerBudget } from "./core/words/limits.ts";
import { idSource, systemHost } from "./machine/host.ts";
import { modelCache } from "./runtime/model/resolve.ts";
import {
  type FactoryOptions,
  subagentFactory as makeFactory,
  type SubagentFactory,
} from "./runtime/subagents/named-agent.ts";
import { addSubagentTools, type SubagentToolsOptions } from "./runtime/subagents/register.ts";
import { asksForReports, fanOutWidth, runFanOut } from "./runtime/tree/fan-out.ts";
import { type OpenTree, openTree, type Shared, type TreeOptions } from "./runtime/tree/open.ts";
import { placedRunsOf, placingHalf, type WorkOnOptions } from "./runtime/tree/placing/placing-half.ts";
import type { SubmittedRun } from "./runtime/tree/placing/submit.ts";
import type { WorkEnd } from "./runtime/tree/placing/work-on.ts";
import type { Worker, WorkerOptions } from "./runtime/tree/placing/worker.ts";
import type { EarlierTree } from "./runtime/tree/restore/earlier-tree.ts";
import { recordOf } from "./runtime/tree/restore/refusals.ts";
import { forkRoot, resumeFanOut, resumeRoot } from "./runtime/tree/restore/resume.ts";
import { rootHandle } from "./runtime/tree/root-handle.ts";
import { RootRun, readQuestions } from "./runtime/tree/root-run.ts";
import { openMemoryStore } from "./storage/store/memory.ts";

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
  /** The questions of a stored tree that have no answer. Throws a `UserError` when there is no such run. */
  questions(runId: string): Promise<OpenQuestion[]>;
  /** A new tree that begins with what a stored run had said and heard by the end of a turn. */
  fork<Output>(runId: string, options?: ForkOptions): RunHandle<Output>;
  /** Leaves a run to the workers of the engine: it continues when this process ends. */
  submit<Output>(
    definition: AgentDefinition<Output>,
    task: UserInput,
    options?: RunOptions & ReservedId,
  ): Promise<SubmittedRun<Output>>;
  /**
   * The worker's half of an engine: continues a placed run that no process has, until it has ended, waits for an answer, or is left
   * to another worker. Throws a `UserError` for one that is at work.
   */
  workOn(runId: string, options?: WorkOnOptions): Promise<WorkEnd>;
  /** Takes placed runs from the store until it is stopped. */
  work(options?: WorkerOptions): Promise<Worker>;
};

/** A runtime that can be handed the tree that its caller has read, so that it is not read again. */
export type ReadingRuntime = Omit<Runtime, "resume" | "fork"> & {
  resume<Output>(runId: string, options?: ResumeOptions, earlier?: EarlierTree | undefined): RunHandle<Output>;
  fork<Output>(runId: string, options?: ForkOptions, earlier?: EarlierTree | undefined): RunHandle<Output>;
};

/**
 * The options of several tasks. A `limits.maxConcurrent` that is given bounds `concurrency`; its default of 5 gives way to it.
 * Each result is what `run` gives; `limits.summary` or `limits.outputMaxSize` ask for bounded reports instead.
 */
export type FanOutOptions = RunOptions &
  Pick<ResumeOptions, "answers"> & {
    /** The number of inputs that run at once; as many as `limits.maxConcurrent` allows when unset. */
    concurrency?: number | undefined;
    /**
     * An earlier fan-out on the same inputs that was interrupted or waits for answers: the `runId` of one of its results, or
     * its root. What it has finished is not done again.
     */
    resumes?: string | undefined;
  };

const FAN_OUT_OPTIONS: OptionKinds<FanOutOptions & ReservedId> = {
  ...RUN_OPTIONS,
  concurrency: NUMBER,
  resumes: TEXT,
  answers: RESUME_OPTIONS.answers,
};

const ALL_RUN_OPTIONS: Readonly<Record<string, AnyKind>> = { ...RUN_OPTIONS, ...RUNTIME_OPTIONS };

/** Shared parts for several runs. The bare `run` and `fanOut` make a runtime of their own. */
export function createRuntime(options: RuntimeOptions = {}): Runtime {
  checkOptions("createRuntime()", options, RUNTIME_OPTIONS);
  return runtimeOf(options);
}

function runtimeOf(options: RuntimeOptions): Runtime {
  checkModelOptions(options.models);
  return runtimeOn(modelCache(options.host?.environment ?? process.env), options);
}

function checkModelOptions(given: ModelOptions = {}): void {
  checkOptions("models", given, MODEL_OPTIONS);
  checkAllowEntries(given.allow ?? []);
}

/** A runtime whose models come from somewhere else than the providers of the environment. */
export function runtimeOn(
  models: Shared["models"],
  options: RuntimeOptions,
  more: Pick<Shared, "perMessage" | "roots"> = {},
): ReadingRuntime {
  const host = systemHost(options.host);
  const store = options.store ?? openMemoryStore();
  const newId = idSource(host);
  const own = { ...more, options, host, store, newId, models };
  const parts = { ...own, placed: placedRunsOf(own) };
  const open = (runOptions: TreeOptions) => openTree({ ...parts, runOptions });
  return {
    run(definition, task, runOptions = {}) {
      checkOptions("run()", runOptions, RUN_OPTIONS);
      if (runOptions.budget !== undefined) checkBudget(runOptions.budget);
      const budget = smallerBudget(runOptions.budget, definition.budget);
      return startRoot(open({ ...runOptions, budget: { ...budget, from: runOptions.budget?.from } }), definition, task);
    },
    fanOut(definition, inputs, runOptions = {}) {
      checkOptions("fanOut()", runOptions, FAN_OUT_OPTIONS);
      if (runOptions.budget !== undefined) checkBudget(runOptions.budget);
      const { concurrency = Number.POSITIVE_INFINITY, resumes } = runOptions;
      const isWide = concurrency > DEFAULT_LIMITS.maxConcurrent && Number.isFinite(concurrency);
      const wider = isWide ? { maxConcurrent: Math.floor(concurrency) } : {};
      const atOnce = fanOutWidth(inputs, concurrency);
      if (resumes !== undefined) return resumeFanOut(resumes, parts, { definition, inputs, atOnce, runOptions });
      const given = { ...options.limits, ...runOptions.limits };
      const fanOut = { inputs: [...inputs], atOnce, wholeAnswers: !asksForReports(given) };
      const opened = open({ ...runOptions, limits: { ...wider, ...given }, fanOut });
      return runFanOut({ opened }, definition, fanOut);
    },
    resume(runId, runOptions = {}, earlier) {
      checkOptions("resume()", runOptions, RESUME_OPTIONS);
      if (runOptions.addBudget !== undefined) checkAddedBudget(runOptions.addBudget);
      return resumeRoot(runId, parts, runOptions, earlier);
    },
    async questions(runId) {
      const { rootId } = await recordOf(runId, store);
      return readQuestions({ store, rootId });
    },
    fork(runId, runOptions = {}, earlier) {
      checkOptions("fork()", runOptions, FORK_OPTIONS);
      if (runOptions.budget !== undefined) checkBudget(runOptions.budget);
      return forkRoot(runId, parts, runOptions, earlier);
    },
    ...submitting(parts),
  };
}

function submitting(parts: Omit<Shared, "runOptions">): Pick<Runtime, "submit" | "workOn" | "work"> {
  const half = placingHalf(parts, `worker ${process.pid}`);
  return {
    async submit(definition, task, runOptions = {}) {
      checkOptions("submit()", runOptions, RUN_OPTIONS);
      if (runOptions.budget !== undefined) checkBudget(runOptions.budget);
      const budget = smallerBudget(runOptions.budget, definition.budget);
      return half.submit(definition, task, { ...runOptions, budget: { ...budget, from: runOptions.budget?.from } });
    },
    workOn(runId, options = {}) {
      checkOptions("workOn()", options, WORK_ON_OPTIONS);
      return half.workOn(runId, options);
    },
    work(options = {}) {
      checkOptions("work()", options, WORKER_OPTIONS);
      return half.work(options);
    },
  };
}

const WORK_ON_OPTIONS: OptionKinds<WorkOnOptions> = { name: TEXT, signal: RUN_OPTIONS.signal };
const WORKER_OPTIONS: OptionKinds<WorkerOptions> = {
  name: TEXT,
  places: wholeNumber(1),
  folder: TEXT,
  onRun: functionOf(),
};

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
  const [own, shared] = splitOptions("run()", options, RUN_OPTIONS, ALL_RUN_OPTIONS);
  return runtimeOf(withoutLater(shared)).run(definition, task, own);
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
  const [own, shared] = splitOptions("fanOut()", options, FAN_OUT_OPTIONS);
  return runtimeOf(withoutLater(shared)).fanOut(definition, inputs, own);
}

/** Without a store no one could resume a run of the bare functions: there an answer cannot come later. */
function withoutLater(options: RuntimeOptions): RuntimeOptions {
  const { store, approve } = options;
  if (store !== undefined || approve === undefined) return options;
  const given = typeof approve === "object" ? approve.ask : approve;
  if (given === undefined) return options;
  const ask: Approve = async (request, signal) => {
    const answer = await given(request, signal);
    if (answer === "later") throw new Error("the answer comes later, and this run is in no store: give it a store");
    return answer;
  };
  if (typeof approve !== "object") return { ...options, approve: ask };
  return { ...options, approve: { decide: (each) => approve.decide(each), ask, asksAgain: approve.asksAgain } };
}

/**
 * Resumes a stored run from `store`. Ends like `run`; rejects with a `UserError` when there is no such run, when it has
 * completed, or when it cannot be continued.
 */
export function resume<Output>(runId: string, options: ResumeOptions & RuntimeOptions): RunHandle<Output> {
  const [own, shared] = splitOptions("resume()", options, RESUME_OPTIONS);
  return runtimeOf(shared).resume(runId, own);
}

/** Starts a new tree with the conversation of a stored run from `store`, up to a turn. Ends and rejects like `resume`. */
export function fork<Output>(runId: string, options: ForkOptions & RuntimeOptions): RunHandle<Output> {
  const [own, shared] = splitOptions("fork()", options, FORK_OPTIONS);
  return runtimeOf(shared).fork(runId, own);
}

/** Splits options that are given together into those of the call and those of its runtime. `limits` is both, `onEvent` of the call. */
function splitOptions<Own extends object>(
  where: string,
  given: Own & RuntimeOptions,
  own: Readonly<Record<string, AnyKind>>,
  known: Readonly<Record<string, AnyKind>> = { ...own, ...RUNTIME_OPTIONS },
): [Own, RuntimeOptions] {
  checkOptions(where, given, known);
  const ofCall: Record<string, unknown> = {};
  const shared: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    if (Object.hasOwn(own, name)) ofCall[name] = value;
    // A listener in both would hear every event twice.
    if (Object.hasOwn(RUNTIME_OPTIONS, name) && name !== "onEvent") shared[name] = value;
  }
  return [ofCall as Own, shared as RuntimeOptions];
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
