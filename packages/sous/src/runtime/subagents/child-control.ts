/** The control that a run has over its own children only. */

import type { ErrorType } from "../../core/errors.ts";
import type { Run } from "../../core/run.ts";
import { Cancelled } from "../../core/scope.ts";
import type { CancelMode, ChildControl, SpawnReply } from "../../core/spawn.ts";
import { type AgentBook, type AgentEntry, childInfo, childStatus, deliver } from "./agent-book.ts";
import { takeReports, untilEnded } from "./background-children.ts";

/** The ports that the tree supplies. */
export type ControlPorts = {
  book: AgentBook;
  /** Ends a child that waits for an answer that comes later. */
  closeParked(child: Run, mode: CancelMode, callId: string | undefined): void;
  /** Starts a finished child again with a further message. */
  revive(parent: Run, entry: AgentEntry, message: string, callId: string | undefined): Promise<SpawnReply>;
  /** True when this call has revived a child before a restart. */
  hasRevived(parent: Run, callId: string | undefined): boolean;
  /** Runs `work` while the parent holds no slot. */
  whileResting<T>(parent: Run, work: () => Promise<T>): Promise<T>;
  /** The text a finished run ended with. */
  endText(runId: string): Promise<string | undefined>;
};

/** `callId` is the call of the parent that uses it; undefined for a program outside of the tree. */
export function childControl(parent: Run, ports: ControlPorts, callId: string | undefined): ChildControl {
  const { book } = ports;
  const own = (agentId: string): AgentEntry | undefined => {
    const entry = book.get(agentId);
    return entry?.parent?.agentId === parent.who.agentId ? entry : undefined;
  };
  return {
    list: () => book.childrenOf(parent.who.agentId).map(childStatus),
    async send(agentId, message) {
      const entry = own(agentId);
      if (entry === undefined)
        return refused("invalid_input", `No subagent with the id ${agentId}. subagent_list shows those you started.`);
      if (message.trim() === "") return refused("invalid_input", "message cannot be empty");
      if (entry.run?.isParked === true)
        return refused(
          "consent",
          `${entry.label} waits until the user has answered a question, and reads no messages before.`,
        );
      if (entry.status !== "running" || ports.hasRevived(parent, callId))
        return ports.revive(parent, entry, message, callId);
      deliver(entry, { kind: "steer", text: message, callId });
      return { kind: "told", child: childInfo(entry) };
    },
    wait: (agentIds) => ports.whileResting(parent, () => takeReports(parent, agentIds, callId)),
    async cancel(agentId, mode) {
      const entry = own(agentId);
      if (entry === undefined) return undefined;
      const child = parent.background?.get(agentId);
      if (entry.run?.isParked === true) ports.closeParked(entry.run, mode, callId);
      else if (entry.run !== undefined) stopRun(entry.run, mode, book, callId === undefined ? {} : { callId });
      if (child !== undefined) await ports.whileResting(parent, () => untilEnded(parent, child, callId));
      return childStatus(entry);
    },
    async report(agentId) {
      const entry = own(agentId);
      return entry === undefined || entry.status === "running" || entry.run?.isParked
        ? undefined
        : ports.endText(entry.lastRunId);
    },
  };
}

/** Stops a run and what is below it: at once, or after it has said what it has. `callId` is the call that asks for it. */
export function stopRun(
  run: Run,
  mode: CancelMode,
  book: AgentBook,
  by: { callId?: string; mail?: number } = {},
): void {
  const isLive = book.isLive(run);
  if (run.placed !== undefined) {
    // It records that it was told itself.
    run.placed.stop(mode, by.callId);
    if (mode === "stop") run.scope.abort(new Cancelled("Subagent cancelled"));
    return;
  }
  if (isLive && !run.isCleanedUp && !run.scope.aborted) run.emit({ type: "cancel", mode, ...by });
  // A run that has not started has nothing to wrap up.
  if (mode === "stop" || !isLive) {
    run.scope.abort(new Cancelled(run.parent === undefined ? "The run was cancelled" : "Subagent cancelled"));
    return;
  }
  if (mode === "last-words") {
    run.stopWork();
    return;
  }
  run.wrapUp();
  for (const live of book.live) {
    if (!isBelow(live, run)) continue;
    if (live.placed === undefined) live.wrapUp();
    else live.placed.stop(mode);
  }
}

function isBelow(run: Run, ancestor: Run): boolean {
  for (let above = run.parent; above !== undefined; above = above.parent) if (above === ancestor) return true;
  return false;
}

function refused(errorType: ErrorType, message: string): SpawnReply {
  return { kind: "refused", errorType, message };
}
