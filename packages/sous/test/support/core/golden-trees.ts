/** The trees with children among the golden journals: what real runs have recorded, of every version. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import type { StoredEvent } from "../../../src/core/event.ts";
import { parseStoredEvent } from "../../../src/storage/store/event-schema.ts";
import { cutTree, type Journals } from "./cut-tree.ts";

const folder = join(import.meta.dirname, "../../golden");

export type GoldenTree = { readonly name: string; readonly rootId: string; readonly events: readonly StoredEvent[] };

export const GOLDEN_TREES: readonly GoldenTree[] = readdirSync(folder).flatMap((name): GoldenTree[] => {
  const file = JSON.parse(readFileSync(join(folder, name), "utf8")) as { version: number; events: unknown[] };
  const events = file.events.map((event) => parseStoredEvent(event, file.version));
  const isCut = events.some(({ type }) => type === "placed");
  return isCut || childrenIn(events).length === 0 ? [] : [{ name, rootId: events[0]?.runId ?? "", events }];
});

export function childrenIn(events: readonly StoredEvent[]): string[] {
  return events.flatMap(({ type, runId, parentId }) => (type === "run-start" && parentId !== null ? [runId] : []));
}

/** The tree with journals of its own for some of its runs, each by the clock of another machine. */
export function cuts({ events, rootId }: GoldenTree): fc.Arbitrary<Journals> {
  const placed = fc.subarray(childrenIn(events), { minLength: 1 });
  const clocks = fc.array(fc.integer({ min: -5000, max: 5000 }), { minLength: 20, maxLength: 20 });
  return fc.tuple(placed, clocks, fc.boolean()).map(([runIds, ahead, mailsStops]) => {
    const clockOf = (id: string) => (id === rootId ? 0 : (ahead[runIds.indexOf(id) % ahead.length] ?? 0));
    return cutTree(events, new Set(runIds), { clockOf, mailsStops });
  });
}

/** More of them, or others, are tried by hand: `RUNS=300 SEED=7 npm test -- …`. */
export const CUT_TRIES = { seed: Number(process.env.SEED ?? 1), numRuns: Number(process.env.RUNS ?? 4) };
