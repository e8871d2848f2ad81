/** A store in one file for one process: each change is a line of JSON, and what the store knows is the sum of its lines. */

import { closeSync, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";
import { type Store, type StoredEvent, StoreError, UserError } from "sous";
import {
  type Claim,
  checkTotalsQuery,
  FIRST_FENCE,
  foldRunRecord,
  hasOpenQuestion,
  interruptedTally,
  NO_OWNER,
  notAMark,
  type ReadOptions,
  type RunQuery,
  type RunRecord,
  refusalTally,
  runTally,
  StaleOwner,
  type Tally,
  type Totals,
  type TotalsQuery,
} from "sous/store";

/** One line of the file. */
type Change =
  | { type: "events"; rootId: string; fence: number; events: readonly StoredEvent[] }
  | { type: "claim"; rootId: string }
  | { type: "release"; rootId: string }
  | { type: "lost"; rootId: string; reason: string }
  | { type: "delete"; rootId: string };

type Tree = { events: StoredEvent[]; fence: number; isOwned: boolean; lost: string | undefined };

class JournalStore implements Store {
  /** `append` writes before it returns. */
  readonly isImmediate = true;
  readonly #file: number;
  readonly #trees = new Map<string, Tree>();
  readonly #tallies: Tally[] = [];
  #size = 0;

  constructor(path: string) {
    this.#file = openSync(path, "a+");
    const text = readFileSync(this.#file, "utf8");
    // A process that was killed may have left half a line: it was never promised.
    const whole = text.slice(0, text.lastIndexOf("\n") + 1);
    for (const line of whole.split("\n").slice(0, -1)) this.#apply(JSON.parse(line));
    this.#size = Buffer.byteLength(whole);
    ftruncateSync(this.#file, this.#size);
    // The process that worked on these trees is gone.
    for (const tree of this.#trees.values()) tree.isOwned = false;
  }

  /** Writes the line and then applies it. A throw means that neither happened. */
  #write(change: Change): void {
    const line = Buffer.from(`${JSON.stringify(change)}\n`);
    try {
      for (let at = 0; at < line.length; ) at += writeSync(this.#file, line, at);
      fsyncSync(this.#file);
    } catch (cause) {
      ftruncateSync(this.#file, this.#size);
      throw new StoreError("The journal could not be written", { cause });
    }
    this.#size += line.length;
    this.#apply(change);
  }

  #apply(change: Change): void {
    const tree = this.#trees.get(change.rootId);
    if (change.type === "events") this.#applyEvents(change);
    else if (tree === undefined) return;
    else if (change.type === "delete") this.#applyDelete(change.rootId, tree);
    else if (change.type === "lost") tree.lost ??= change.reason;
    else {
      tree.isOwned = change.type === "claim";
      if (tree.isOwned) tree.fence += 1;
    }
  }

  // #region append
  append(rootId: string, events: readonly StoredEvent[], fence = FIRST_FENCE): void {
    if (events.length === 0) return;
    const tree = this.#trees.get(rootId);
    const isMine = tree === undefined ? fence === FIRST_FENCE || fence === NO_OWNER : fence === tree.fence;
    if (!isMine) throw new StaleOwner(`Tree ${rootId} was taken over, or is gone`);
    let last = tree?.events.at(-1)?.seq ?? 0;
    for (const { seq } of events) {
      if (seq <= last) throw new StoreError(`Tree ${rootId} already has event ${seq}`);
      last = seq;
    }
    this.#write({ type: "events", rootId, fence, events });
  }

  #applyEvents({ rootId, fence, events }: Change & { type: "events" }): void {
    const tree = this.#trees.get(rootId) ?? { events: [], fence, isOwned: false, lost: undefined };
    this.#trees.set(rootId, tree);
    tree.isOwned = fence !== NO_OWNER;
    for (const event of events) {
      if (fence !== NO_OWNER) this.#tally(tree, event);
      tree.events.push(event);
      if (event.type === "run-end" && event.parentId === null) tree.isOwned = false;
    }
  }
  // #endregion

  // #region claims
  async claim(rootId: string): Promise<Claim> {
    if (!this.#trees.has(rootId)) throw new UserError(`No run with the id ${rootId}`);
    this.#checkFree(rootId);
    this.#write({ type: "claim", rootId });
    return { fence: this.#trees.get(rootId)?.fence ?? NO_OWNER };
  }

  async release(rootId: string, fence: number): Promise<void> {
    if (this.#trees.get(rootId)?.fence === fence) this.#write({ type: "release", rootId });
  }

  async markLost(rootId: string, reason: string): Promise<void> {
    if (this.#trees.has(rootId)) this.#write({ type: "lost", rootId, reason });
  }

  #checkFree(rootId: string): void {
    if (this.#trees.get(rootId)?.isOwned) throw new UserError(`Run ${rootId} is at work in this process`);
  }
  // #endregion

  async read(rootId: string, { after = 0, runId, limit }: ReadOptions = {}): Promise<readonly StoredEvent[]> {
    const events = this.#trees.get(rootId)?.events ?? [];
    const wanted = events.filter((event) => event.seq > after && (runId === undefined || event.runId === runId));
    return wanted.slice(0, limit);
  }

  /** Every run of a tree, in the order they started. */
  #records(rootId: string): RunRecord[] {
    const tree = this.#trees.get(rootId);
    if (tree === undefined) return [];
    const isWaiting = hasOpenQuestion(tree.events);
    const byRun = Map.groupBy(tree.events, ({ runId }) => runId);
    return [...byRun.values()].flatMap((events) => {
      const record = foldRunRecord(rootId, events);
      if (record === undefined) return [];
      if (record.status === "running" && !tree.isOwned) record.status = isWaiting ? "waiting" : "interrupted";
      return record.id === rootId && tree.lost !== undefined ? { ...record, lost: tree.lost } : record;
    });
  }

  #allRecords(): RunRecord[] {
    return [...this.#trees.keys()].flatMap((rootId) => this.#records(rootId));
  }

  async tree(rootId: string): Promise<RunRecord[]> {
    return this.#records(rootId);
  }

  async run(runId: string): Promise<RunRecord | undefined> {
    return this.#allRecords().find(({ id }) => id === runId);
  }

  async children(runId: string): Promise<RunRecord[]> {
    return this.#allRecords().filter(({ parentId }) => parentId === runId);
  }

  async list(query: RunQuery = {}): Promise<RunRecord[]> {
    const { since = 0, status, rootsOnly = false, idPrefix = "", rootId, cwd, offset = 0, limit } = query;
    const found = this.#allRecords().filter(
      (record) =>
        record.startedAt >= since &&
        (status === undefined || record.status === status) &&
        (!rootsOnly || record.parentId === null) &&
        record.id.startsWith(idPrefix) &&
        (rootId === undefined || record.rootId === rootId) &&
        (cwd === undefined || record.cwd === cwd),
    );
    found.sort((one, other) => other.startedAt - one.startedAt || (other.id < one.id ? -1 : 1));
    return found.slice(offset, limit === undefined ? undefined : offset + limit);
  }

  /** A line for every run that ends and every child that is refused. */
  #tally({ events }: Tree, event: StoredEvent): void {
    if (event.type === "spawn-refused") this.#tallies.push(refusalTally(event, projectOf(events)));
    if (event.type !== "run-end") return;
    const start = events.find(({ type, runId }) => type === "run-start" && runId === event.runId);
    if (start?.type === "run-start")
      this.#tallies.push(runTally({ ...start, startedAt: start.time }, event, projectOf(events)));
  }

  async totals(query: TotalsQuery = {}): Promise<Totals> {
    const { after = "0", since, limit } = checkTotalsQuery(query);
    let index = Number(after);
    if (!Number.isSafeInteger(index) || String(index) !== after || index < 0 || index > this.#tallies.length)
      throw notAMark(after);
    const tallies: Tally[] = [];
    for (; index < this.#tallies.length && tallies.length < limit; index++)
      tallies.push(...this.#tallies.slice(index, index + 1).filter(({ startedAt }) => startedAt >= since));
    const isComplete = index === this.#tallies.length;
    const unended = isComplete ? this.#allRecords().filter((record) => this.#isOpen(record, since)) : [];
    return { tallies, unended, mark: String(index), isComplete };
  }

  #isOpen({ rootId, endedAt, startedAt }: RunRecord, since: number): boolean {
    return endedAt === undefined && startedAt >= since && this.#trees.get(rootId)?.fence !== NO_OWNER;
  }

  async delete(rootId: string): Promise<boolean> {
    if (!this.#trees.has(rootId)) return false;
    this.#checkFree(rootId);
    this.#write({ type: "delete", rootId });
    return true;
  }

  async prune(before: number): Promise<number> {
    const old = [...this.#trees].filter(([, { events, isOwned }]) => !isOwned && (events[0]?.time ?? 0) < before);
    for (const [rootId] of old) this.#write({ type: "delete", rootId });
    return old.length;
  }

  #applyDelete(rootId: string, { events, fence }: Tree): void {
    for (const record of this.#records(rootId))
      if (record.endedAt === undefined && fence !== NO_OWNER)
        this.#tallies.push(interruptedTally(record, projectOf(events)));
    this.#trees.delete(rootId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    closeSync(this.#file);
  }
}

/** Opens the journal in this file, or makes it. */
export function openJournalStore(path: string): Store {
  return new JournalStore(path);
}

/** The folder that the tree was made in. */
function projectOf([first]: readonly StoredEvent[]): string | undefined {
  return first?.type === "run-start" ? first.cwd : undefined;
}
