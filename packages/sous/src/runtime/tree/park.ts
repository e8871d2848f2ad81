/** Runs that wait for an answer that comes later: they stop without an end, and the store holds their questions. */

import { ignore } from "../../core/errors.ts";
import type { RunOutcome } from "../../core/outcome.ts";
import type { BackgroundChild, Run } from "../../core/run.ts";
import { Parked } from "../../core/scope.ts";
import type { CancelMode } from "../../core/spawn.ts";
import { cancelledSentence, recordEnd } from "../loop/ending.ts";
import { withdrawCalls } from "../loop/run-tool-call.ts";
import { deliverReport, untilChildrenRest } from "../subagents/background-children.ts";
import { isLost, whileResting } from "./approval.ts";
import { parkRun } from "./lifecycle.ts";
import type { ParkedRun, TreeState } from "./state.ts";

/** Waits until nothing below the run is at work, then throws `Parked`. Returns when the run was stopped, or its store failed. */
export async function park(tree: TreeState, run: Run): Promise<void> {
  try {
    await whileResting(run, () => untilChildrenRest(run));
    // A loss that makes this reject is noticed below.
    await run.tree.settled()?.catch(ignore);
  } catch (error) {
    if (!run.work.aborted) throw error;
  }
  if (!run.work.aborted && !run.isWrappingUp && !isLost(tree)) throw new Parked();
  // The ending is the same as without a person to ask: what the run says may claim more than it did.
  if (!run.work.aborted && !run.isWrappingUp) run.lacksApproval = true;
  closeParked(tree, run);
}

/** Gives back what the run holds. It is no longer live. */
export function parked(tree: TreeState, run: Run, outcome: RunOutcome): void {
  run.isParked = true;
  parkRun(tree, run, outcome);
  const siblings = tree.parked.get(run.parent);
  if (siblings === undefined) tree.parked.set(run.parent, [{ run, outcome }]);
  else siblings.push({ run, outcome });
}

/** Ends the parked runs below a run that ends itself: their questions are withdrawn. Children before parents. */
export function closeParked(tree: TreeState, parent: Run): void {
  const below = tree.parked.get(parent) ?? [];
  tree.parked.delete(parent);
  for (const each of below) close(tree, each);
}

/** Ends this parked run and those below it. `callId` is the call that asks for it. */
export function closeParkedRun(tree: TreeState, run: Run, mode: CancelMode, callId?: string): void {
  const siblings = tree.parked.get(run.parent) ?? [];
  const index = siblings.findIndex((each) => each.run === run);
  const child = run.parent?.background?.get(run.who.agentId);
  for (const each of index < 0 ? [] : siblings.splice(index, 1)) {
    run.emit(callId === undefined ? { type: "cancel", mode } : { type: "cancel", mode, callId });
    const ended = close(tree, each);
    if (child !== undefined) tellParent(child, ended);
  }
}

/** The report of a background child, as if it had been stopped at work. A parent that is parked gets it when it is resumed. */
function tellParent({ run: { parent }, ended, isDelivered }: BackgroundChild, outcome: RunOutcome): void {
  if (parent === undefined || isDelivered) return;
  ended.then((report) => {
    if (!parent.isParked) deliverReport(parent, { ...report, outcome });
  }, ignore);
}

function close(tree: TreeState, { run, outcome }: ParkedRun): RunOutcome {
  closeParked(tree, run);
  withdrawCalls(run);
  const fault = { type: "cancelled", message: cancelledSentence(run) } as const;
  const ended: RunOutcome = { ...outcome, status: "cancelled", stopReason: undefined, fault };
  recordEnd(run, ended);
  run.isParked = false;
  run.parent?.background?.delete(run.who.agentId);
  tree.book.closed(run, ended);
  run.onEnd?.(ended);
  return ended;
}

/** All runs of a parked tree, children before parents. */
export function parkedRuns(tree: Pick<TreeState, "parked">, parent?: Run): Run[] {
  return (tree.parked.get(parent) ?? []).flatMap(({ run }) => [...parkedRuns(tree, run), run]);
}
