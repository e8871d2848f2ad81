/** A parent while it waits for a child: it holds no slot, so that the child can have one. */

import type { RunSlot } from "../../core/limits.ts";
import type { Run } from "../../core/run.ts";
import { onDispose } from "../../core/scope.ts";
import { wakeUp } from "../budget/run-slots.ts";
import type { AgentBook } from "../subagents/agent-book.ts";
import { childGone } from "../subagents/background-children.ts";
import { stopRun } from "../subagents/child-control.ts";

/** A parent that waits for a child gives its slot back before the child asks for one. */
export function restParent(parent: Run, label: string): RunSlot | undefined {
  const { slot } = parent;
  slot?.rest(); // guard: parent-gives-its-slot-back
  parent.openChildren += 1;
  parent.waitingFor = `its child ${label}`;
  return slot;
}

export async function wakeParent(parent: Run, slot: RunSlot | undefined, callId: string | undefined): Promise<void> {
  childGone(parent);
  if (slot !== undefined) await wakeUp(slot, parent.scope, parent.holding, callId);
}

/** Stops the child when the signal of its call aborts. */
export function stopWith(book: AgentBook, run: Run, signal: AbortSignal): Disposable {
  const stop = () => stopRun(run, "stop", book, run.call === undefined ? {} : { callId: run.call.callId });
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  return onDispose(() => signal.removeEventListener("abort", stop));
}
