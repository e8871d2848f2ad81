/** A recorded fan-out from code: what it was given, and how wide it was. */

import { textOf } from "../core/message.ts";
import type { RunRecording } from "./recording.ts";

/** As `tree/fan-out.ts` calls its root and the one call of it. */
const NAME = "fan-out";

export function isFanOut({ start, questions }: RunRecording): boolean {
  return start.agent === NAME && questions.length === 0 && start.depth === 0;
}

/** In their order. One that never became a child is known only from the task of the root. */
export function fanOutInputs({ start, children, events }: RunRecording): string[] {
  const lines = textOf(start.task).split("\n").slice(1);
  const refused = events.filter(({ type }) => type === "spawn-refused").length;
  const inputs: string[] = [];
  for (const child of children) {
    const { call, agentId, task } = child.start;
    if (call?.callId === NAME && agentId === child.runId) inputs[call.index] = textOf(task);
  }
  const count = Math.max(inputs.length, Object.keys(inputs).length + refused);
  return Array.from({ length: count }, (_, index) => inputs[index] ?? lines[index] ?? "");
}

/** The most that were alive at once, or asked for beside those. */
export function fanOutLimit({ children, events }: RunRecording): number {
  const changes: [seq: number, change: number][] = children.flatMap(({ start, end }) => [
    [start.seq, 1],
    [end?.seq ?? Number.POSITIVE_INFINITY, -1],
  ]);
  for (const { type, seq } of events) if (type === "spawn-refused") changes.push([seq, 1], [seq, -1]);
  changes.sort(([one], [other]) => one - other);
  let alive = 0;
  let most = 1;
  for (const [, change] of changes) {
    alive += change;
    most = Math.max(most, alive);
  }
  return most;
}
