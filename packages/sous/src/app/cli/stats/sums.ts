/** The numbers of `sous stats`: sums over all runs, and over those of each agent, model, project and day. */

import { ERROR_TYPES, type ErrorType } from "../../../core/errors.ts";
import { RECORD_STATUSES, type RunRecord, type Store } from "../../../core/store.ts";
import type { RunTally, Tally } from "../../../core/totals.ts";
import { addUsage, noUsage, type Usage } from "../../../core/usage.ts";
import { timestamp } from "../stored/run-json.ts";
import { GROUPINGS } from "../table/stored-entries.ts";

export type Grouping = (typeof GROUPINGS)[number];

export type Sums = {
  /** The number of runs, including those that have not ended. */
  runs: number;
  statuses: Record<RunRecord["status"], number>;
  /** Runs without a usable result, and refused children, by why. */
  errorTypes: Record<ErrorType, number>;
  /** Children that were refused, by why: errors, and no runs. */
  refusals: Record<ErrorType, number>;
  turns: number;
  usage: Usage;
  /** US dollars of the runs whose cost is known. */
  costUsd: number;
  /** Runs whose cost is not known. */
  unpricedRuns: number;
  /** Time at work of the runs that have ended. */
  durationMs: number;
};

/** The name is undefined where it is not known. */
export type Group = { readonly name: string | undefined; readonly sums: Sums };

/** Distinct names of one kind; more are counted together as `OTHER`, so that memory has a bound. */
const MAX_GROUPS = 10_000;
const OTHER = "other";

export class Stats {
  readonly total: Sums = noSums();
  /** Runs that cannot be read: they are in no sum. */
  damaged = 0;
  readonly #groups: Readonly<Record<Grouping, Map<string | undefined, Sums>>> = {
    agent: new Map(),
    model: new Map(),
    project: new Map(),
    day: new Map(),
  };

  get isEmpty(): boolean {
    return this.total.runs + this.damaged + countOf(this.total.refusals) === 0;
  }

  add(tally: Tally): void {
    const { startedAt, project } = tally;
    const sums = [this.total, this.#sumsOf("project", project), this.#sumsOf("day", utcDay(startedAt))];
    if (tally.kind === "refusal") {
      for (const each of sums) addRefusal(each, tally.errorType);
      return;
    }
    sums.push(this.#sumsOf("agent", tally.agent), this.#sumsOf("model", tally.model));
    for (const each of sums) addRun(each, tally);
  }

  addUnended(run: RunRecord, project: string | undefined): void {
    if (run.damage !== undefined) {
      this.damaged += 1;
      return;
    }
    const { agent, model, startedAt } = run;
    const names = { agent, model, project, day: utcDay(startedAt) };
    addRun(this.total, run);
    for (const grouping of GROUPINGS) addRun(this.#sumsOf(grouping, names[grouping]), run);
  }

  /** Days in their order; of the others those first that cost most. */
  groups(by: Grouping): Group[] {
    const groups = [...this.#groups[by]].map(([name, sums]) => ({ name, sums }));
    return groups.sort(by === "day" ? byName : bySpend);
  }

  #sumsOf(grouping: Grouping, name: string | undefined): Sums {
    const groups = this.#groups[grouping];
    const isKnown = groups.size < MAX_GROUPS || groups.has(name);
    const key = isKnown ? name : OTHER;
    const found = groups.get(key) ?? noSums();
    groups.set(key, found);
    return found;
  }
}

type CountedRun = Pick<RunTally, "turns" | "usage" | "costUsd"> & {
  status: RunRecord["status"];
  errorType?: ErrorType | undefined;
  durationMs: number | undefined;
};

function addRun(sums: Sums, run: CountedRun): void {
  sums.runs += 1;
  sums.statuses[run.status] += 1;
  if (run.errorType !== undefined) sums.errorTypes[run.errorType] += 1;
  sums.turns += run.turns;
  addUsage(sums.usage, run.usage);
  if (run.costUsd === null) sums.unpricedRuns += 1;
  else sums.costUsd += run.costUsd;
  sums.durationMs += run.durationMs ?? 0;
}

function addRefusal(sums: Sums, errorType: ErrorType): void {
  sums.refusals[errorType] += 1;
  sums.errorTypes[errorType] += 1;
}

function noSums(): Sums {
  return {
    runs: 0,
    statuses: Object.fromEntries(RECORD_STATUSES.map((status) => [status, 0])) as Sums["statuses"],
    errorTypes: noErrors(),
    refusals: noErrors(),
    turns: 0,
    usage: noUsage(),
    costUsd: 0,
    unpricedRuns: 0,
    durationMs: 0,
  };
}

function noErrors(): Record<ErrorType, number> {
  return Object.fromEntries(ERROR_TYPES.map((type) => [type, 0])) as Record<ErrorType, number>;
}

export function countOf(errorTypes: Readonly<Record<ErrorType, number>>): number {
  return Object.values(errorTypes).reduce((sum, count) => sum + count, 0);
}

/** `2026-11-15`; undefined when a damaged database holds a number that is not a date. */
function utcDay(time: number): string | undefined {
  return timestamp(time)?.split("T")[0];
}

function bySpend(one: Group, other: Group): number {
  const [a, b] = [one.sums, other.sums];
  return b.costUsd - a.costUsd || b.usage.totalTokens - a.usage.totalTokens || b.runs - a.runs || byName(one, other);
}

/** The group without a name comes last. */
function byName({ name: one }: Group, { name: other }: Group): number {
  if (one === other) return 0;
  if (one === undefined) return 1;
  return other === undefined || one < other ? -1 : 1;
}

const PAGE = 2000;

/** Reads a page at a time: a million runs take hardly more memory than ten thousand. */
export async function readStats(store: Pick<Store, "totals" | "run">, since: number | undefined): Promise<Stats> {
  const stats = new Stats();
  for (let after: string | undefined; ; ) {
    const { tallies, damaged = 0, unended, mark, isComplete } = await store.totals({ after, since, limit: PAGE });
    for (const tally of tallies) stats.add(tally);
    stats.damaged += damaged;
    if (isComplete) {
      await addUnended(stats, unended, store);
      return stats;
    }
    after = mark;
  }
}

/** Only roots know their folder, and the root of a run may have started before the time that is asked about. */
async function addUnended(stats: Stats, runs: readonly RunRecord[], store: Pick<Store, "run">): Promise<void> {
  const folders = new Map<string, string | undefined>();
  for (const run of runs) if (run.parentId === null) folders.set(run.rootId, run.cwd);
  for (const run of runs) {
    if (!folders.has(run.rootId)) folders.set(run.rootId, (await store.run(run.rootId))?.cwd);
    stats.addUnended(run, folders.get(run.rootId));
  }
}
