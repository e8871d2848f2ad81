/** The composition root: from parts to runs. What a user calls begins here, and every part is put together here. */

import { ChildTime } from "./budget/child-time.ts";
import { createDeadlines } from "./budget/deadlines.ts";
import { openLedger } from "./budget/ledger.ts";
import { priceOf } from "./budget/prices.ts";
import { createRunSlots } from "./budget/run-slots.ts";
import { withinBudget } from "./budget/within-budget.ts";
import type { AgentDefinition, ModelChoice } from "./core/agent.ts";
import { type Host, ulidSource } from "./core/clock.ts";
import { checkConversation, DEFAULT_CONVERSATION } from "./core/conversation.ts";
import { UserError } from "./core/errors.ts";
import { makeHandle } from "./core/handle.ts";
import { checkLimits, DEFAULT_LIMITS, smallerBudget } from "./core/limits.ts";
import { messageFrom, textFrom, type UserInput } from "./core/message.ts";
import type { Model } from "./core/model.ts";
import { checkWhole, checkWord, withDefaults } from "./core/options.ts";
import { createRedactor, type Redactor, secretsOf } from "./core/redact.ts";
import { Cancelled } from "./core/run.ts";
import { RunError, type RunHandle, type RunOptions, type RunResult, type RuntimeOptions } from "./core/runtime.ts";
import { Scope } from "./core/scope.ts";
import type { Store } from "./core/store.ts";
import type { ToolRegistry } from "./core/tool.ts";
import { type EventIteration, iterateEvents } from "./events/iterate.ts";
import { createJournal } from "./events/journal.ts";
import { type FanOutTree, runFanOut } from "./fan-out.ts";
import { systemHost } from "./host.ts";
import { watchSilence } from "./loop/watch-silence.ts";
import { modelCache } from "./model/cache.ts";
import { Profiles } from "./profiles.ts";
import { rootResult, settle } from "./results.ts";
import { readHistory } from "./store/history.ts";
import { openMemoryStore } from "./store/memory.ts";
import type { AgentEntry } from "./subagents/agent-book.ts";
import { stopRun } from "./subagents/child-control.ts";
import { addSubagentTools, type SubagentToolsOptions } from "./subagents/register.ts";
import { Tree } from "./tree.ts";

export type Runtime = {
  run<Output>(definition: AgentDefinition<Output>, task: UserInput, options?: RunOptions): RunHandle<Output>;
  fanOut<Output>(
    definition: AgentDefinition<Output>,
    inputs: readonly string[],
    options?: FanOutOptions,
  ): Promise<RunResult<Output>[]>;
};

/** `limit` children at once. A `limits.maxConcurrent` that is given holds as well; its default of 5 gives way to a larger limit. */
export type FanOutOptions = RunOptions & { limit?: number | undefined };

/** Shared parts for several runs. The bare `run` and `fanOut` make a runtime of their own. */
export function createRuntime(options: RuntimeOptions = {}): Runtime {
  return runtimeOn(modelCache(options.host?.environment ?? process.env), options);
}

/** A runtime whose models come from somewhere else than the machine's providers, such as a recording. */
export function runtimeOn(models: Shared["models"], options: RuntimeOptions): Runtime {
  const host = systemHost(options.host);
  const store = options.store ?? openMemoryStore();
  const newId = ulidSource(host.clock.now, host.random);
  if (options.maxConcurrentCalls !== undefined) checkWhole("maxConcurrentCalls", options.maxConcurrentCalls, 1);
  const redactor = createRedactor(secretsOf(host.environment));
  const open = (runOptions: RunOptions) => openTree({ options, runOptions, host, store, newId, models, redactor });
  return {
    run(definition, task, runOptions = {}) {
      const budget = smallerBudget(runOptions.budget, definition.budget);
      return startRoot(open({ ...runOptions, budget }), definition, task);
    },
    fanOut(definition, inputs, runOptions = {}) {
      const { limit } = runOptions;
      const isWide = limit !== undefined && limit > DEFAULT_LIMITS.maxConcurrent && Number.isFinite(limit);
      const wider = isWide ? { maxConcurrent: Math.floor(limit) } : {};
      const opened = open({ ...runOptions, limits: { ...wider, ...options.limits, ...runOptions.limits } });
      const tree: FanOutTree = { ...opened, runOnce: (scope, work) => runOnce(opened, scope, work) };
      return runFanOut(tree, definition, inputs, limit);
    },
  };
}

/** Runs an agent on a task, with parts of its own. */
export function run<Output>(
  definition: AgentDefinition<Output>,
  task: UserInput,
  options: RunOptions & RuntimeOptions = {},
): RunHandle<Output> {
  return createRuntime(options).run(definition, task, options);
}

/** Runs an agent on several tasks at once: one tree, one budget, one result per input in order. Never rejects. */
export function fanOut<Output>(
  definition: AgentDefinition<Output>,
  inputs: readonly string[],
  options: FanOutOptions & RuntimeOptions = {},
): Promise<RunResult<Output>[]> {
  return createRuntime(options).fanOut(definition, inputs, options);
}

/** Adds `subagent_spawn`, and with a client `subagent_delegate`, to any registry. */
export function registerSubagentTools(registry: ToolRegistry, options: SubagentToolsOptions, depth = 0): void {
  addSubagentTools(registry, options, depth, async (definition, task, runOptions) => {
    try {
      return await run(definition, task, runOptions);
    } catch (error) {
      if (error instanceof RunError) return error.result;
      throw error;
    }
  });
}

type Shared = {
  options: RuntimeOptions;
  runOptions: RunOptions;
  host: Host;
  store: Store;
  newId: () => string;
  models: (choice: ModelChoice) => Model | Promise<Model>;
  redactor: Redactor;
};

/** A tree that has no root run yet. */
type OpenTree = ReturnType<typeof openTree>;

function openTree({ options, runOptions, host, store, newId, models, redactor }: Shared) {
  const { clock, random, cwd } = host;
  const limits = checkLimits(withDefaults(DEFAULT_LIMITS, options.limits, runOptions.limits));
  const { onExhausted = "wrap-up", onLiveChildren = "wait" } = runOptions;
  checkWord("onExhausted", onExhausted, ["wrap-up", "stop"]);
  checkWord("onLiveChildren", onLiveChildren, ["wait", "cancel"]);
  const rootId = newId();
  const requireStore = options.requireStore === true;
  const journal = createJournal({
    store,
    rootId,
    clock,
    requireStore,
    hooks: {
      redactor,
      isAlone: () => tree.book.liveCount <= 1,
      // A store that cannot keep an event may still keep one word.
      onDegraded: (reason) => void store.markLost(rootId, reason).catch(ignore),
    },
  });
  const deadlines = createDeadlines(clock);
  const budget = runOptions.budget ?? {};
  const root = openLedger(budget);
  const tree: Tree = new Tree({
    settings: {
      cwd,
      redactor,
      conversation: checkConversation(withDefaults(DEFAULT_CONVERSATION, runOptions.conversation)),
      onExhausted,
      onLiveChildren,
    },
    asking: { clock, random, journal, callsAtOnce: options.maxConcurrentCalls },
    profiles: new Profiles({
      resolveModel: models,
      priceOf: (model) => model.price ?? priceOf(model.id)?.price,
      windowOf: (model) => model.contextWindow ?? priceOf(model.id)?.contextWindow,
      limits,
      agents: options.agents ?? [],
      now: clock.monotonic,
    }),
    limits,
    spending: {
      budget,
      root,
      children: root.open(withinBudget(limits.children, budget)),
      slots: createRunSlots(limits.maxConcurrent, limits.onFull),
      deadlines,
      childTime: new ChildTime(limits.children.seconds, clock, deadlines, (reason) => {
        for (const live of tree.book.live) if (live.who.depth === 1) live.scope.abort(reason);
      }),
    },
    approve: options.approve,
    records: { newId, ...readHistory(store, rootId) },
    recorded: undefined,
  });
  if (runOptions.onEvent !== undefined) journal.subscribe(runOptions.onEvent);
  // `last`: the end of the latest run of the root, which a follow-up waits for.
  return { tree, journal, deadlines, rootId, store, runOptions, newId, last: Promise.resolve() };
}

/** The handle exists at once; the run starts a microtask later, so nothing is missed by whoever iterates it. */
function startRoot<Output>(opened: OpenTree, definition: AgentDefinition, task: UserInput): RunHandle<Output> {
  const entry = Promise.resolve().then(() => opened.tree.openRoot(opened.rootId, definition));
  return rootHandle<Output>(opened, opened.rootId, entry, task);
}

function rootHandle<Output>(
  opened: OpenTree,
  runId: string,
  entry: Promise<AgentEntry>,
  task: UserInput,
): RunHandle<Output> {
  const { tree, journal, store, rootId } = opened;
  const message = messageFrom(task);
  const iterations = new Set<EventIteration>();
  const scope = new Scope();
  let isOver = false;
  const result = entry
    .then((root) => runOnce(opened, scope, () => tree.runRoot(root, { runId, task: message, scope })))
    .then(({ run: ended, outcome }) => settle<Output>(rootResult(ended, outcome, tree), ended.cause))
    .finally(() => {
      isOver = true;
      for (const each of iterations) each.finish();
      iterations.clear();
    });
  opened.last = result.then(ignore, ignore);
  return makeHandle<Output>({
    id: runId,
    result,
    iterate() {
      const iterator = iterateEvents({ journal, store, rootId, runId });
      if (isOver) iterator.finish();
      else iterations.add(iterator);
      return iterator;
    },
    steer(path, text) {
      const live = tree.book.at(path)?.run;
      live?.receive({ kind: "steer", text: textFrom(text) });
      return live !== undefined;
    },
    cancel(path, { mode = "stop" } = {}) {
      const live = path === undefined ? tree.book.get(rootId)?.run : tree.book.at(path)?.run;
      const isMeant = path !== undefined || live?.who.runId === runId;
      if (live !== undefined && isMeant) stopRun(live, mode, tree.book);
      else if (path !== undefined || isOver) return false;
      // It may be told to stop before it has begun.
      else scope.abort(new Cancelled("The run was cancelled"));
      return true;
    },
    send: (path, message) => sendTo(tree, path, message),
    followUp(next) {
      const previous = opened.last.then(() => entry);
      return rootHandle<Output>(opened, opened.newId(), previous, next);
    },
  });
}

/** Links the caller's signal and watches for silence while the root runs; nothing is left behind after it. */
async function runOnce<T>({ runOptions, tree, deadlines }: OpenTree, scope: Scope, work: () => Promise<T>): Promise<T> {
  const { signal } = runOptions;
  const stop = () => scope.abort(new Cancelled("The run was cancelled"));
  if (signal?.aborted) stop();
  else signal?.addEventListener("abort", stop, { once: true });
  using _watch = watchSilence(() => tree.book.live, deadlines);
  try {
    return await work();
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

async function sendTo(tree: Tree, path: string, message: string): Promise<string> {
  textFrom(message);
  const entry = tree.book.at(path);
  const parent = entry?.parent?.run;
  if (entry === undefined) throw new UserError(`No agent at ${path}`);
  if (entry.parent === undefined)
    throw new UserError(`${path} is the root: use steer() while it runs, then followUp()`);
  if (parent === undefined) throw new UserError(`The parent of ${path} has ended: continue the root with followUp()`);
  const reply = await tree.childrenOf(parent, undefined).send(entry.agentId, message);
  if (reply.kind === "refused") throw new UserError(reply.message);
  return reply.kind === "ended" ? reply.report.text : "";
}

function ignore(): void {}
