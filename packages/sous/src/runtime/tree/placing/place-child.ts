/** A child in a journal of its own, as its parent sees it: a run that does nothing here but wait for its end. */

import { BudgetExceeded, ignore, messageOf, Refused } from "../../../core/errors.ts";
import type { EventOf } from "../../../core/event.ts";
import { LACKS_APPROVAL, type RunOutcome } from "../../../core/outcome.ts";
import type { Run } from "../../../core/run.ts";
import type { PlacedStart } from "../../../core/run-start.ts";
import type { SharedLimits } from "../../../core/shared-budget.ts";
import { FAN_OUT } from "../../../core/spawn.ts";
import { toolLogOf } from "../../../core/tool-log.ts";
import { parseTraceparent, spanIdOf, writeTraceparent } from "../../../core/trace-context.ts";
import { toStored } from "../../../core/units.ts";
import { noUsage } from "../../../core/usage.ts";
import { lacksApproval } from "../../../core/words/outcomes.ts";
import { buildEvent } from "../../events/build-event.ts";
import { redactBody } from "../../events/redact-event.ts";
import { type ChildPlan, type RunPlan, startOf } from "../lifecycle.ts";
import { type TreeParts, termsOf } from "../parts.ts";
import type { TreeState } from "../state.ts";
import { patiently } from "./patiently.ts";
import type { PlacedRuns } from "./placed-runs.ts";
import { viewElsewhere } from "./root-view.ts";

/** Begins the journal of the child and waits for its end. The outcome is that of its worker. */
export async function runPlaced(tree: TreeState, run: Run, plan: ChildPlan, placed: PlacedRuns): Promise<RunOutcome> {
  const { parts, book } = tree;
  const { rootId } = parts.records;
  const { runId, path } = run.who;
  let outcome: RunOutcome | undefined;
  run.placed = standIn(run, placed);
  book.started(plan.entry, run);
  run.waitingFor = "its worker";
  try {
    await beginPlaced(tree, run, plan, placed);
    const waiting = placed.waitFor(runId, {
      rootId,
      agent: run.profile.agentName,
      holder: parts.asking.journal,
    });
    // It may have been lost while the child began.
    if (parts.asking.journal.degraded !== undefined) placed.leave(parts.asking.journal);
    run.scope.listen(() => stopPlaced(run, tree, placed));
    const end = await waiting;
    if (end === "parked") {
      outcome = PARKED;
      run.tree.parked(run, outcome);
      return outcome;
    }
    if (end === "left") {
      outcome = LEFT;
      return outcome;
    }
    outcome = await endedElsewhere(run, end, parts);
    return outcome;
  } catch (error) {
    if (error instanceof Refused) throw error;
    const message = `${path} could not be waited for: ${messageOf(error)}`;
    outcome = { ...LEFT, fault: { type: "store", message } };
    return outcome;
  } finally {
    if (!run.isParked) run.tree.ended(run, outcome);
  }
}

/** The intent is kept before the journal begins, so that a restart finds the child. */
async function beginPlaced(tree: TreeState, run: Run, plan: ChildPlan, placed: PlacedRuns): Promise<void> {
  const { entry, parent, call, place } = plan;
  const { runId, agentId } = run.who;
  if (place !== "again") {
    parent.emit({
      type: "placed",
      childRunId: runId,
      childAgentId: agentId,
      childPath: entry.path,
      label: entry.label,
      agent: run.profile.agentName,
      call,
      budget: entry.budget && toStored(entry.budget),
    });
    await parent.tree.settled();
  }
  tree.elsewhere ??= { view: viewElsewhere(tree, placed) };
  tree.elsewhere.view?.start();
  const start = placedStart(tree, run, plan);
  // Beginning it twice is beginning it once.
  await patiently(() => placed.begin(start), tree.parts.asking);
}

/** The start of a run that is placed, with all that its worker has to know. */
export function placedStart(tree: TreeState, run: Run, plan: RunPlan): EventOf<"run-start"> {
  const { parts } = tree;
  const { profile, who } = run;
  const mode = run.summary?.mode;
  // Only the tools that it has say whether it may have children: its definition elsewhere may have more.
  const hasChildren = [...profile.tools.byName.values()].some(({ tool }) => tool.category === "subagent");
  const placed: PlacedStart = {
    rootId: parts.records.rootId,
    ...(mode !== undefined && { summary: { mode, maxBytes: run.summary?.maxBytes ?? 0 } }),
    budgets: run.account.chain().map(({ name, limits = {} }) => ({ name, limits: given(limits) })),
    // The process that submits a root need not stay, so such a tree has no person.
    ...(parts.approve !== undefined && run.who.parentId !== null && { asks: true as const }),
  };
  const traceparent = traceAbove(run, plan, parts.settings.isSampled !== undefined);
  const ofJournal = { terms: termsOf(parts, profile), cwd: parts.settings.folder, traceparent, placed };
  // Each journal is read alone, so it has its tools in full.
  const start = startOf(run, plan, tree.shownTools.whole(profile.tools), ofJournal);
  const body = { ...start, rights: { ...start.rights, spawn: start.rights.spawn && hasChildren } };
  const event = buildEvent(1, run.tree.clock.now(), who, redactBody(body, parts.settings.redactor));
  return event as EventOf<"run-start">;
}

/** Without the limits that are not set. */
function given(limits: SharedLimits): SharedLimits {
  return Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== undefined));
}

/** The span that the run lies under: that of the call that placed it, where spans are exported. Else the trace of the tree, if any. */
function traceAbove(run: Run, { parent, call }: RunPlan, isExported: boolean): string | undefined {
  if (parent === undefined) return run.trace?.traceparent;
  const trace = parent.tree.traceOf(parent)?.traceparent;
  const place = isExported && trace !== undefined ? parseTraceparent(trace) : undefined;
  if (place === undefined || call === undefined || call.callId === FAN_OUT) return trace;
  return writeTraceparent({ ...place, spanId: spanIdOf(parent.who.runId, { callId: call.callId }) });
}

/** Everything said to the run is put into the mail of its journal. */
function standIn(run: Run, placed: PlacedRuns): NonNullable<Run["placed"]> {
  const to = run.who.runId;
  let isStopped = false;
  return {
    stop(mode, callId, path) {
      if (isStopped) return;
      isStopped = mode === "stop" && path === undefined;
      placed.mail.tell({ to, body: { kind: "stop", mode, callId, path } });
    },
    steer: (path, text, callId) => placed.mail.tell({ to, body: { kind: "steer", path, text, callId } }),
  };
}

/** The scope of the stand-in was aborted: by a cancel, a limit, or the end of its parent. */
function stopPlaced(run: Run, { parts }: TreeState, placed: PlacedRuns): void {
  // This process has lost the tree, or gives it back: another one continues the parent, and nothing is cancelled.
  if (parts.asking.journal.degraded !== undefined) return;
  let top = run;
  while (top.parent !== undefined) top = top.parent;
  const isWholeTree = top.scope.aborted && top.who.parentId === null;
  if (isWholeTree) placed.mail.stopTree(parts.records.rootId).catch(ignore);
  else run.placed?.stop("stop");
  const type = run.scope.reason instanceof BudgetExceeded ? "quota" : "cancelled";
  placed.mustEnd(run.who.runId, { type, message: "Subagent cancelled" });
}

/** Bills the stand-in for what the run and everything below it took, so that its parent is billed as for any other child. */
async function endedElsewhere(run: Run, end: EventOf<"run-end">, parts: TreeParts): Promise<RunOutcome> {
  const { status, stopReason, text, output, fault, turns, toolCount, usage, costUsd, durationMs } = end;
  run.turns = turns;
  run.toolCount = toolCount;
  run.bill(usage, costUsd);
  if (end.usageBelow !== undefined) run.billBelow(end.usageBelow, end.costBelowUsd ?? 0);
  if (lacksApproval(end)) run.lacksApproval = true;
  if (run.toolLog !== undefined) {
    const events = await patiently(() => parts.records.store.read(run.who.runId), parts.asking);
    run.toolLog = toolLogOf(events, (name) => run.profile.tools.byName.get(name)?.tool.displayName);
  }
  return { status, stopReason, text, output, fault, turns, toolCount, usage, costUsd, durationMs };
}

/** A run that waits elsewhere is counted at its end. */
const PARKED: RunOutcome = {
  ...{ ...LACKS_APPROVAL, text: "", output: undefined, fault: undefined },
  ...{ turns: 0, toolCount: 0, usage: noUsage(), costUsd: 0, durationMs: 0 },
};

/** No one is told: the journal of its parent keeps nothing more here. */
const LEFT: RunOutcome = {
  ...PARKED,
  ...{ status: "failed", stopReason: undefined },
  fault: { type: "store", message: "Another process continues its parent" },
};
