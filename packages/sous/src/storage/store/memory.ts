/** The store of a process that keeps nothing: one array of events per tree, records folded when asked for. */

import { addToQuestions, type OpenQuestions, toQuestion } from "../../core/approval.ts";
import { checkTime, StaleOwner, StoreError, UserError } from "../../core/errors.ts";
import type { EventOf, StoredEvent } from "../../core/event.ts";
import type { SharedBudget, SharedBudgetOptions, SharedBudgets, SharedLimits } from "../../core/shared-budget.ts";
import {
  addToRunRecord,
  beginRunRecord,
  type Claim,
  checkRunQuery,
  FIRST_FENCE,
  indexAfter,
  NO_OWNER,
  type ReadOptions,
  type RunQuery,
  type RunRecord,
  type Store,
} from "../../core/store.ts";
import { interruptedTally, refusalTally, runTally, type Totals, type TotalsQuery } from "../../core/totals.ts";
import { type KeptEvent, runIdOf, toBrief, toStoredEvent } from "./brief-event.ts";
import { MemoryBudgets } from "./memory-budgets.ts";
import { MemoryTallies } from "./memory-tallies.ts";
import { openSharedBudget } from "./shared-budget.ts";

/** Stores everything as long as the store itself is referenced. Its shared budgets are those of this process. */
export function openMemoryStore(): Store & SharedBudgets {
  return new MemoryStore();
}

type Tree = {
  readonly rootId: string;
  readonly events: KeptEvent[];
  /** The time of the first of them. */
  readonly epoch: number;
  fence: number;
  /** True from the first event of its owner to the end of the root. Its owner lives as long as this store does. */
  isOwned: boolean;
  lost: string | undefined;
  readonly questions: OpenQuestions;
};

/** The first and last index of a run in the array of its tree. */
type Row = {
  readonly tree: Tree;
  readonly start: EventOf<"run-start">;
  readonly startIndex: number;
  endIndex: number | undefined;
};

class MemoryStore implements Store, SharedBudgets {
  readonly isImmediate = true;
  readonly #budgets = new MemoryBudgets();
  /** The process that draws here lives as long as the store does, so nothing ever lapses. */
  readonly budgetRows = this.#budgets.rowsFor("this process");
  readonly #trees = new Map<string, Tree>();
  /** The rows by run id, in the order they started. */
  readonly #rows = new Map<string, Row>();
  readonly #tallies = new MemoryTallies();

  append(rootId: string, events: readonly StoredEvent[], fence = FIRST_FENCE): void {
    const [first] = events;
    if (first === undefined) return;
    const tree = this.#trees.get(rootId) ?? newTree(rootId, first.time, fence);
    if (tree.fence !== fence)
      throw new StaleOwner(`Tree ${rootId} was taken over: claim ${fence} is older than claim ${tree.fence}`);
    checkNumbers(tree, events);
    this.#trees.set(rootId, tree);
    if (fence !== NO_OWNER) tree.isOwned = true;
    for (const event of events) {
      const row = this.#rows.get(event.runId);
      if (row !== undefined && fence !== NO_OWNER) this.#tally(row, event);
      const index = tree.events.push(row === undefined ? event : toBrief(event, row.start, tree.epoch)) - 1;
      addToQuestions(tree.questions, event, (asked) => toQuestion(asked, row?.start.model ?? ""));
      if (event.type === "run-start") {
        this.#rows.set(event.runId, { tree, start: event, startIndex: index, endIndex: undefined });
      } else if (event.type === "run-end") {
        if (row !== undefined) row.endIndex = index;
        if (event.parentId === null) tree.isOwned = false;
      }
    }
  }

  #tally({ tree, start, endIndex }: Row, event: StoredEvent): void {
    if (event.type === "run-end" && endIndex === undefined)
      this.#tallies.add(runTally({ ...start, startedAt: start.time }, event, this.#projectOf(tree)));
    if (event.type === "spawn-refused") this.#tallies.add(refusalTally(event, this.#projectOf(tree)));
  }

  #projectOf({ rootId }: Tree): string | undefined {
    return this.#rows.get(rootId)?.start.cwd;
  }

  async claim(rootId: string): Promise<Claim> {
    const tree = this.#trees.get(rootId);
    if (tree === undefined) throw new UserError(`No run with the id ${rootId}`);
    checkFree(tree);
    tree.fence += 1;
    tree.isOwned = true;
    return { fence: tree.fence };
  }

  async release(rootId: string, fence: number): Promise<void> {
    const tree = this.#trees.get(rootId);
    if (tree?.fence === fence) tree.isOwned = false;
  }

  async markLost(rootId: string, reason: string): Promise<void> {
    const tree = this.#trees.get(rootId);
    if (tree !== undefined) tree.lost ??= reason;
  }

  async delete(rootId: string): Promise<boolean> {
    const tree = this.#trees.get(rootId);
    if (tree === undefined) return false;
    checkFree(tree);
    this.#delete(tree);
    return true;
  }

  async prune(before: number): Promise<number> {
    checkTime("before", before);
    const old = [...this.#trees.values()].filter(({ epoch, isOwned }) => !isOwned && epoch < before);
    for (const tree of old) this.#delete(tree);
    return old.length;
  }

  #delete(tree: Tree): void {
    for (const run of this.#unended((row) => row.tree === tree))
      this.#tallies.add(interruptedTally(run, this.#projectOf(tree)));
    this.#trees.delete(tree.rootId);
    this.#budgets.deleteTree(tree.rootId);
    for (const [runId, row] of this.#rows) if (row.tree === tree) this.#rows.delete(runId);
  }

  async read(rootId: string, options: ReadOptions = {}): Promise<readonly StoredEvent[]> {
    const { events, epoch } = this.#trees.get(rootId) ?? { events: [], epoch: 0 };
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
    const matching: Row[] = [];
    for (const row of this.#rows.values()) {
      const { start } = row;
      if (start.time < since || (rootsOnly && start.parentId !== null)) continue;
      if (!start.runId.startsWith(idPrefix) || (cwd !== undefined && start.cwd !== cwd)) continue;
      if (rootId !== undefined && row.tree.rootId !== rootId) continue;
      if (status === undefined || status === statusOf(row)) matching.push(row);
    }
    return foldRows(matching.sort(byNewest).slice(offset, offset + limit));
  }

  async children(runId: string): Promise<RunRecord[]> {
    const tree = this.#rows.get(runId)?.tree;
    return this.#fold((row) => row.tree === tree && row.start.parentId === runId);
  }

  async tree(rootId: string): Promise<RunRecord[]> {
    const tree = this.#trees.get(rootId);
    return this.#fold((row) => row.tree === tree);
  }

  async totals(query: TotalsQuery = {}): Promise<Totals> {
    const read = this.#tallies.read(query);
    const { since = 0 } = query;
    return { ...read, unended: read.isComplete ? this.#unended(({ start }) => start.time >= since) : [] };
  }

  /** Runs of imported trees are not counted before a process continues them. */
  #unended(isWanted: (row: Row) => boolean): RunRecord[] {
    return this.#fold((row) => row.endIndex === undefined && row.tree.fence !== NO_OWNER && isWanted(row));
  }

  #fold(isWanted: (row: Row) => boolean): RunRecord[] {
    return foldRows(this.#rows.values().filter(isWanted).toArray());
  }

  sharedBudget(name: string, limits?: SharedLimits, options?: SharedBudgetOptions): Promise<SharedBudget> {
    return openSharedBudget(this.budgetRows, name, limits, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

function newTree(rootId: string, epoch: number, fence: number): Tree {
  if (fence !== FIRST_FENCE && fence !== NO_OWNER) throw new StaleOwner(`Tree ${rootId} is no longer in the store`);
  return { rootId, events: [], epoch, fence, isOwned: false, lost: undefined, questions: new Map() };
}

/** Two journals of one tree, or one that repeats itself, would corrupt the order of events. */
function checkNumbers(tree: Tree, events: readonly StoredEvent[]): void {
  let last = tree.events.at(-1)?.seq ?? 0;
  for (const event of events) {
    if (event.seq <= last)
      throw new StoreError(`Tree ${tree.rootId} already has event ${event.seq}; its last is ${last}`);
    last = event.seq;
  }
}

function checkFree({ rootId, isOwned }: Tree): void {
  if (isOwned) throw new UserError(`Run ${rootId} is at work in this process`);
}

function statusOf({ tree, endIndex }: Row): RunRecord["status"] {
  const end = endIndex === undefined ? undefined : tree.events[endIndex];
  if (end?.type === "run-end") return end.status;
  if (tree.isOwned) return "running";
  return tree.questions.size > 0 ? "waiting" : "interrupted";
}

function byNewest({ start: first }: Row, { start: second }: Row): number {
  return second.time - first.time || (second.runId < first.runId ? -1 : 1);
}

/** The records of these runs in this order, with one walk through each of their trees. */
function foldRows(rows: readonly Row[]): RunRecord[] {
  const wanted = new Map<string, RunRecord>();
  const reach = new Map<Tree, { from: number; to: number }>();
  for (const row of rows) {
    wanted.set(row.start.runId, beginRunRecord(row.tree.rootId, row.start));
    const { from, to } = reach.get(row.tree) ?? { from: row.startIndex, to: 0 };
    const end = row.endIndex ?? row.tree.events.length - 1;
    reach.set(row.tree, { from: Math.min(from, row.startIndex), to: Math.max(to, end) });
  }
  for (const [tree, { from, to }] of reach) {
    for (let index = from; index <= to; index++) {
      const event = tree.events[index];
      const record = event && wanted.get(runIdOf(event));
      if (event !== undefined && record !== undefined) addToRunRecord(record, toStoredEvent(event, tree.epoch));
    }
  }
  for (const row of rows) {
    const record = wanted.get(row.start.runId);
    if (record?.status === "running") record.status = statusOf(row);
    if (record?.id === row.tree.rootId && row.tree.lost !== undefined) record.lost = row.tree.lost;
  }
  return [...wanted.values()];
}
