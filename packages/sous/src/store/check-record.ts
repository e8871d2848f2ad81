/** Checks the numbers of a run from a database: formatters rely on them. */

import { StoreError } from "../core/errors.ts";
import { RECORD_STATUSES, type RunRecord } from "../core/store.ts";
import { LATEST_TIME } from "./event-schema.ts";

/** Ten times what a runtime allows; trees are indented by it. */
const MAX_DEPTH = 100;

/** The record itself. Throws a `StoreError` that names the run and the column. */
export function checkedRecord(record: RunRecord): RunRecord {
  const { usage } = record;
  const times = { started_at: record.startedAt, ended_at: record.endedAt ?? 0 };
  const counts = { turns: record.turns, tool_count: record.toolCount };
  const wrong =
    firstNot(times, (time) => isWithin(time, LATEST_TIME)) ??
    firstNot({ depth: record.depth }, (depth) => Number.isInteger(depth) && isWithin(depth, MAX_DEPTH)) ??
    firstNot(counts, (count) => Number.isInteger(count) && isWithin(count)) ??
    firstNot({ cost_usd: record.costUsd ?? 0, duration_ms: record.durationMs ?? 0 }, isWithin) ??
    (AMOUNTS.every((name) => isWithin(usage[name])) ? undefined : "usage") ??
    (STATUSES.has(record.status) ? undefined : "status");
  if (wrong !== undefined) throw damagedRun(record.id, wrong);
  return record;
}

export function damagedRun(id: string, column: string): StoreError {
  return new StoreError(`Run ${id.slice(0, 100)} is damaged in the store: it has no usable ${column}`);
}

const AMOUNTS = ["inputTokens", "outputTokens", "cachedInputTokens", "cacheWriteTokens", "totalTokens"] as const;

const STATUSES: ReadonlySet<string> = new Set(RECORD_STATUSES);

function firstNot(numbers: Readonly<Record<string, number>>, isRight: (value: number) => boolean): string | undefined {
  return Object.keys(numbers).find((name) => !isRight(numbers[name] ?? 0));
}

/** False for what is not a number at all. */
function isWithin(value: number, most: number = Number.MAX_SAFE_INTEGER): boolean {
  return value >= 0 && value <= most;
}
