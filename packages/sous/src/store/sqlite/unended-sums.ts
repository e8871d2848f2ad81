/** Remembers what runs that have not ended had spent: asking again costs what is new, not what they have done so far. */

import type { RunRecord } from "../../core/store.ts";
import { type EndField, RUN_COLUMNS } from "../run-columns.ts";
import type { SqliteRunRow } from "./run-row.ts";

type Sums = Pick<RunRecord, EndField>;

/** What is known of some runs of a tree, as long as `state` is the same. */
type KnownTree = { readonly state: string; readonly sums: readonly Sums[] };

export type KnownSums = ReadonlyMap<number, KnownTree>;

export type UnendedSource = {
  /** The number of the last event of a tree. */
  lastSeq(tree: number): number;
  /** Adds what the events of a tree say to the records of these runs. */
  count(tree: number, runs: readonly SqliteRunRow[]): void;
};

/** Fills in the sums of these runs. Returns what is known afterwards, to be given the next time. */
export function fillSums(runs: readonly SqliteRunRow[], known: KnownSums, source: UnendedSource): KnownSums {
  const filled = new Map<number, KnownTree>();
  for (const [tree, ofTree] of Map.groupBy(runs, (run) => run.tree)) {
    const state = [ofTree[0]?.record.rootId, source.lastSeq(tree), ...ofTree.map(({ number }) => number)].join(" ");
    const before = known.get(tree);
    if (before?.state === state)
      ofTree.forEach(({ record }, index) => void Object.assign(record, copyOf(before.sums[index])));
    else source.count(tree, ofTree);
    filled.set(tree, { state, sums: ofTree.map(({ record }) => copyOf(record)) });
  }
  return filled;
}

function copyOf<Given extends Sums | undefined>(given: Given): Sums | Given {
  if (given === undefined) return given;
  const fields = Object.fromEntries(END_FIELDS.map((field) => [field, given[field]]));
  return { ...(fields as Sums), usage: { ...given.usage } };
}

const END_FIELDS = RUN_COLUMNS.filter(({ from }) => from === "run-end").map(({ field }) => field as EndField);
