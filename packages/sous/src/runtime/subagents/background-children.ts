/** Children that run while their parent continues: their reports reach it exactly once. */

import { messageOf } from "../../core/errors.ts";
import type { BackgroundChild, Run } from "../../core/run.ts";
import { Cancelled, untilAborted } from "../../core/scope.ts";
import type { ChildReport } from "../../core/spawn.ts";
import { toToolResult } from "./report.ts";

/** Registers the child and delivers its report when it ends, unless a call already waits for the report. */
export function addBackgroundChild(parent: Run, child: Run, label: string, ended: Promise<ChildReport>): void {
  parent.background ??= new Map();
  const entry: BackgroundChild = { run: child, ended, isDelivered: false };
  parent.background.set(child.who.agentId, entry);
  deliverAtEnd(parent, entry);
  ended.catch((error: unknown) => {
    parent.background?.delete(child.who.agentId);
    const text = `The background subagent ${label} will not report: ${messageOf(error)}`;
    parent.receive({ kind: "notice", reason: "no-report", text });
  });
}

/** A child whose report goes to an outside program: its parent does not read it, and does not end before it. */
export function addOutsideChild(parent: Run, child: Run, ended: Promise<ChildReport>): void {
  parent.background ??= new Map();
  parent.background.set(child.who.agentId, { run: child, ended, isDelivered: true });
  const remove = () => void parent.background?.delete(child.who.agentId);
  ended.then(remove, remove);
}

/**
 * The reports of the named children, or of all, so that none of them also reaches the inbox. `callId` is the call that
 * waits for them.
 */
export async function takeReports(
  parent: Run,
  agentIds: readonly string[] | undefined,
  callId: string | undefined,
): Promise<ChildReport[]> {
  const isWanted = (agentId: string) => agentIds === undefined || agentIds.includes(agentId);
  const arrived = takeFromInbox(parent, isWanted);
  const waiting = [...(parent.background ?? [])]
    .filter(([agentId, child]) => isWanted(agentId) && !child.isDelivered)
    .map(([, child]) => child);
  for (const child of waiting) child.isDelivered = true;
  using _wait = waitForAll(parent, waiting, callId);
  try {
    // A child that never started has no report: its parent reads a notice.
    const ended = Promise.all(waiting.map((child) => child.ended.catch(() => undefined)));
    const reports = await untilAborted(ended, parent.scope);
    // The call that waits has no result before the answer has come: it is made again then.
    if (callId !== undefined && waiting.some(({ run }) => run.isParked)) parent.parkCall(callId);
    for (const child of waiting) if (!child.run.isParked) parent.background?.delete(child.run.who.agentId);
    return [...arrived, ...reports.filter((report) => report !== undefined)];
  } catch (error) {
    // The wait was stopped: the reports arrive as messages, also those of children that have ended meanwhile.
    for (const report of arrived) deliverReport(parent, report);
    for (const child of waiting) {
      child.isDelivered = false;
      deliverAtEnd(parent, child);
    }
    throw error;
  }
}

/** Waits until the child has ended, in whatever way. */
export async function untilEnded(parent: Run, child: BackgroundChild, callId: string | undefined): Promise<void> {
  using _wait = waitForAll(parent, [child], callId);
  await child.ended.catch(() => {});
}

/** Waits until there is something to read or it should wrap up; false when no child is left to report. */
export async function nextReport(parent: Run): Promise<boolean> {
  const { background } = parent;
  if (background === undefined || background.size === 0) return false;
  if (parent.tree.onLiveChildren === "cancel") {
    await stopChildren(parent);
    return false;
  }
  while (background.size > 0) {
    if (parent.isWrappingUp || (parent.inbox !== undefined && parent.inbox.length > 0)) return true;
    const atWork = [...background.values()].filter(({ run }) => !run.isParked);
    if (atWork.length === 0) {
      await parent.tree.park(parent);
      parent.scope.throwIfAborted();
      continue;
    }
    using wait = waitForOne(parent, atWork);
    await untilAborted(nextNews(parent, atWork, wait), parent.scope);
  }
  return parent.inbox !== undefined && parent.inbox.length > 0;
}

/** Waits until no child of the run is at work. Those that are parked wait for an answer. */
export async function untilChildrenRest(parent: Run): Promise<void> {
  for (;;) {
    const atWork = [...(parent.background?.values() ?? [])].filter(({ run }) => !run.isParked);
    if (atWork.length === 0 && parent.openChildren === 0) return;
    using _wait = waitForAll(parent, atWork, undefined);
    const rest: Promise<unknown> =
      atWork.length > 0
        ? Promise.allSettled(atWork.map((child) => child.ended))
        : new Promise<void>((resolve) => {
            parent.onChildless = resolve;
          });
    await untilAborted(rest, parent.work);
  }
}

/** The end of a child, or a message from outside. */
function nextNews(parent: Run, children: readonly BackgroundChild[], wait: Disposable | undefined): Promise<void> {
  return new Promise((resolve) => {
    const onNews = () => {
      if (parent.onIncoming === onNews) parent.onIncoming = undefined;
      wait?.[Symbol.dispose]();
      resolve();
    };
    parent.onIncoming = onNews;
    for (const child of children) child.ended.then(onNews, onNews);
  });
}

/** Tells the ledger that the parent waits until the last of them has ended. */
function waitForAll(
  parent: Run,
  children: readonly BackgroundChild[],
  callId: string | undefined,
): Disposable | undefined {
  let left = children.length;
  if (left === 0) return undefined;
  const wait = parent.holding?.wait(callId);
  const oneEnded = () => {
    left -= 1;
    if (left === 0) wait?.[Symbol.dispose]();
  };
  for (const { run } of children) addWait(run, { [Symbol.dispose]: oneEnded });
  return wait;
}

/** Tells the ledger that the parent waits until one of them has ended. */
function waitForOne(parent: Run, children: readonly BackgroundChild[]): Disposable | undefined {
  const wait = parent.holding?.wait();
  if (wait !== undefined) for (const { run } of children) addWait(run, wait);
  return wait;
}

function addWait(run: Run, wait: Disposable): void {
  run.waits ??= [];
  run.waits.push(wait);
}

/** A child that its parent waited for has ended. */
export function childGone(parent: Run): void {
  parent.openChildren -= 1;
  if (parent.openChildren === 0) parent.onChildless?.();
}

/** Stops everything below a parent that ends, also children that a tool left behind. */
export async function closeChildren(parent: Run): Promise<void> {
  await stopChildren(parent);
  if (parent.openChildren === 0) return;
  parent.scope.abort(new Cancelled("Subagent cancelled"));
  await new Promise<void>((resolve) => {
    parent.onChildless = resolve;
  });
}

/** Stops what still runs in the background, and waits for its end. */
async function stopChildren(parent: Run): Promise<void> {
  const { background } = parent;
  if (background === undefined) return;
  const children = [...background.values()];
  for (const { run } of children) run.scope.abort(new Cancelled("Subagent cancelled"));
  await Promise.allSettled(children.map((child) => child.ended));
  for (const { run } of children) background.delete(run.who.agentId);
}

/** Delivers exactly once, however often it is called. */
function deliverAtEnd(parent: Run, child: BackgroundChild): void {
  child.ended.then(
    (report) => {
      if (child.isDelivered || child.run.isParked) return;
      child.isDelivered = true;
      parent.background?.delete(report.agentId);
      deliverReport(parent, report);
    },
    () => {},
  );
}

export function deliverReport(parent: Run, report: ChildReport): void {
  // The text of the report is redacted already; the reason of a failure quotes its provider.
  parent.receive({ kind: "report", report, text: parent.tree.redactor.text(reportMessage(report)) });
}

function takeFromInbox(parent: Run, isWanted: (agentId: string) => boolean): ChildReport[] {
  const taken: ChildReport[] = [];
  parent.inbox = parent.inbox?.filter((incoming) => {
    if (incoming.kind !== "report" || !isWanted(incoming.report.agentId)) return true;
    taken.push(incoming.report);
    return false;
  });
  return taken;
}

/** The message to the parent's model. Text a model reads: snapshotted. */
function reportMessage(report: ChildReport): string {
  const { success, output, error } = toToolResult({ kind: "ended", report });
  return `Report of the background subagent ${report.label}:\n${success ? output : `${error}\n${output}`}`;
}
