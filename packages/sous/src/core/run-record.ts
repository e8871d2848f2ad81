/** One run as a row: a pure fold over its events. */

import type { EventOf, StoredEvent } from "./event.ts";
import { textOf } from "./message.ts";
import type { RunRecord } from "./store.ts";
import { addCost, addUsage, noUsage } from "./usage.ts";

/** Folds the events of one run, in order. Undefined when they do not begin with its `run-start`. */
export function foldRunRecord(rootId: string, events: Iterable<StoredEvent>): RunRecord | undefined {
  let record: RunRecord | undefined;
  for (const event of events) {
    if (record !== undefined) addToRunRecord(record, event);
    else if (event.type === "run-start") record = beginRunRecord(rootId, event);
    else return undefined;
  }
  return record;
}

export function beginRunRecord(rootId: string, start: EventOf<"run-start">): RunRecord {
  return {
    id: start.runId,
    agentId: start.agentId,
    parentId: start.parentId,
    rootId,
    path: start.path,
    agent: start.agent,
    label: start.label,
    depth: start.depth,
    status: "running",
    stopReason: undefined,
    startedAt: start.time,
    endedAt: undefined,
    durationMs: undefined,
    turns: 0,
    toolCount: 0,
    usage: noUsage(),
    costUsd: 0,
    model: start.model,
    task: textOf(start.task),
    summaryPrompt: start.summaryPrompt,
    allowedTools: start.rights.use,
    cwd: start.cwd,
  };
}

/** Adds one later event of the same run to its record, in place. */
export function addToRunRecord(record: RunRecord, event: StoredEvent): void {
  switch (event.type) {
    case "message-end":
      record.turns += 1;
      addUsage(record.usage, event.usage);
      record.costUsd = addCost(record.costUsd, event.costUsd);
      break;
    case "retry":
      addUsage(record.usage, event.spent);
      record.costUsd = addCost(record.costUsd, event.costUsd);
      break;
    case "tool-call-start":
      record.toolCount += 1;
      break;
    case "run-end":
      // The run's own sums: they also hold what a call took that never came to an answer.
      record.status = event.status;
      record.stopReason = event.stopReason;
      record.endedAt = event.time;
      record.durationMs = event.durationMs;
      record.turns = event.turns;
      record.toolCount = event.toolCount;
      record.usage = { ...event.usage };
      record.costUsd = event.costUsd;
      break;
    case "run-start":
    case "turn-start":
    case "tool-call-end":
    case "approval-request":
    case "approval-end":
    case "budget-warning":
    case "prune":
    case "truncation":
    case "spawn-refused":
    case "stalled":
    case "cancel":
    case "steer":
    case "notice":
    case "report":
    case "resume":
      break;
    default:
      event satisfies never;
  }
}
