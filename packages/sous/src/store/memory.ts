/** The store of a process that keeps nothing: events by reference, one array per tree, records folded when asked for. */

import { StaleOwner, StoreError, UserError } from "../core/errors.ts";
import type { StoredEvent } from "../core/event.ts";
import { indexAfter } from "../core/event-order.ts";
import { addToRunRecord, beginRunRecord } from "../core/run-record.ts";
import type { SharedBudget, SharedBudgetOptions, SharedBudgets, SharedLimits } from "../core/shared-budget.ts";
import {
  type Claim,
  FIRST_FENCE,
  NO_OWNER,
  type ReadOptions,
  type RunQuery,
  type RunRecord,
  type Store,
} from "../core/store.ts";
import { memoryPurses } from "./memory-budget.ts";
import { openSharedBudget } from "./shared-budget.ts";

/** Everything is kept until the store itself is forgotten. Its shared budgets are those of this process. */
export function openMemoryStore(): Store & SharedBudgets {
  return new MemoryStore();
}

type Tree = {
  readonly rootId: string;
  readonly events: StoredEvent[];
  fence: number;
  /** True from the first event of its owner to the end of the root. Its owner lives as long as this store does. */
  isOwned: boolean;
  lost: string | undefined;
};

/** Where a run begins and ends in the array of its tree. */
type Row = { readonly tree: Tree; readonly startIndex: number; endIndex: number | undefined };

class MemoryStore implements Store, SharedBudgets {
  readonly isImmediate = true;
  readonly #purses = memoryPurses();
  readonly #trees = new Map<string, Tree>();
  /** By run id, in the order they started. */
  readonly #rows = new Map<string, Row>();

  append(rootId: string, events: readonly StoredEvent[], fence = FIRST_FENCE): void {
    if (events.length === 0) return;
    const tree = this.#trees.get(rootId) ?? newTree(rootId, fence);
    if (tree.fence !== fence)
      throw new StaleOwner(`Tree ${rootId} was taken over: claim ${fence} is older than claim ${tree.fence}`);
    checkNumbers(tree, events);
    this.#trees.set(rootId, tree);
    if (fence !== NO_OWNER) tree.isOwned = true;
    for (const event of events) {
      const index = tree.events.push(event) - 1;
      if (event.type === "run-start") {
        this.#rows.set(event.runId, { tree, startIndex: index, endIndex: undefined });
      } else if (event.type === "run-end") {
        const row = this.#rows.get(event.runId);
        if (row !== undefined) row.endIndex = index;
        if (event.parentId === null) tree.isOwned = false;
      }
    }
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
    this.#forget(tree);
    return true;
  }

  async prune(before: number): Promise<number> {
    const old = [...this.#trees.values()].filter(({ events, isOwned }) => !isOwned && (events[0]?.time ?? 0) < before);
    for (const tree of old) this.#forget(tree);
    return old.length;
  }

  #forget(tree: Tree): void {
    this.#trees.delete(tree.rootId);
    for (const [runId, row] of this.#rows) if (row.tree === tree) this.#rows.delete(runId);
  }

  async read(rootId: string, options: ReadOptions = {}): Promise<readonly StoredEvent[]> {
    const events = this.#trees.get(rootId)?.events ?? [];
    const first = options.after === undefined ? 0 : indexAfter(events, options.after);
    const limit = options.limit ?? events.length;
    if (options.runId === undefined) return events.slice(first, first + limit);
    const found: StoredEvent[] = [];
    // A conversation that was continued often is read run by run, so each must cost no more than itself.
    const { startIndex = 0, endIndex = events.length - 1 } = this.#rows.get(options.runId) ?? {};
    for (let index = Math.max(first, startIndex); index <= endIndex && found.length < limit; index++) {
      const event = events[index];
      if (event?.runId === options.runId) found.push(event);
    }
    return found;
  }

  async run(runId: string): Promise<RunRecord | undefined> {
    const row = this.#rows.get(runId);
    return row === undefined ? undefined : foldRows([row])[0];
  }

  async list(query: RunQuery = {}): Promise<RunRecord[]> {
    const { since = 0, status, rootsOnly = false, idPrefix = "", offset = 0, limit = this.#rows.size } = query;
    const matching: Row[] = [];
    for (const row of this.#rows.values()) {
      const start = startOf(row);
      if (start === undefined || start.time < since || (rootsOnly && start.parentId !== null)) continue;
      if (!start.runId.startsWith(idPrefix)) continue;
      if (status === undefined || status === statusOf(row)) matching.push(row);
    }
    return foldRows(matching.sort(byNewest).slice(offset, offset + limit));
  }

  async children(runId: string): Promise<RunRecord[]> {
    const tree = this.#rows.get(runId)?.tree;
    const rows: Row[] = [];
    for (const row of this.#rows.values()) {
      if (row.tree === tree && startOf(row)?.parentId === runId) rows.push(row);
    }
    return foldRows(rows);
  }

  async tree(rootId: string): Promise<RunRecord[]> {
    const tree = this.#trees.get(rootId);
    const rows: Row[] = [];
    for (const row of this.#rows.values()) if (row.tree === tree) rows.push(row);
    return foldRows(rows);
  }

  sharedBudget(name: string, limits?: SharedLimits, options?: SharedBudgetOptions): Promise<SharedBudget> {
    return openSharedBudget(this.#purses, name, limits, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

function newTree(rootId: string, fence: number): Tree {
  if (fence !== FIRST_FENCE && fence !== NO_OWNER) throw new StaleOwner(`Tree ${rootId} is no longer in the store`);
  return { rootId, events: [], fence, isOwned: false, lost: undefined };
}

/** Two journals of one tree, or one that repeats itself, would make a history that nobody lived. */
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

function startOf(row: Row): StoredEvent | undefined {
  return row.tree.events[row.startIndex];
}

function statusOf(row: Row): RunRecord["status"] {
  const end = row.endIndex === undefined ? undefined : row.tree.events[row.endIndex];
  if (end?.type === "run-end") return end.status;
  return row.tree.isOwned ? "running" : "interrupted";
}

function byNewest(left: Row, right: Row): number {
  const [first, second] = [startOf(left), startOf(right)];
  if (first === undefined || second === undefined) return 0;
  return second.time - first.time || (second.runId < first.runId ? -1 : 1);
}

/** The records of these runs in this order, with one walk through each of their trees. */
function foldRows(rows: readonly Row[]): RunRecord[] {
  const wanted = new Map<string, RunRecord>();
  const reach = new Map<Tree, { from: number; to: number }>();
  for (const row of rows) {
    const start = startOf(row);
    if (start?.type === "run-start") wanted.set(start.runId, beginRunRecord(row.tree.rootId, start));
    const { from, to } = reach.get(row.tree) ?? { from: row.startIndex, to: 0 };
    const end = row.endIndex ?? row.tree.events.length - 1;
    reach.set(row.tree, { from: Math.min(from, row.startIndex), to: Math.max(to, end) });
  }
  for (const [tree, { from, to }] of reach) {
    for (let index = from; index <= to; index++) {
      const event = tree.events[index];
      const record = event === undefined ? undefined : wanted.get(event.runId);
      if (event !== undefined && record !== undefined) addToRunRecord(record, event);
    }
  }
  for (const { tree } of rows) {
    const root = wanted.get(tree.rootId);
    if (root !== undefined && tree.lost !== undefined) root.lost = tree.lost;
  }
  const isOwned = (rootId: string) => rows.some(({ tree }) => tree.rootId === rootId && tree.isOwned);
  for (const record of wanted.values())
    if (record.status === "running" && !isOwned(record.rootId)) record.status = "interrupted";
  return [...wanted.values()];
}
