/** Runs a stored tree again from its recorded answers, in memory and without network, and says where it parts from it. */

import { DEFINITIONS } from "./core/agent.ts";
import { ignore, UserError } from "./core/errors.ts";
import type { StoredEvent } from "./core/event.ts";
import type { Budget } from "./core/limits.ts";
import { FLAG, functionOf, listOf, type OptionKinds, SIGNAL, withFunctions } from "./core/option-kinds.ts";
import { checkOptions } from "./core/options.ts";
import type { RunHandle, RunResult } from "./core/runtime.ts";
import type { CancelMode } from "./core/spawn.ts";
import type { Tool } from "./core/tool.ts";
import { fromStored, fromStoredLimits } from "./core/units.ts";
import { BUDGET_UNITS } from "./core/words/limits.ts";
import { systemHost } from "./machine/host.ts";
import { ledgerOf, type RerunOptions, type Stage, stageFor } from "./rerun/stage.ts";
import { runFanOut } from "./runtime/tree/fan-out.ts";
import { type OpenTree, openTree } from "./runtime/tree/open.ts";
import { redactorFor } from "./runtime/tree/redaction.ts";
import { resumeRoot } from "./runtime/tree/restore/resume.ts";
import { rootHandle } from "./runtime/tree/root-handle.ts";
import { RootRun } from "./runtime/tree/root-run.ts";
import type { RunsComparison, StepDifference } from "./storage/replay/comparison.ts";
import { Playback } from "./storage/replay/playback.ts";
import { planExternalActs } from "./storage/replay/recorded-external.ts";
import { earlyEnd, type RunRecording, readRecording } from "./storage/replay/recording.ts";

const OPTIONS: OptionKinds<RerunOptions> = {
  store: withFunctions("read", "run"),
  signal: SIGNAL,
  agents: DEFINITIONS,
  liveTools: FLAG,
  tools: listOf("tools", withFunctions<Tool>("execute")),
  onEvent: functionOf(),
};

/** The result of a rerun. */
export type Rerun = {
  /** Every event of every path was as recorded, up to the end of the recording. */
  matches: boolean;
  firstDifference: StepDifference | undefined;
  /** The reason why the recording stops before its work was done: `The recording ends here: it was cancelled`. */
  endsEarly: string | undefined;
  /** The result of its root. */
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
  checkOptions("rerun()", options, OPTIONS);
  const { store, liveTools, signal } = options;
  const recording = await readRecording(store, runId, signal);
  const playback = new Playback(recording, { isStubbed: liveTools !== true }, redactorFor(systemHost()));
  using stop = linkedStop(signal, playback.conductor.news);
  // An external agent was asked about paths in that folder; live tools work where they are.
  const cwd = liveTools === true ? undefined : playback.root.start.cwd;
  const host = systemHost({ clock: playback.clock, ...(cwd !== undefined && { cwd }) });
  const { result, verdict } = await play(stageFor(playback, options, stop.controller, host));
  signal?.throwIfAborted();
  const last = playback.roots.at(-1);
  const reason = last && earlyEnd(last);
  return {
    ...verdict,
    endsEarly: reason && `The recording ends here: ${reason}`,
    result,
    runId: playback.events[0]?.runId ?? "",
    events: playback.events,
  };
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

/** A run of the root, or a fan-out, which cannot be talked to. */
type Act = {
  readonly result: Promise<RunResult>;
  readonly handle: RunHandle | undefined;
  readonly opened: OpenTree | undefined;
};

async function play(stage: Stage): Promise<{ result: RunResult; verdict: RunsComparison }> {
  const { playback, stop } = stage;
  const { conductor, comparison } = playback;
  let act: Act | undefined;
  const control = {
    steer: (path: string, text: string) => void act?.handle?.steer(path, text),
    send: (path: string, message: string) => void act?.handle?.send(path, message).catch(ignore),
    cancel: (path: string, mode: CancelMode) =>
      void (act?.handle === undefined ? stop.abort() : act.handle.cancel(path, { mode })),
  };
  planExternalActs(playback, control);
  let result: RunResult | undefined;
  let earlier: RunRecording | undefined;
  for (const root of playback.roots) {
    act = act === undefined || earlier === undefined ? begin(root, stage) : await continued(root, earlier, act, stage);
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

/** The first run of the root, under the terms it had. */
function begin(root: RunRecording, { leader, parts, stop, onEvent, playback }: Stage): Act {
  const { task, terms, budget, origin, summarizes } = root.start;
  const limits = terms && fromStoredLimits(terms.limits);
  const runOptions = { ...terms, limits, budget: fromStored(budget ?? {}), signal: stop.signal, onEvent };
  const opened = openTree({ ...parts, runOptions });
  if (terms?.fanOut !== undefined) {
    const results = runFanOut({ opened }, leader, terms.fanOut);
    const result = results.then((each) => fanOutResult(each, playback));
    return { result, handle: undefined, opened };
  }
  const { rootId, tree } = opened;
  const run = new RootRun(opened, tree.openRoot(rootId, leader), { runId: rootId, task, origin, summarizes });
  return acting(rootHandle(rootId, run), opened);
}

/** A further run of the root: with more to spend it was resumed, otherwise followed up. */
async function continued(
  { start }: RunRecording,
  earlier: RunRecording,
  { handle, opened }: Act,
  { leader, parts, stop, onEvent, playback, recorded }: Stage,
): Promise<Act> {
  if (handle === undefined) throw new UserError("A fan-out cannot be continued");
  const addBudget = budgetAdded(fromStored(earlier.start.budget ?? {}), fromStored(start.budget ?? {}));
  const { summarizes } = start;
  if (addBudget === undefined) {
    const entry = opened?.tree.book.get(opened.rootId);
    // Another process may have continued it, with other instructions.
    if (entry !== undefined && recorded !== undefined) entry.profile = await recorded.root();
    return acting(handle.followUp(start.task.content, { summarizes }), opened);
  }
  const rootId = playback.events[0]?.runId ?? "";
  const options = { agent: leader, signal: stop.signal, onEvent, message: start.task.content, summarizes, addBudget };
  return acting(resumeRoot(rootId, { ...parts, openLedger: ledgerOf(playback, start.seq) }, options), undefined);
}

function budgetAdded(before: Budget, after: Budget): Budget | undefined {
  const added: Budget = {};
  for (const unit of BUDGET_UNITS) {
    const more = (after[unit] ?? 0) - (before[unit] ?? 0);
    if (more > 0) added[unit] = more;
  }
  return Object.keys(added).length === 0 ? undefined : added;
}

function acting(handle: RunHandle, opened: OpenTree | undefined): Act {
  return { result: handle.result, handle, opened };
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
  return { ...own, agents, denied, questions: [], error: fault, lost: undefined };
}
