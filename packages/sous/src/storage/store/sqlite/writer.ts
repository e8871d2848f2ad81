/** Appends the events of trees: one transaction a call, event rows and little else. */

import type { SQLInputValue } from "node:sqlite";
import { addToQuestions, type OpenQuestions, toQuestion } from "../../../core/approval.ts";
import { isProgress } from "../../../core/engine.ts";
import { StaleOwner, StoreError } from "../../../core/errors.ts";
import type { EventOf, StoredEvent } from "../../../core/event.ts";
import { beginRunRecord, FIRST_FENCE, isFirstRun, NO_OWNER } from "../../../core/store.ts";
import { type EncodedEvent, encodeEvent, fromColumn, toColumn } from "../event-row.ts";
import { checkSeq, LAST_SEQ } from "../event-schema.ts";
import { checkAbove, checkPlaced, rootElsewhere, runAbove } from "../placed-start.ts";
import { parseQuestions, questionsColumn } from "../run-columns.ts";
import type { SqliteClaims } from "./claims.ts";
import type { SqliteConnection } from "./connection.ts";
import { deleteMail, treeOf } from "./placing-tables.ts";
import { lastSeqOf } from "./reader.ts";
import { endRun, insertRun, storeBlob } from "./run-row.ts";
import { LAST_TREE, MAX_VALUE_BYTES } from "./schema.ts";
import { tallyRefusal, tallyRun } from "./tallies.ts";
import {
  ADD,
  ADD_IF_OURS,
  FIND_MODEL,
  FIND_QUESTIONS,
  FIND_RUN,
  isMoreThanARow,
  MAX_AT_ONCE,
  NEXT_NUMBER,
  NOTE_PLACED,
  OPEN,
  SET_QUESTIONS,
  SET_ROOT,
} from "./writer-statements.ts";

/** A journal that this store works on. Of its runs only the live ones are remembered: there may be a hundred thousand others. */
type LiveTree = {
  readonly rootId: string;
  readonly number: number;
  readonly fence: number;
  lastSeq: number;
  /** Run numbers by id. */
  readonly runs: Map<string, number>;
  /** False when the claim ends with these events, or was never made. */
  isOwned: boolean;
  /** True while it was placed and its first run has no end. */
  isOpen: boolean;
  /** The claims since it last got ahead. */
  claims: number;
  readonly questions: OpenQuestions;
};

/** One call of `append`. */
type Batch = {
  readonly rootId: string;
  readonly events: readonly StoredEvent[];
  readonly rows: readonly EncodedEvent[];
  readonly fence: number;
};

export class SqliteWriter {
  readonly #connection: SqliteConnection;
  readonly #claims: SqliteClaims;
  readonly #onEnd: (journalId: string) => void;
  readonly #live = new Map<string, LiveTree>();

  /** `onEnd` hears of placed journals whose first run ends. */
  constructor(connection: SqliteConnection, claims: SqliteClaims, onEnd: (journalId: string) => void) {
    this.#connection = connection;
    this.#claims = claims;
    this.#onEnd = onEnd;
  }

  append(rootId: string, events: readonly StoredEvent[], fence: number): void {
    if (events.length === 0) return;
    const live = this.#live.get(rootId);
    if (live?.fence === fence && this.#appendAtOnce(live, events)) return;
    const batch: Batch = { rootId, events, rows: events.map(encodeRow), fence };
    // Memory must not be ahead of the database: when this throws, the next append looks everything up again.
    this.#live.delete(rootId);
    // A caller that hears that a tree is done relies on finding it here.
    if (events.some((event) => event.type === "run-end" && isFirstRun(rootId, event))) this.#connection.lookAgain();
    const keep = () => this.#fill(this.#kept(batch) ?? this.#begun(live, batch), batch, ADD);
    const tree = (live && this.#keepIfOurs(live, batch)) ?? this.#connection.write(keep);
    if (tree.isOwned) {
      this.#live.set(rootId, tree);
      this.#claims.hold(tree.number);
    } else {
      this.#claims.drop(tree.number);
    }
  }

  /** Begins the journals of placed runs, all of them or none. Returns those that had not begun before. */
  place(starts: readonly EventOf<"run-start">[]): string[] {
    for (const start of starts) checkPlaced(start);
    return this.#connection.write(() => {
      const begun: string[] = [];
      for (const start of starts) {
        const { runId: rootId } = start;
        if (this.#claims.find(rootId) !== undefined) continue;
        const batch: Batch = { rootId, events: [start], rows: [encodeRow(start)], fence: NO_OWNER };
        const { number } = this.#fill(this.#begun(undefined, batch), batch, ADD);
        this.#connection.prepare(OPEN).run(number);
        begun.push(rootId);
      }
      return begun;
    });
  }

  /** Gives up the tree: this store does not own it from now on. */
  release(rootId: string): void {
    this.#live.delete(rootId);
  }

  /** A few events of live runs need one statement, which also asks whether the tree is still this store's. */
  #appendAtOnce(live: LiveTree, events: readonly StoredEvent[]): boolean {
    if (events.length > MAX_AT_ONCE) return false;
    const { number, fence } = live;
    const values: SQLInputValue[] = [number];
    let last = live.lastSeq;
    for (const event of events) {
      const { seq, type } = event;
      const run = live.runs.get(event.runId);
      if (run === undefined || isMoreThanARow(event, live) || seq <= last || seq > LAST_SEQ) return false;
      const { json, blobs } = encodeRow(event);
      if (blobs.length > 0) return false;
      values.push(seq, run, type, json);
      last = seq;
    }
    values.push(number, fence, this.#claims.owner);
    if (this.#connection.writeAtOnce(ADD_IF_OURS[events.length] ?? "", values) === 0) return false;
    live.lastSeq = last;
    return true;
  }

  /** Undefined, and nothing is kept, when the tree is no longer this store's. */
  #keepIfOurs(live: LiveTree, batch: Batch): LiveTree | undefined {
    // The start of a root makes the tree ours, so afterwards it could not be told whether it was.
    if (live.fence !== batch.fence || batch.events.some(isRootStart)) return undefined;
    try {
      return this.#connection.write(() => this.#fill(live, batch, ADD_IF_OURS));
    } catch (error) {
      if (error instanceof NotOurs) return undefined;
      throw error;
    }
  }

  #fill(tree: LiveTree, { events, rows, fence }: Batch, add: readonly string[]): LiveTree {
    const added: SQLInputValue[] = [];
    let isChanged = false;
    for (const [index, event] of events.entries()) {
      const row = rows[index];
      if (row === undefined) break;
      checkSeq(tree.rootId, tree.lastSeq, event.seq);
      tree.lastSeq = event.seq;
      const run = event.type === "run-start" ? this.#startRun(tree, event) : this.#runOf(tree, event);
      added.push(event.seq, run, row.type, row.json);
      if (row.blobs.length > 0) for (const blob of row.blobs) storeBlob(this.#connection, blob);
      isChanged = addToQuestions(tree.questions, event, (asked) => toQuestion(asked, this.#modelOf(run))) || isChanged;
      if (event.type === "run-end") this.#endRun(tree, run, event);
      if (event.type === "spawn-refused" && fence !== NO_OWNER) tallyRefusal(this.#connection, run, event);
    }
    this.#addEvents(tree, added, add);
    if (tree.isOpen) this.#notePlaced(tree, events);
    if (isChanged) this.#connection.prepare(SET_QUESTIONS).run(questionsColumn(tree.questions), tree.number);
    if (!tree.isOwned && fence !== NO_OWNER) this.#claims.free(tree.number);
    return tree;
  }

  /** Keeps what workers go by, of a journal that was placed. */
  #notePlaced(tree: LiveTree, events: readonly StoredEvent[]): void {
    if (events.some(isProgress)) tree.claims = 0;
    const mail = events.map((event) => ("mail" in event ? (event.mail ?? 0) : 0));
    tree.isOpen = !events.some(({ type, runId }) => type === "run-end" && runId === tree.rootId);
    this.#connection.prepare(NOTE_PLACED).run(tree.claims, Math.max(0, ...mail), tree.isOpen ? 1 : 0, tree.number);
    if (tree.isOpen) return;
    deleteMail(this.#connection, tree.number);
    this.#onEnd(tree.rootId);
  }

  /** `values` are four for every event, `add` the statements that add some of them. */
  #addEvents({ number, fence }: LiveTree, values: readonly SQLInputValue[], add: readonly string[]): void {
    const ours = add === ADD_IF_OURS ? [number, fence, this.#claims.owner] : [];
    for (let start = 0; start < values.length; start += 4 * MAX_AT_ONCE) {
      const some = values.slice(start, start + 4 * MAX_AT_ONCE);
      const { changes } = this.#connection.prepare(add[some.length / 4] ?? "").run(number, ...some, ...ours);
      if (changes === 0) throw new NotOurs("The tree is not of this store");
    }
  }

  /** A tree that is in the database and is not remembered, or not rightly. */
  #kept({ rootId, fence }: Batch): LiveTree | undefined {
    const found = this.#claims.find(rootId);
    if (found === undefined) return undefined;
    const { number, isOpen, claims } = found;
    if (found.fence !== fence) {
      if (found.owner !== this.#claims.owner) this.#claims.drop(number);
      throw new StaleOwner(`Tree ${rootId} was taken over: claim ${fence} is not the latest, which is ${found.fence}`);
    }
    const isOwned = fence !== NO_OWNER;
    if (isOwned) this.#claims.take(number, fence);
    const lastSeq = lastSeqOf(this.#connection, number);
    const questions = parseQuestions(this.#connection.prepare(FIND_QUESTIONS).get(number)?.questions, rootId);
    return { rootId, number, fence, lastSeq, runs: new Map(), isOwned, isOpen, claims, questions };
  }

  #begun(live: LiveTree | undefined, { rootId, events, fence }: Batch): LiveTree {
    const [first] = events;
    const isStart = first?.type === "run-start" && first.runId === rootId;
    const isGone = fence === FIRST_FENCE || fence === NO_OWNER ? !isStart && live !== undefined : true;
    if (isGone && live !== undefined) this.#claims.drop(live.number);
    if (isGone) throw new StaleOwner(`Tree ${rootId} is no longer in the store`);
    if (!isStart) throw new StoreError(`Tree ${rootId} does not begin with the start of its root`);
    const above = runAbove(first);
    if (above !== undefined) checkAbove(first, treeOf(this.#connection, above));
    const number = this.#nextNumber();
    // A tree of this store that was deleted while this process slept may have had the same number.
    for (const [id, other] of this.#live) if (other.number === number) this.#live.delete(id);
    const isOwned = fence !== NO_OWNER;
    const unplaced = { isOpen: false, claims: 0 };
    return { rootId, number, fence, lastSeq: 0, runs: new Map(), isOwned, ...unplaced, questions: new Map() };
  }

  #startRun(tree: LiveTree, start: EventOf<"run-start">): number {
    const { runId, parentId } = start;
    const isRoot = runId === tree.rootId;
    const number = isRoot ? tree.number : this.#nextNumber();
    const ofRoot = isRoot ? rootElsewhere(runId, start) : undefined;
    const parent = parentId === null ? null : this.#numberOf(tree, parentId, ofRoot !== undefined);
    if (parent === undefined) throw new StoreError(`The parent of run ${runId} is not in tree ${tree.rootId}`);
    if (this.#connection.prepare(FIND_RUN).get(toColumn(runId)) !== undefined)
      throw new StoreError(`A run with the id ${runId} is in the store already`);
    const record = beginRunRecord(tree.rootId, start);
    insertRun(this.#connection, { number, tree: tree.number, parent, firstSeq: start.seq }, record);
    if (ofRoot !== undefined) this.#connection.prepare(SET_ROOT).run(toColumn(ofRoot), number);
    if (isFirstRun(tree.rootId, start) && tree.fence !== NO_OWNER) {
      // A follow-up may begin in the same batch in which the run before it ended.
      tree.isOwned = true;
      this.#claims.take(tree.number, tree.fence);
    }
    tree.runs.set(runId, number);
    return number;
  }

  #endRun(tree: LiveTree, number: number, end: EventOf<"run-end">): void {
    if (tree.fence !== NO_OWNER) tallyRun(this.#connection, number, end);
    endRun(this.#connection, number, end);
    tree.runs.delete(end.runId);
    if (isFirstRun(tree.rootId, end)) tree.isOwned = false;
  }

  #runOf(tree: LiveTree, { runId, seq }: StoredEvent): number {
    const number = this.#numberOf(tree, runId);
    if (number === undefined) throw new StoreError(`Event ${seq} belongs to run ${runId}, which has not started`);
    return number;
  }

  /** Finds the number of a run that has ended, or of a live one that another process started. */
  #numberOf(tree: LiveTree, runId: string, isElsewhere = false): number | undefined {
    const known = tree.runs.get(runId);
    if (known !== undefined) return known;
    const found = this.#connection.prepare(FIND_RUN).get(toColumn(runId));
    if (found === undefined || (found.root !== tree.number && !isElsewhere)) return undefined;
    const number = Number(found.number);
    if (isElsewhere) return number;
    if (found.status === "running") tree.runs.set(runId, number);
    return number;
  }

  #modelOf(run: number): string {
    return fromColumn(String(this.#connection.prepare(FIND_MODEL).get(run)?.model));
  }

  #nextNumber(): number {
    const number = Number(this.#connection.prepare(NEXT_NUMBER).get()?.number);
    if (number > LAST_TREE) throw new StoreError(`${this.#connection.file} has no numbers left for further runs`);
    return number;
  }
}

function isRootStart({ type, parentId }: StoredEvent): boolean {
  return type === "run-start" && parentId === null;
}

/** Another process works on the tree, or it was deleted. */
class NotOurs extends StoreError {
  override name = "NotOurs";
}

function encodeRow(event: StoredEvent): EncodedEvent {
  const row = encodeEvent(event);
  if (row.json.length * 3 > MAX_VALUE_BYTES && Buffer.byteLength(row.json) > MAX_VALUE_BYTES)
    throw new StoreError(`Event ${event.seq} of run ${event.runId} has more than ${MAX_VALUE_BYTES} bytes`);
  return row;
}
