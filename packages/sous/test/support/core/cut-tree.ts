/** Cuts a tree that one process ran into the journals that it would have had if some of its runs had been placed. */

import type { RunIdentity, StoredEvent } from "../../../src/core/event.ts";
import { addToRunRecord, beginRunRecord, indexAfter, type RunRecord, type Store } from "../../../src/core/store.ts";
import { comesOfStop } from "../../../src/storage/replay/stops.ts";

/** The events of each journal, by its id. */
export type Journals = Map<string, StoredEvent[]>;

type CutOptions = {
  /** Milliseconds by which the clock of the worker of this journal is ahead. */
  clockOf?: (journalId: string) => number;
  /** A stop of a run reaches those below it that were placed by mail, which their journals say. */
  mailsStops?: boolean;
};

/** `placed` are the runs that get a journal of their own, each with the runs below it that have none. */
export function cutTree(
  events: readonly StoredEvent[],
  placed: ReadonlySet<string>,
  { clockOf = () => 0, mailsStops = false }: CutOptions = {},
): Journals {
  const [root] = events;
  if (root?.type !== "run-start") throw new Error("The tree has no root");
  const rootId = root.runId;
  const journals: Journals = new Map([[rootId, []]]);
  const journalOf = new Map<string, string>();
  const whoIs = new Map<string, RunIdentity>();
  const add = (journalId: string, event: StoredEvent) => {
    const journal = journals.get(journalId) ?? [];
    journals.set(journalId, journal);
    journal.push({ ...event, seq: journal.length + 1, time: event.time + clockOf(journalId) });
  };
  for (const event of events) {
    const { runId, agentId, parentId, path, depth, time } = event;
    if (event.type !== "run-start") {
      add(journalOf.get(runId) ?? rootId, event);
      continue;
    }
    whoIs.set(runId, { runId, agentId, parentId, path, depth });
    const parent = parentId === null ? undefined : whoIs.get(parentId);
    const outer = journalOf.get(parentId ?? "") ?? rootId;
    journalOf.set(runId, outer);
    if (parent === undefined || !placed.has(runId)) {
      add(outer, event);
      continue;
    }
    const { label, agent, call, budget } = event;
    const child = { childRunId: runId, childAgentId: agentId, childPath: path };
    add(outer, { ...parent, seq: 0, time, type: "placed", ...child, label, agent, call, budget });
    journalOf.set(runId, runId);
    const { terms, cwd } = root;
    add(runId, { ...event, terms, cwd, placed: { rootId, budgets: [] } });
    add(runId, { ...whoOf(event), seq: 0, time, type: "resume", usedMs: 0, worker: "two on host-b" });
  }
  if (mailsStops) for (const [journalId, journal] of journals) if (journalId !== rootId) mailStop(journal);
  return journals;
}

/** Puts the stop that ended the first run of a journal before what came of it. */
function mailStop(journal: StoredEvent[]): void {
  const [start] = journal;
  const own = journal.filter(({ runId }) => runId === start?.runId);
  const end = own.at(-1);
  if (start === undefined || end?.type !== "run-end" || end.status !== "cancelled") return;
  if (own.some(({ type }) => type === "cancel")) return;
  const at = journal.findLastIndex((event) => !comesOfStop(event)) + 1;
  journal.splice(at, 0, { ...whoOf(start), seq: 0, time: end.time, type: "cancel", mode: "stop", mail: 1 });
  for (const [index, event] of journal.entries()) journal[index] = { ...event, seq: index + 1 };
}

function whoOf({ runId, agentId, parentId, path, depth }: StoredEvent): RunIdentity {
  return { runId, agentId, parentId, path, depth };
}

/** The tree as one process ran it, with the numbers of its events. The times stay those of the machines. */
export function uncut(events: readonly StoredEvent[]): StoredEvent[] {
  return events
    .filter((event) => event.type !== "placed" && !(event.type === "resume" && event.worker !== undefined))
    .map((event) => {
      if (event.type !== "run-start" || event.placed === undefined) return event;
      const { placed, ...start } = event;
      return { ...start, terms: undefined, cwd: undefined };
    });
}

/** A store that can only be read, with journals as they are. */
export type JournalStore = Pick<Store, "read" | "run" | "tree" | "children"> & {
  /** The journals that were asked for, in order. */
  readonly asked: string[];
};

export function storeOfJournals(journals: ReadonlyMap<string, readonly StoredEvent[]>): JournalStore {
  const asked: string[] = [];
  const records = new Map<string, RunRecord>();
  for (const [journalId, events] of journals)
    for (const event of events) {
      const record = records.get(event.runId);
      if (record !== undefined) addToRunRecord(record, event);
      else if (event.type === "run-start") {
        const rootId = journals.get(journalId)?.[0];
        const above = rootId?.type === "run-start" ? rootId.placed?.rootId : undefined;
        records.set(event.runId, beginRunRecord(journalId, event, above ?? journalId));
      }
    }
  return {
    asked,
    async run(runId) {
      return records.get(runId);
    },
    async tree(rootId) {
      return [...records.values()].filter((record) => record.rootId === rootId);
    },
    async children(runId) {
      return [...records.values()].filter(({ parentId }) => parentId === runId);
    },
    async read(journalId, { after = 0, runId, limit = Number.POSITIVE_INFINITY } = {}) {
      asked.push(journalId);
      const events = journals.get(journalId) ?? [];
      const from = indexAfter(events, after);
      const found = runId === undefined ? events.slice(from, from + limit) : events.slice(from);
      return found.filter((event) => runId === undefined || event.runId === runId).slice(0, limit);
    },
  };
}
