/** Spending and endings of runs, counted over all trees of a store: the lines that totals are made of. */

import { checkWhole, type ErrorType, UserError } from "./errors.ts";
import type { EventOf } from "./event.ts";
import { errorTypeOf } from "./outcome.ts";
import type { RunRecord } from "./store.ts";

/** One run that is over. `interrupted` when its tree was deleted before the run had ended. */
export type RunTally = Pick<RunRecord, "agent" | "model" | "depth" | "startedAt" | "turns" | "usage" | "costUsd"> & {
  kind: "run";
  status: Exclude<RunRecord["status"], "queued" | "running" | "waiting">;
  /** The kind of its failure; undefined when it did not fail. */
  errorType: ErrorType | undefined;
  /** 0 for a run that is `interrupted`: when it stopped is unknown. */
  durationMs: number;
  /** The folder its tree was made in. */
  project: string | undefined;
};

/** A child that was refused before it could run: an error, and no run. */
export type RefusalTally = {
  kind: "refusal";
  /** The one it would have had. */
  depth: number;
  errorType: ErrorType;
  /** The time when it was refused. */
  startedAt: number;
  project: string | undefined;
};

/** One line of the totals. It stays when its tree is deleted: what was spent stays spent. */
export type Tally = RunTally | RefusalTally;

/** The lines to read. */
export type TotalsQuery = {
  /** The mark of an earlier answer: only lines that were added since. */
  after?: string | undefined;
  /** Only what started at or after this time. */
  since?: number | undefined;
  /** The most lines; 10,000 when unset. */
  limit?: number | undefined;
};

const DEFAULT_TALLIES = 10_000;
const MAX_TALLIES = 1_000_000;

/** An answer of a store about its totals. */
export type Totals = {
  /** The lines in the order in which they were added. Trees that were imported have none: they were paid for elsewhere. */
  readonly tallies: readonly Tally[];
  /**
   * Runs that have not ended, as they were when the last of these lines was added; only in an answer that `isComplete`. Those of
   * an imported tree are among them once a process has claimed it.
   */
  readonly unended: readonly RunRecord[];
  /** Names this position: given as `after`, it leads to what follows, and to nothing twice. */
  readonly mark: string;
  /** The number of lines between these that cannot be read, and are left out; 0 when unset. */
  readonly damaged?: number | undefined;
  /** False when there are more lines: ask again. */
  readonly isComplete: boolean;
};

/** The line of a run that has ended. `project` is the folder that its tree was made in. */
export function runTally(
  run: Pick<RunRecord, "agent" | "model" | "depth" | "startedAt">,
  end: EventOf<"run-end">,
  project: string | undefined,
): RunTally {
  const { agent, model, depth, startedAt } = run;
  const { status, turns, usage, costUsd, durationMs } = end;
  const sums = usableSums({ turns, usage, costUsd, durationMs });
  return { kind: "run", agent, model, depth, startedAt, status, errorType: errorTypeOf(end), ...sums, project };
}

/** The line of a run that is deleted before it has ended. */
export function interruptedTally(run: RunRecord, project: string | undefined): RunTally {
  const { agent, model, depth, startedAt, turns, usage, costUsd } = run;
  const sums = usableSums({ turns, usage, costUsd, durationMs: 0 });
  return { kind: "run", agent, model, depth, startedAt, status: "interrupted", errorType: undefined, ...sums, project };
}

/** The amounts of a line. */
export type TallySums = Pick<RunTally, "turns" | "usage" | "costUsd" | "durationMs">;

/**
 * A model of a user may have told anything, and a line stays for ever: what is not an amount counts as none, and a cost that is not
 * one is not known. Stores in databases do the same.
 */
export function usableSums({ turns, usage, costUsd, durationMs }: TallySums): TallySums {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, totalTokens, estimated } = usage;
  const isCost = costUsd !== null && costUsd >= 0 && costUsd <= Number.MAX_SAFE_INTEGER;
  return {
    turns: Math.trunc(amount(turns)),
    usage: {
      inputTokens: amount(inputTokens),
      outputTokens: amount(outputTokens),
      cachedInputTokens: amount(cachedInputTokens),
      cacheWriteTokens: amount(cacheWriteTokens),
      totalTokens: amount(totalTokens),
      estimated,
    },
    costUsd: isCost ? costUsd : null,
    durationMs: amount(durationMs),
  };
}

function amount(value: number): number {
  return value > 0 && Number.isFinite(value) ? Math.min(value, Number.MAX_SAFE_INTEGER) : 0;
}

/** The line of a child that was refused. */
export function refusalTally(refused: EventOf<"spawn-refused">, project: string | undefined): RefusalTally {
  const { depth, errorType, time } = refused;
  return { kind: "refusal", depth: depth + 1, errorType, startedAt: time, project };
}

/** The query with what it leaves out. Throws a `UserError` when it cannot be answered. */
export function checkTotalsQuery(query: TotalsQuery): { after: string | undefined; since: number; limit: number } {
  const { after, since = Number.NEGATIVE_INFINITY, limit = DEFAULT_TALLIES } = query;
  checkWhole("limit", limit, 1, MAX_TALLIES);
  return { after, since, limit };
}

/** The error of a store that is asked for what follows a mark it did not give. */
export function notAMark(mark: string): UserError {
  return new UserError(
    `${JSON.stringify(mark.slice(0, 100))} is not a mark of this store: read its totals from the start`,
  );
}
