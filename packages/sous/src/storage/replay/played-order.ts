/**
 * The order in which a rerun plays a tree that several workers ran. A rerun has one process and one clock: runs that were at work
 * side by side are so again, by the time that each was at work, as long as every event comes behind those that it needs.
 */

import type { StoredEvent } from "../../core/event.ts";
import { needsOf } from "./played-needs.ts";

/** The events of one journal of the tree, in their order. */
export type PlayedJournal = {
  readonly events: StoredEvent[];
  /** The time of each on the clock of the root, as if its worker had taken it at once. */
  readonly times: number[];
  /** The number of those that have come. */
  come: number;
};

/** Something that must have come before an event can: the first `count` events of a journal. */
export type PlayedNeed = { readonly journal: PlayedJournal; readonly count: number };

/** The tree as it was before its journals were joined. */
export type PlayedTree = {
  readonly journals: readonly PlayedJournal[];
  readonly journalOf: ReadonlyMap<string, PlayedJournal>;
  /** The index of each event in its journal. */
  readonly indexes: ReadonlyMap<StoredEvent, number>;
};

/** `events` are those of a whole tree, joined. A tree in which nothing was placed stays as it is. */
export function inPlayedOrder(events: readonly StoredEvent[]): readonly StoredEvent[] {
  if (!events.some(beginsJournal)) return events;
  const tree = split(events);
  const merge = new Merge(tree, needsOf(events, tree));
  return merge.inOrder();
}

/** True for the start of a run that has a journal of its own below another one. */
function beginsJournal(event: StoredEvent): boolean {
  return event.type === "run-start" && event.placed !== undefined && event.parentId !== null;
}

function split(events: readonly StoredEvent[]): PlayedTree {
  const root: PlayedJournal = { events: [], times: [], come: 0 };
  const journals = [root];
  const journalOf = new Map<string, PlayedJournal>();
  const indexes = new Map<StoredEvent, number>();
  /** The times at which children were placed, and the latest event of each journal on the clock of its own worker. */
  const placedAt = new Map<string, number>();
  const latest = new Map<PlayedJournal, number>();
  for (const event of events) {
    const { runId, parentId } = event;
    const outer = journalOf.get(parentId ?? "") ?? root;
    if (beginsJournal(event) && !journalOf.has(runId)) {
      const journal: PlayedJournal = { events: [], times: [], come: 0 };
      journals.push(journal);
      journalOf.set(runId, journal);
    } else if (!journalOf.has(runId)) journalOf.set(runId, outer);
    const journal = journalOf.get(runId) ?? root;
    const begins = placedAt.get(runId) ?? outer.times.at(-1) ?? event.time;
    const before = journal.times.at(-1);
    // Another machine takes it: the time between is not known, and the run was not at work.
    const isTaken = event.type === "resume" && event.worker !== undefined;
    const passed = isTaken ? 0 : Math.max(0, event.time - (latest.get(journal) ?? event.time));
    const time = before === undefined ? begins : before + passed;
    latest.set(journal, event.time);
    indexes.set(event, journal.events.push(event) - 1);
    journal.times.push(time);
    if (event.type === "placed") placedAt.set(event.childRunId, time);
  }
  return { journals, journalOf, indexes };
}

class Merge {
  readonly #tree: PlayedTree;
  readonly #needs: ReadonlyMap<StoredEvent, readonly PlayedNeed[]>;
  readonly #merged: StoredEvent[] = [];
  /** The number of events of each journal whose time has come. */
  readonly #due = new Map<PlayedJournal, number>();
  /** The journals that wait for an event of this one. */
  readonly #waiting = new Map<PlayedJournal, Set<PlayedJournal>>();
  #time = 0;

  constructor(tree: PlayedTree, needs: ReadonlyMap<StoredEvent, readonly PlayedNeed[]>) {
    this.#tree = tree;
    this.#needs = needs;
  }

  inOrder(): StoredEvent[] {
    const { journals } = this.#tree;
    const all = journals.flatMap((journal, order) =>
      journal.times.map((time, index) => ({ journal, order, time, index })),
    );
    all.sort((one, other) => one.time - other.time || one.order - other.order || one.index - other.index);
    for (const { journal, index } of all) {
      this.#due.set(journal, Math.max(index + 1, this.#due.get(journal) ?? 0));
      this.#advance(journal);
    }
    // Events of a crafted store may wait for each other.
    for (const journal of journals) {
      while (journal.come < journal.events.length) {
        this.#take(journal);
        this.#advance(journal);
      }
    }
    return this.#merged;
  }

  /** Takes what can come of this journal, and of those that waited for it. */
  #advance(first: PlayedJournal): void {
    const ready = [first];
    for (let journal = ready.pop(); journal !== undefined; journal = ready.pop()) {
      if (journal.come >= (this.#due.get(journal) ?? 0) || this.#waits(journal)) continue;
      ready.push(journal, ...this.#take(journal));
    }
  }

  /** True when its next event cannot come yet. */
  #waits(journal: PlayedJournal): boolean {
    const event = journal.events[journal.come];
    const needs = (event && this.#needs.get(event)) ?? [];
    const missing = needs.find((need) => need.journal.come < need.count);
    if (missing === undefined) return false;
    const waiting = this.#waiting.get(missing.journal) ?? new Set();
    this.#waiting.set(missing.journal, waiting.add(journal));
    return true;
  }

  /** Takes its next event, and gives back the journals that waited for one, last the one that begins with it. */
  #take(journal: PlayedJournal): PlayedJournal[] {
    const event = journal.events[journal.come];
    if (event === undefined) return [];
    this.#time = Math.max(this.#time, journal.times[journal.come] ?? 0);
    journal.come += 1;
    this.#merged.push({ ...event, seq: this.#merged.length + 1, time: this.#time });
    const woken = [...(this.#waiting.get(journal) ?? [])];
    this.#waiting.delete(journal);
    const child = event.type === "placed" ? this.#tree.journalOf.get(event.childRunId) : undefined;
    if (child === undefined || child.come > 0) return woken;
    this.#due.set(child, Math.max(1, this.#due.get(child) ?? 0));
    return [...woken, child];
  }
}
