/** The store of a process that keeps nothing: one array of events per journal, records folded when asked for. */

import { addToQuestions, toQuestion } from "../../core/approval.ts";
import type { PlacingStore } from "../../core/engine.ts";
import { checkTime, StaleOwner, StoreError, UserError } from "../../core/errors.ts";
import type { EventOf, StoredEvent } from "../../core/event.ts";
import type { SharedBudget, SharedBudgetOptions, SharedBudgets, SharedLimits } from "../../core/shared-budget.ts";
import {
  type Claim,
  checkRunQuery,
  FIRST_FENCE,
  indexAfter,
  isFirstRun,
  NO_OWNER,
  type ReadOptions,
  type RunQuery,
  type RunRecord,
  type Store,
} from "../../core/store.ts";
import { interruptedTally, refusalTally, runTally, type Totals, type TotalsQuery } from "../../core/totals.ts";
import { runIdOf, toBrief, toStoredEvent } from "./brief-event.ts";
import { MemoryBudgets } from "./memory-budgets.ts";
import { foldRows, isQueued, type MemoryJournal, type MemoryRow, statusOf } from "./memory-journals.ts";
import { MemoryPlacing } from "./memory-placing.ts";
import { MemoryTallies } from "./memory-tallies.ts";
import { checkAbove, rootElsewhere, runAbove } from "./placed-start.ts";
import { openSharedBudget } from "./shared-budget.ts";

/** Stores everything as long as the store itself is referenced. Its shared budgets are those of this process. */
export function openMemoryStore(): Store & SharedBudgets & PlacingStore {
  return new MemoryStore();
}

class MemoryStore implements Store, SharedBudgets, PlacingStore {
  readonly isImmediate = true;
  readonly placing: MemoryPlacing;
  readonly #budgets = new MemoryBudgets();
  /** The process that draws here lives as long as the store does, so nothing ever lapses. */
  readonly budgetRows = this.#budgets.rowsFor("this process");
  readonly #journals = new Map<string, MemoryJournal>();
  /** The rows by run id, in the order they started. */
  readonly #rows = new Map<string, MemoryRow>();
  readonly #tallies = new MemoryTallies();

  constructor() {
    const append = (journalId: string, start: StoredEvent): void => this.append(journalId, [start], NO_OWNER);
    this.placing = new MemoryPlacing({ journals: this.#journals, rows: this.#rows, append });
  }

  append(journalId: string, events: readonly StoredEvent[], fence = FIRST_FENCE): void {
    const [first] = events;
    if (first === undefined) return;
    const journal = this.#journals.get(journalId) ?? this.#begin(journalId, first, fence);
    if (journal.fence !== fence)
      throw new StaleOwner(`Tree ${journalId} was taken over: claim ${fence} is older than claim ${journal.fence}`);
    checkNumbers(journal, events);
    this.#journals.set(journalId, journal);
    if (fence !== NO_OWNER) journal.isOwned = true;
    for (const event of events) {
      const row = this.#rows.get(event.runId);
      if (row !== undefined && fence !== NO_OWNER) this.#tally(row, event);
      const index = journal.events.push(row === undefined ? event : toBrief(event, row.start, journal.epoch)) - 1;
      addToQuestions(journal.questions, event, (asked) => toQuestion(asked, row?.start.model ?? ""));
      if (event.type === "run-start") {
        this.#rows.set(event.runId, { journal, start: event, startIndex: index, endIndex: undefined });
      } else if (event.type === "run-end") {
        if (row !== undefined) row.endIndex = index;
        if (isFirstRun(journalId, event)) journal.isOwned = false;
      }
      if (journal.placed !== undefined) this.placing.note(journal, journal.placed, event);
    }
  }

  #begin(journalId: string, first: StoredEvent, fence: number): MemoryJournal {
    if (fence !== FIRST_FENCE && fence !== NO_OWNER)
      throw new StaleOwner(`Tree ${journalId} is no longer in the store`);
    const above = first.type === "run-start" ? runAbove(first) : undefined;
    if (first.type === "run-start" && above !== undefined) checkAbove(first, this.#rows.get(above)?.journal.rootId);
    const rootId = rootElsewhere(journalId, first) ?? journalId;
    const nothing = { isOwned: false, wasClaimed: false, lost: undefined, placed: undefined };
    return { journalId, rootId, events: [], epoch: first.time, fence, questions: new Map(), ...nothing };
  }

  #tally({ journal, start, endIndex }: MemoryRow, event: StoredEvent): void {
    if (event.type === "run-end" && endIndex === undefined)
      this.#tallies.add(runTally({ ...start, startedAt: start.time }, event, this.#projectOf(journal)));
    if (event.type === "spawn-refused") this.#tallies.add(refusalTally(event, this.#projectOf(journal)));
  }

  #projectOf({ journalId, rootId }: MemoryJournal): string | undefined {
    return this.#rows.get(journalId)?.start.cwd ?? this.#rows.get(rootId)?.start.cwd;
  }

  async claim(journalId: string): Promise<Claim> {
    const journal = this.#journals.get(journalId);
    if (journal === undefined) throw new UserError(`No run with the id ${journalId}`);
    checkFree(journal);
    return this.placing.claim(journal);
  }

  async release(journalId: string, fence: number): Promise<void> {
    const journal = this.#journals.get(journalId);
    if (journal?.fence !== fence) return;
    journal.isOwned = false;
    this.placing.noteFree(journal);
  }

  async markLost(journalId: string, reason: string): Promise<void> {
    const journal = this.#journals.get(journalId);
    if (journal !== undefined) journal.lost ??= reason;
  }

  async delete(rootId: string): Promise<boolean> {
    const journals = this.#journalsOf(rootId);
    for (const journal of journals) checkFree(journal);
    this.#delete(journals);
    return journals.length > 0;
  }

  async prune(before: number): Promise<number> {
    checkTime("before", before);
    let pruned = 0;
    for (const { journalId, rootId, epoch } of [...this.#journals.values()]) {
      if (journalId !== rootId || epoch >= before) continue;
      const journals = this.#journalsOf(rootId);
      if (journals.some(({ isOwned }) => isOwned)) continue;
      this.#delete(journals);
      pruned += 1;
    }
    return pruned;
  }

  /** The journal of the root, and those that were placed; none when there is no such tree. */
  #journalsOf(rootId: string): MemoryJournal[] {
    if (this.#journals.get(rootId)?.rootId !== rootId) return [];
    return [...this.#journals.values().filter((journal) => journal.rootId === rootId)];
  }

  #delete(journals: readonly MemoryJournal[]): void {
    const deleted = new Set(journals);
    for (const [journal, rows] of Map.groupBy(this.#rows.values(), (row) => row.journal)) {
      if (!deleted.has(journal)) continue;
      const unended = foldRows(rows.filter(isCountedUnended));
      for (const run of unended) this.#tallies.add(interruptedTally(run, this.#projectOf(journal)));
    }
    for (const [runId, { journal }] of this.#rows) if (deleted.has(journal)) this.#rows.delete(runId);
    for (const { journalId } of journals) this.#journals.delete(journalId);
    for (const { rootId } of journals) this.#budgets.deleteTree(rootId);
    this.placing.noteGone(journals);
  }

  async read(journalId: string, options: ReadOptions = {}): Promise<readonly StoredEvent[]> {
    const { events, epoch } = this.#journals.get(journalId) ?? { events: [], epoch: 0 };
    const first = options.after === undefined ? 0 : indexAfter(events, options.after);
    const limit = options.limit ?? events.length;
    if (options.runId === undefined)
      return events.slice(first, first + limit).map((event) => toStoredEvent(event, epoch));
    const found: StoredEvent[] = [];
    // A conversation that was continued often is read run by run, so each must cost no more than itself.
    const { startIndex = 0, endIndex = events.length - 1 } = this.#rows.get(options.runId) ?? {};
    for (let index = Math.max(first, startIndex); index <= endIndex && found.length < limit; index++) {
      const event = events[index];
      if (event !== undefined && runIdOf(event) === options.runId) found.push(toStoredEvent(event, epoch));
    }
    return found;
  }

  async run(runId: string): Promise<RunRecord | undefined> {
    const row = this.#rows.get(runId);
    return row === undefined ? undefined : foldRows([row])[0];
  }

  async list(query: RunQuery = {}): Promise<RunRecord[]> {
    checkRunQuery(query);
    const { since = 0, status, rootsOnly = false, idPrefix = "", rootId, cwd } = query;
    const { offset = 0, limit = this.#rows.size } = query;
    const matching: MemoryRow[] = [];
    for (const row of this.#rows.values()) {
      const { start } = row;
      if (start.time < since || (rootsOnly && start.parentId !== null)) continue;
      if (!start.runId.startsWith(idPrefix) || !isIn(cwd, start)) continue;
      if (rootId !== undefined && row.journal.rootId !== rootId) continue;
      if (status === undefined || status === statusOf(row)) matching.push(row);
    }
    return foldRows(matching.sort(byNewest).slice(offset, offset + limit));
  }

  async children(runId: string): Promise<RunRecord[]> {
    const isInItsTree = this.#isIn(this.#rows.get(runId)?.journal.rootId ?? "");
    return this.#fold((row) => isInItsTree(row) && row.start.parentId === runId);
  }

  async tree(rootId: string): Promise<RunRecord[]> {
    const rows = this.#rows.values().filter(this.#isIn(rootId));
    // Journal by journal: the one of the root comes first, and each comes behind the one of the run above it.
    return foldRows([...Map.groupBy(rows, ({ journal }) => journal).values()].flat());
  }

  /** Asked for every row of the store: most are in other trees, and the journal of their root alone says so. */
  #isIn(rootId: string): (row: MemoryRow) => boolean {
    const root = this.#journals.get(rootId);
    return ({ journal }) => {
      if (journal === root) return journal.rootId === rootId;
      return journal.journalId !== journal.rootId && journal.rootId === rootId;
    };
  }

  async totals(query: TotalsQuery = {}): Promise<Totals> {
    const read = this.#tallies.read(query);
    const { since = 0 } = query;
    return { ...read, unended: read.isComplete ? this.#unended(({ start }) => start.time >= since) : [] };
  }

  #unended(isWanted: (row: MemoryRow) => boolean): RunRecord[] {
    return this.#fold((row) => isCountedUnended(row) && isWanted(row));
  }

  #fold(isWanted: (row: MemoryRow) => boolean): RunRecord[] {
    return foldRows(this.#rows.values().filter(isWanted).toArray());
  }

  sharedBudget(name: string, limits?: SharedLimits, options?: SharedBudgetOptions): Promise<SharedBudget> {
    return openSharedBudget(this.budgetRows, name, limits, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.placing[Symbol.dispose]();
  }
}

/** Two writers of one journal, or one that repeats itself, would corrupt the order of events. */
function checkNumbers({ journalId, events: kept }: MemoryJournal, events: readonly StoredEvent[]): void {
  let last = kept.at(-1)?.seq ?? 0;
  for (const event of events) {
    if (event.seq <= last)
      throw new StoreError(`Tree ${journalId} already has event ${event.seq}; its last is ${last}`);
    last = event.seq;
  }
}

function checkFree({ journalId, isOwned }: MemoryJournal): void {
  if (isOwned) throw new UserError(`Run ${journalId} is at work in this process`);
}

/** Runs of journals that were imported are not counted before a process continues them. */
function isCountedUnended({ journal, endIndex }: MemoryRow): boolean {
  return endIndex === undefined && (journal.fence !== NO_OWNER || isQueued(journal));
}

/** Only of a root: a placed run may say a folder, too. */
function isIn(cwd: string | undefined, start: EventOf<"run-start">): boolean {
  return cwd === undefined || (start.cwd === cwd && start.parentId === null);
}

function byNewest({ start: first }: MemoryRow, { start: second }: MemoryRow): number {
  return second.time - first.time || (second.runId < first.runId ? -1 : 1);
}
