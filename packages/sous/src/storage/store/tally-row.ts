/** One line of the totals as a row of the table `tallies`: which columns there are, and what is made of a row that is read. */

import { ERROR_TYPES, type ErrorType } from "../../core/errors.ts";
import { DamageError } from "../../core/store.ts";
import type { RunTally, Tally, Totals } from "../../core/totals.ts";
import { RUN_STATUSES } from "../../core/words/outcomes.ts";
import { fromColumn } from "./event-row.ts";
import { LATEST_TIME } from "./event-schema.ts";
import { MAX_RUN_DEPTH, USAGE_COLUMNS } from "./run-columns.ts";

/** Columns without a limit on their length. */
export const TALLY_TEXTS = ["status", "error_type", "agent", "model", "project"] as const;
/** The amounts of a run. */
export const TALLY_SUMS = ["duration_ms", "turns", ...Object.values(USAGE_COLUMNS), "cost_usd"] as const;
export const TALLY_NUMBERS = ["started_at", "depth", ...TALLY_SUMS] as const;

type Row = Readonly<Record<string, unknown>>;

/** The lines of these rows, and the number of those that cannot be read: one of them hides no other. */
export function readTallyRows(rows: readonly Row[]): Pick<Totals, "tallies"> & { readonly damaged: number } {
  const tallies: Tally[] = [];
  for (const row of rows) {
    try {
      tallies.push(toTally(row));
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
    }
  }
  return { tallies, damaged: rows.length - tallies.length };
}

/** A row without a status is a refused child. A row is not trusted: this returns a tally or throws a `DamageError`. */
function toTally(row: Row): Tally {
  const depth = whole(row, "depth", MAX_RUN_DEPTH + 1);
  const startedAt = amount(row, "started_at", LATEST_TIME);
  const project = row.project === null ? undefined : words(row, "project");
  if (row.status === null) return { kind: "refusal", depth, errorType: errorTypeOf(row), startedAt, project };
  return {
    kind: "run",
    agent: words(row, "agent"),
    model: words(row, "model"),
    depth,
    startedAt,
    status: statusOf(row),
    errorType: row.error_type === null ? undefined : errorTypeOf(row),
    turns: whole(row, "turns"),
    usage: {
      inputTokens: amount(row, "input_tokens"),
      outputTokens: amount(row, "output_tokens"),
      cachedInputTokens: amount(row, "cached_input_tokens"),
      cacheWriteTokens: amount(row, "cache_write_tokens"),
      totalTokens: amount(row, "total_tokens"),
      estimated: Boolean(row.is_estimated),
    },
    costUsd: row.cost_usd === null ? null : amount(row, "cost_usd"),
    durationMs: amount(row, "duration_ms"),
    project,
  };
}

function words(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== "string") throw damaged(row, column);
  return fromColumn(value);
}

function amount(row: Row, column: string, most: number = Number.MAX_SAFE_INTEGER): number {
  const value = row[column];
  if (typeof value !== "number" || !(value >= 0 && value <= most)) throw damaged(row, column);
  return value;
}

function whole(row: Row, column: string, most?: number): number {
  const value = amount(row, column, most);
  if (!Number.isInteger(value)) throw damaged(row, column);
  return value;
}

function statusOf(row: Row): RunTally["status"] {
  const found = STATUSES.find((status) => status === row.status);
  if (found === undefined) throw damaged(row, "status");
  return found;
}

const STATUSES: readonly RunTally["status"][] = [...RUN_STATUSES, "interrupted"];

function errorTypeOf(row: Row): ErrorType {
  const found = ERROR_TYPES.find((type) => type === row.error_type);
  if (found === undefined) throw damaged(row, "error_type");
  return found;
}

function damaged({ position }: Row, column: string): DamageError {
  return new DamageError(`Line ${position} of the totals is damaged in the store: it has no usable ${column}`);
}
