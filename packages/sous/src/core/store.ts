/**
 * The ports of a store and of a journal, and one run as a row: a pure fold over its events. A tree has one journal, and one more
 * for each run that was placed. A journal has the id of the run that it begins with, and one writer at a time.
 */

import { checkTime, checkWhole, checkWord, StoreError } from "./errors.ts";
import type { EventOf, StoredEvent } from "./event.ts";
import { textOf } from "./message.ts";
import type { RunStatus } from "./outcome.ts";
import type { Totals, TotalsQuery } from "./totals.ts";
import { addCost, addUsage, noUsage, type Usage } from "./usage.ts";
import { isOutOfTurns, RUN_STATUSES, UNENDED_STATUSES } from "./words/outcomes.ts";

/** One run as a row, folded from its events. */
export type RunRecord = {
  id: string;
  agentId: string;
  parentId: string | null;
  rootId: string;
  /** The journal that its events are in: that of its root, or of the placed run that it is, or is below. */
  journalId: string;
  path: string;
  agent: string;
  label: string;
  depth: number;
  /**
   * `running` until its `run-end`. `queued` while it was placed and no worker has taken it. When no process works on its journal
   * any more, `waiting` if a question in it has no answer, else `interrupted`. Questions of external agents do not count for
   * `waiting`: they ask again by themselves.
   */
  status: RunStatus | "queued" | "running" | "interrupted" | "waiting";
  stopReason: string | undefined;
  /** True when it ended because it was out of turns. */
  maxTurnsReached: boolean;
  /** Milliseconds since 1970. */
  startedAt: number;
  endedAt: number | undefined;
  /** The time at work, which a clock that is set does not change; undefined before the end. */
  durationMs: number | undefined;
  turns: number;
  toolCount: number;
  usage: Usage;
  costUsd: number | null;
  model: string;
  task: string;
  summaryPrompt: string | undefined;
  allowedTools: readonly string[];
  /** Only of the first run of a journal: the folder its tree was made in. Undefined when it is not known. */
  cwd: string | undefined;
  /** Only of the first run of a journal: why not everything that happened in it was kept. */
  lost?: string | undefined;
  /**
   * The reason when it is damaged: its row, or an event that it is counted from, cannot be read. A value that cannot be read
   * claims nothing (no amounts, an unknown cost, `interrupted`), and amounts may be too low.
   */
  damage?: string | undefined;
};

/** A row or an event of one run cannot be read; the other runs of the store can. */
export class DamageError extends StoreError {}

/** Every status that a stored run can have. */
export const RECORD_STATUSES: readonly RunRecord["status"][] = [...UNENDED_STATUSES, ...RUN_STATUSES];

/** The runs to list. */
export type RunQuery = {
  limit?: number | undefined;
  offset?: number | undefined;
  status?: RunRecord["status"] | undefined;
  /** Only runs that started at or after this time. */
  since?: number | undefined;
  /** Only roots. */
  rootsOnly?: boolean | undefined;
  /** Only runs whose id begins with this, letter for letter. */
  idPrefix?: string | undefined;
  /** Only runs of this tree. */
  rootId?: string | undefined;
  /** Only roots of trees that were made in this folder, letter for letter. */
  cwd?: string | undefined;
};

/** Throws a `UserError` for a query that no store can answer: to some databases a negative limit means none. */
export function checkRunQuery({ limit, offset, status, since }: RunQuery): void {
  if (limit !== undefined && limit !== Number.POSITIVE_INFINITY) checkWhole("limit", limit, 0);
  if (offset !== undefined) checkWhole("offset", offset, 0);
  if (status !== undefined) checkWord("status", status, RECORD_STATUSES);
  if (since !== undefined) checkTime("since", since);
}

/** The events of a journal to read; all of them when unset. */
export type ReadOptions = {
  /** Only events with a greater number. */
  after?: number | undefined;
  runId?: string | undefined;
  /** The most events to read, the earliest first: a reader that is far behind need not hold everything at once. */
  limit?: number | undefined;
  /**
   * Hears of each event that cannot be read, which is then left out; without it the first one throws. Only to look at a damaged
   * run: what is left out was done.
   */
  onDamage?: ((error: StoreError) => void) | undefined;
};

/** The right to write a journal. Only the holder of the highest number may: a process that was thought dead and wakes up is refused. */
export type Claim = { readonly fence: number };

/** The fence of the process that began a journal. */
export const FIRST_FENCE = 1;
/** The fence of a journal that was imported or placed, and that no process has claimed. */
export const NO_OWNER = 0;

/** The place where events are stored and read back. `storeContract` of `sous/testing` checks one of your own. */
export type Store = AsyncDisposable & {
  /** True when `append` keeps the events before it returns: the journal then does not batch. */
  readonly isImmediate: boolean;
  /**
   * Keeps the events of one journal, in order, all or none. Returning (or resolving) is the promise that they are kept;
   * a throw says that none of them is. `fence` is the writer's claim: the first events of a journal claim it for
   * `FIRST_FENCE` (the default), or with `NO_OWNER` leave it without an owner. Any other number than that of the latest
   * claim throws `StaleOwner`. The claim lasts until the `run-end` of its first run, or of a later run of the root, and while
   * its holder shows that it is alive.
   */
  append(journalId: string, events: readonly StoredEvent[], fence?: number): void | Promise<void>;
  /** Takes over a journal whose owner is gone. Throws a `UserError` when there is none, or a process works on it. */
  claim(journalId: string): Promise<Claim>;
  /** Gives a claim back before the journal has ended. A number that is no longer the latest changes nothing. */
  release(journalId: string, fence: number): Promise<void>;
  /** Notes on its first run that not everything in a journal was kept: it can be looked at and not be resumed. */
  markLost(journalId: string, reason: string): Promise<void>;
  /**
   * The events of a journal in the order of their numbers. Throws a `StoreError` that names the first one that cannot be read.
   * `readTree` of `sous/replay` joins the journals of a tree.
   */
  read(journalId: string, options?: ReadOptions): Promise<readonly StoredEvent[]>;
  /** This and the other questions about runs answer for damaged ones too: their records say so (`damage`). */
  run(runId: string): Promise<RunRecord | undefined>;
  /** Newest first. */
  list(query?: RunQuery): Promise<RunRecord[]>;
  children(runId: string): Promise<RunRecord[]>;
  /** A root and everything below it, in all journals of the tree, parents before children. */
  tree(rootId: string): Promise<RunRecord[]>;
  /**
   * Spending and endings of runs: a line for every `run-end` and every `spawn-refused`, added together with the event and
   * never removed. Journals that were imported (`NO_OWNER`) are not counted before a process claims them.
   */
  totals(query?: TotalsQuery): Promise<Totals>;
  /**
   * Deletes a tree with all its journals. Its lines in the totals stay, and a run that had not ended gets one as `interrupted`. False when there is no
   * such tree. Throws a `UserError` when a process works on it.
   */
  delete(rootId: string): Promise<boolean>;
  /**
   * Deletes every tree whose root started before this time, as `delete` does, except those at work. Returns how many there were. A
   * time that is not a finite number is a `UserError`: to Postgres `NaN` is later than every time.
   */
  prune(before: number): Promise<number>;
};

/** `events` are in order: the first index behind the number `seq`. */
export function indexAfter(events: readonly { readonly seq: number }[], seq: number): number {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((events[middle]?.seq ?? 0) > seq) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The damage when these events of a tree, in order, do not follow the number `after` without a gap. */
export function missingEvent(
  rootId: string,
  events: readonly { readonly seq: number }[],
  after = 0,
): DamageError | undefined {
  const index = events.findIndex(({ seq }, at) => seq !== after + at + 1);
  return index === -1
    ? undefined
    : new DamageError(`Event ${after + index + 1} of tree ${rootId} is missing in the store`);
}

/** Folds the events of one run, in order. Undefined when they do not begin with its `run-start`. */
export function foldRunRecord(
  journalId: string,
  events: Iterable<StoredEvent>,
  rootId?: string,
): RunRecord | undefined {
  let record: RunRecord | undefined;
  for (const event of events) {
    if (record !== undefined) addToRunRecord(record, event);
    else if (event.type === "run-start") record = beginRunRecord(journalId, event, rootId);
    else return undefined;
  }
  return record;
}

/** `rootId` is that of the tree, where it is not known from the start itself: of a run below one that was placed. */
export function beginRunRecord(
  journalId: string,
  start: EventOf<"run-start">,
  rootId: string = start.placed?.rootId ?? journalId,
): RunRecord {
  return {
    id: start.runId,
    agentId: start.agentId,
    parentId: start.parentId,
    rootId,
    journalId,
    path: start.path,
    agent: start.agent,
    label: start.label,
    depth: start.depth,
    status: "running",
    stopReason: undefined,
    maxTurnsReached: false,
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
      Object.assign(record, endOfRecord(event));
      break;
    default:
  }
}

/** The fields that a `run-end` settles. The run's own sums count: they also hold what a call took that never came to an answer. */
export function endOfRecord(end: EventOf<"run-end">) {
  const { status, stopReason, time, durationMs, turns, toolCount, usage, costUsd } = end;
  return {
    status,
    stopReason,
    maxTurnsReached: isOutOfTurns(end),
    endedAt: time,
    durationMs,
    turns,
    toolCount,
    usage: { ...usage },
    costUsd,
  } satisfies Partial<RunRecord>;
}

/** The turns, calls, usage and cost of some runs together. */
export function sumOfRuns(runs: Iterable<RunSums>): RunSums {
  const sums: RunSums = { turns: 0, toolCount: 0, usage: noUsage(), costUsd: 0 };
  for (const { turns, toolCount, usage, costUsd } of runs) {
    sums.turns += turns;
    sums.toolCount += toolCount;
    addUsage(sums.usage, usage);
    sums.costUsd = addCost(sums.costUsd, costUsd);
  }
  return sums;
}

type RunSums = Pick<RunRecord, "turns" | "toolCount" | "usage" | "costUsd">;

/** True for the runs that a journal begins and ends with: the one that was placed, or those of the root. */
export function isFirstRun(
  journalId: string,
  { runId, parentId }: { runId: string; parentId: string | null },
): boolean {
  return runId === journalId || parentId === null;
}
