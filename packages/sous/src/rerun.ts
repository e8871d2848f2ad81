/** Runs a stored tree again from its recorded answers, in memory and without network, and says where it parts from it. */

import { type Cast, castFor } from "./cast.ts";
import type { AgentDefinition } from "./core/agent.ts";
import { ulidSource } from "./core/clock.ts";
import { UserError } from "./core/errors.ts";
import type { SousEvent, StoredEvent } from "./core/event.ts";
import type { Budget, Ledger } from "./core/limits.ts";
import { earlyEnd, type Recording, type RunRecording } from "./core/recording.ts";
import { RunError, type RunHandle, type RunResult, type RuntimeOptions } from "./core/runtime.ts";
import type { Store } from "./core/store.ts";
import type { Tool } from "./core/tool.ts";
import { runFanOut } from "./fan-out.ts";
import { systemHost } from "./host.ts";
import { openTree, type TreeOptions } from "./open-tree.ts";
import { redactorFor } from "./redaction.ts";
import type { RunsComparison, StepDifference } from "./replay/compare-runs.ts";
import { planOutsideActs } from "./replay/outside-acts.ts";
import { Playback } from "./replay/playback.ts";
import { readRecording } from "./replay/read-recording.ts";
import { recordedApprove } from "./replay/recorded-consent.ts";
import { fanOutInputs, fanOutLimit, isFanOut } from "./replay/recorded-fan-out.ts";
import { recordedLedger } from "./replay/recorded-ledger.ts";
import { rootHandle } from "./root-handle.ts";
import { runtimeOn } from "./runtime.ts";
import { openMemoryStore } from "./store/memory.ts";

export type RerunOptions = {
  store: Pick<Store, "read" | "run">;
  /** The real definitions: the root, found by its name, and those that calls may name. Unset: made from the recording. */
  agents?: readonly AgentDefinition[] | undefined;
  /** Runs the tools again, instead of giving back what they gave then. Consent is as it was. */
  liveTools?: boolean | undefined;
  /** For `liveTools` without `agents`: the tools by name. */
  tools?: readonly Tool[] | undefined;
  signal?: AbortSignal | undefined;
  /** Sees every event of the rerun; pieces of text are not recorded, and there are none. */
  onEvent?: ((event: StoredEvent) => void) | undefined;
};

export type Rerun = {
  /** Every event of every path was as recorded, up to the end of the recording. */
  matches: boolean;
  firstDifference: StepDifference | undefined;
  /** Why the recording stops before its work was done: `The recording ends here: it was cancelled`. */
  endsEarly: string | undefined;
  /** What the rerun came to. */
  result: RunResult;
  /** The root of the rerun, which is in no store. */
  runId: string;
  events: readonly StoredEvent[];
};

/**
 * Plays the whole tree that the run belongs to, follow-ups of its root included. Nothing is written to the store, no provider
 * is loaded, and with recorded results no tool does anything. Throws a `UserError` for a tree that cannot be played.
 */
export async function rerun(runId: string, options: RerunOptions): Promise<Rerun> {
  const { store, agents, liveTools, signal } = options;
  const recording = await readRecording(store, runId, signal);
  const redactor = redactorFor(systemHost());
  const playback = new Playback(
    recording,
    { isRebuilt: agents === undefined, isStubbed: liveTools !== true },
    redactor,
  );
  using stop = linkedStop(signal, playback.conductor.news);
  const stage: Stage = {
    playback,
    cast: await castFor(playback, options),
    stop: stop.controller,
    onEvent: (event) => {
      if (event.seq === undefined) return;
      playback.add(event);
      options.onEvent?.(event);
    },
  };
  const { result, verdict } = await play(stage);
  signal?.throwIfAborted();
  const last = rootsOf(recording).at(-1);
  const reason = last && earlyEnd(last);
  return {
    ...verdict,
    endsEarly: reason && `The recording ends here: ${reason}`,
    result,
    runId: playback.events[0]?.runId ?? "",
    events: playback.events,
  };
}

type Stage = {
  readonly playback: Playback;
  readonly cast: Cast;
  readonly stop: AbortController;
  onEvent(event: SousEvent): void;
};

/** A run of the root, or a fan-out, which nobody can talk to. */
type Act = { readonly result: Promise<RunResult>; readonly handle: RunHandle | undefined };

async function play(stage: Stage): Promise<{ result: RunResult; verdict: RunsComparison }> {
  const { playback, cast, stop } = stage;
  const { conductor, comparison, recording } = playback;
  let handle: RunHandle | undefined;
  planOutsideActs(recording, {
    conductor,
    comparison,
    control: {
      steer: (path, text) => void handle?.steer(path, text),
      send: (path, message) => void handle?.send(path, message).catch(ignore),
      cancel: (path, mode) => void (handle === undefined ? stop.abort() : handle.cancel(path, { mode })),
    },
  });
  const parts: RuntimeParts = {
    store: openMemoryStore(),
    agents: cast.agents,
    approve: recordedApprove(playback),
    // A run that waited for its turn to ask waits for its answer instead.
    maxConcurrentCalls: Number.MAX_SAFE_INTEGER,
    // A model that ran then was one that could be named.
    models: { allow: [...recording.runs.values()].map(({ start }) => start.model) },
    host: { clock: playback.clock },
  };
  let result: RunResult | undefined;
  let earlier: RunRecording | undefined;
  for (const root of rootsOf(recording)) {
    const act: Act = earlier === undefined ? begin(root, parts, stage) : goOn(root, earlier, handle, parts, stage);
    handle = act.handle;
    earlier = root;
    let isOver = false;
    const ended = act.result.finally(() => {
      isOver = true;
      conductor.news();
    });
    ended.catch(ignore);
    const how = await conductor.conduct(() => isOver || stop.signal.aborted);
    const verdict = how === "over" && !stop.signal.aborted ? undefined : comparison.finish();
    if (verdict !== undefined) {
      playback.isClosing = true;
      stop.abort();
      await conductor.close(() => isOver);
    }
    result = await ended;
    if (verdict !== undefined) return { result, verdict };
    if (comparison.difference !== undefined) break;
  }
  if (result === undefined) throw new UserError("The recording has no root");
  return { result, verdict: comparison.finish() };
}

type RuntimeParts = RuntimeOptions & { readonly store: Store };

/** The first run of the root, under the terms it had. */
function begin(root: RunRecording, parts: RuntimeParts, { cast, stop, onEvent, playback }: Stage): Act {
  const { task, terms, budget, origin, summarizes } = root.start;
  const options: TreeOptions = { ...terms, budget, signal: stop.signal, onEvent };
  const openLedger = ledgerOf(playback);
  if (!isFanOut(root) && origin === undefined)
    return acting(runtimeOn(cast.models, parts, openLedger).run(cast.root, task.content, options));
  const host = systemHost(parts.host);
  const newId = ulidSource(host.clock.now, host.random);
  const opened = openTree({
    options: parts,
    runOptions: options,
    host,
    store: parts.store,
    newId,
    models: cast.models,
    openLedger,
  });
  if (isFanOut(root)) {
    const results = runFanOut({ opened }, cast.root, fanOutInputs(root), fanOutLimit(root));
    return { result: results.then((each) => fanOutResult(each, playback)), handle: undefined };
  }
  const entry = opened.tree.openRoot(opened.rootId, cast.root);
  return acting(rootHandle(opened, opened.rootId, entry, task, { origin, summarizes }));
}

/** A further run of the root: with more to spend it was resumed, otherwise followed up. */
function goOn(
  { start }: RunRecording,
  earlier: RunRecording,
  handle: RunHandle | undefined,
  parts: RuntimeParts,
  { cast, stop, onEvent, playback }: Stage,
): Act {
  if (handle === undefined) throw new UserError("A fan-out cannot be continued");
  const moreBudget = budgetAdded(earlier.start.budget, start.budget);
  const { summarizes } = start;
  if (moreBudget === undefined) return acting(handle.followUp(start.task.content, { summarizes }));
  const rootId = playback.events[0]?.runId ?? "";
  const common = { agent: cast.root, signal: stop.signal, onEvent };
  const options = { ...common, message: start.task.content, summarizes, moreBudget };
  return acting(runtimeOn(cast.models, parts, ledgerOf(playback, start.seq)).resume(rootId, options));
}

/** What was granted and refused then, from the run with this number on. */
function ledgerOf({ recording, conductor, comparison }: Playback, from = 0): (budget: Budget) => Ledger {
  const events = recording.events.filter(({ seq }) => seq >= from);
  const progress = {
    hasCome: (event: StoredEvent) => comparison.hasCome(event),
    isNext: (event: StoredEvent) => comparison.isNext(event),
    turn: (event: StoredEvent) => conductor.turn(event, undefined),
  };
  return (budget) => recordedLedger({ events }, budget, progress);
}

function budgetAdded(before: Budget = {}, after: Budget = {}): Budget | undefined {
  const added: Budget = {};
  for (const unit of ["tokens", "costUsd", "seconds", "executions"] as const) {
    const more = (after[unit] ?? 0) - (before[unit] ?? 0);
    if (more > 0) added[unit] = more;
  }
  return Object.keys(added).length === 0 ? undefined : added;
}

function acting(handle: RunHandle): Act {
  return { result: resultOf(handle), handle };
}

async function resultOf(handle: RunHandle): Promise<RunResult> {
  try {
    return await handle;
  } catch (error) {
    if (error instanceof RunError) return error.result;
    throw error;
  }
}

/** A fan-out gives one result for each input; the end of its root says how it went as a whole. */
function fanOutResult(results: readonly RunResult[], { events }: Playback): RunResult {
  const end = events.findLast((event) => event.type === "run-end" && event.parentId === null);
  const [first] = results;
  if (end?.type !== "run-end" || first === undefined) throw new UserError("The fan-out had no inputs");
  const { status, stopReason, text, output, usage, costUsd, turns, durationMs, runId, fault } = end;
  const agents = results.flatMap((each) => each.agents);
  const denied = results.flatMap((each) => each.denied);
  const own = { status, stopReason, text, output, usage, costUsd, turns, durationMs, runId };
  return { ...own, agents, denied, error: fault, lost: undefined };
}

function rootsOf({ runs, paths, rootId }: Recording): readonly RunRecording[] {
  return paths.get(runs.get(rootId)?.path ?? "") ?? [];
}

/** A controller of our own, which the caller's signal aborts too. */
function linkedStop(signal: AbortSignal | undefined, onStop: () => void): Disposable & { controller: AbortController } {
  const controller = new AbortController();
  const stop = () => {
    controller.abort(signal?.reason);
    onStop();
  };
  if (signal?.aborted) stop();
  else signal?.addEventListener("abort", stop, { once: true });
  return { controller, [Symbol.dispose]: () => signal?.removeEventListener("abort", stop) };
}

function ignore(): void {}
