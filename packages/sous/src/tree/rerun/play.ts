/** Plays a recording on its stage: every run of its root in turn, and what came from outside. */

import { ignore, UserError } from "../../core/errors.ts";
import type { Budget } from "../../core/limits.ts";
import type { RunHandle, RunResult } from "../../core/runtime.ts";
import type { CancelMode } from "../../core/spawn.ts";
import type { RunsComparison } from "../../replay/comparison.ts";
import { planOutsideActs } from "../../replay/outside-acts.ts";
import type { Playback } from "../../replay/playback.ts";
import type { RunRecording } from "../../replay/recording.ts";
import { runFanOut } from "../fan-out.ts";
import { type OpenTree, openTree } from "../open.ts";
import { resumeRoot } from "../restore/resume.ts";
import { rootHandle } from "../root-handle.ts";
import { RootRun } from "../root-run.ts";
import { ledgerOf, type Stage } from "./stage.ts";

/** A run of the root, or a fan-out, which cannot be talked to. */
type Act = {
  readonly result: Promise<RunResult>;
  readonly handle: RunHandle | undefined;
  readonly opened: OpenTree | undefined;
};

export async function play(stage: Stage): Promise<{ result: RunResult; verdict: RunsComparison }> {
  const { playback, stop } = stage;
  const { conductor, comparison } = playback;
  let act: Act | undefined;
  const control = {
    steer: (path: string, text: string) => void act?.handle?.steer(path, text),
    send: (path: string, message: string) => void act?.handle?.send(path, message).catch(ignore),
    cancel: (path: string, mode: CancelMode) =>
      void (act?.handle === undefined ? stop.abort() : act.handle.cancel(path, { mode })),
  };
  planOutsideActs(playback, control);
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
  const opened = openTree({ ...parts, runOptions: { ...terms, budget, signal: stop.signal, onEvent } });
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
  const addBudget = budgetAdded(earlier.start.budget, start.budget);
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

function budgetAdded(before: Budget = {}, after: Budget = {}): Budget | undefined {
  const added: Budget = {};
  for (const unit of ["tokens", "costUsd", "seconds", "executions"] as const) {
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
