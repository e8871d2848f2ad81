/** From what a person types to a run: a whole id, the beginning of one, or `last`. */

import type { RunRecord, Store } from "../core/store.ts";
import { CommandError } from "./exit-codes.ts";
import { inertLine } from "./inert.ts";

const SHORTEST_PREFIX = 6;
const SHOWN = 5;

/** Throws a `CommandError` when there is no such run, or more than one. */
export async function findRun(store: Pick<Store, "run" | "list">, given: string): Promise<RunRecord> {
  if (given === "last") return lastRun(store);
  // Ids are written in capitals and often typed without.
  const id = given.trim().toUpperCase();
  const found = (await store.run(given)) ?? (await store.run(id));
  if (found !== undefined) return found;
  if (id.length < SHORTEST_PREFIX) throw unknown(given, ` Give at least ${SHORTEST_PREFIX} characters of its id.`);
  const matching = await store.list({ idPrefix: id, limit: SHOWN + 1 });
  const [only, another] = matching;
  if (only === undefined) throw unknown(given);
  if (another === undefined) return only;
  const names = matching.slice(0, SHOWN).map((each) => `${inertLine(each.id, 40)} (${inertLine(each.path, 60)})`);
  const more = matching.length > SHOWN ? ", and others" : "";
  throw new CommandError(`${inertLine(given, 60)} is the beginning of several ids: ${names.join(", ")}${more}`);
}

async function lastRun(store: Pick<Store, "list">): Promise<RunRecord> {
  const [newest] = await store.list({ rootsOnly: true, limit: 1 });
  if (newest === undefined) throw new CommandError("There are no runs yet. sous demo makes one.");
  return newest;
}

function unknown(given: string, hint = ""): CommandError {
  return new CommandError(`There is no run ${inertLine(given, 60)}.${hint} sous replay --list shows what there is.`);
}
