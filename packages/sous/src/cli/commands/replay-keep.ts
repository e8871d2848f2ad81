/** `sous replay --import`, `--backup` and `--prune`: trees come into a database, are copied, and are forgotten. */

import { type AskPerson, personAtTerminal } from "../ask-person.ts";
import { importFile, openDatabase } from "../assemble.ts";
import { sameDatabase } from "../database-place.ts";
import { EXIT } from "../exit-codes.ts";
import { plural } from "../figures.ts";
import { inertLine } from "../inert.ts";
import { isThere, noDatabase, openRuns } from "../open-runs.ts";
import { readMoment } from "../options.ts";
import { printJson } from "../output.ts";
import { readForeign } from "../read-foreign.ts";
import type { Replay } from "./replay-parts.ts";

export async function replayImport({ values, file, flags, output }: Replay): Promise<number> {
  const text = await readForeign(values.import ?? "");
  // A database is made when there is none: whoever brings a tree wants it kept.
  await using store = await openDatabase(file, { readOnly: false });
  const { rootId, runs, events } = await importFile(store, text, values["new-ids"]);
  const id = inertLine(rootId, 60);
  if (values.json) printJson({ schema: "sous.import.v1", root_id: rootId, runs, events });
  else
    output.print([
      `Took in tree ${id}: ${plural(runs, "run")}, ${plural(events, "event")}.`,
      `Look at it: sous replay --tree --id ${id}${sameDatabase(flags)}`,
    ]);
  return 0;
}

export async function replayBackup({ values, file, output }: Replay): Promise<number> {
  const target = values.backup ?? "";
  await using store = await openRuns(file, "read");
  await store.backup(target);
  if (values.json) printJson({ schema: "sous.backup.v1", file: target });
  else output.print([`A copy of ${inertLine(file)} is in ${inertLine(target)}.`]);
  return 0;
}

/** A script is taken at its word. A person who would lose everything is asked once, with what that is. */
export async function replayPrune(
  { values, file, output }: Replay,
  ask: AskPerson | undefined = personAtTerminal(),
): Promise<number> {
  const before = readMoment("prune", values.prune ?? "", Date.now());
  const pruned = isThere(file) ? await prune(file, before, values.yes ? undefined : ask) : 0;
  if (values.json) printJson({ schema: "sous.prune.v1", trees: pruned ?? 0 });
  else if (pruned === undefined) output.print(["Nothing was forgotten."]);
  else output.print([isThere(file) ? `Forgot ${plural(pruned, "tree")}.` : noDatabase(file)]);
  return pruned === undefined ? EXIT.failed : EXIT.ok;
}

/** Undefined when the answer was no. */
async function prune(file: string, before: number, ask: AskPerson | undefined): Promise<number | undefined> {
  await using store = await openRuns(file, "write");
  const [spared] = await store.list({ rootsOnly: true, since: before, limit: 1 });
  if (spared === undefined && ask !== undefined) {
    const roots = await store.list({ rootsOnly: true, limit: MOST_COUNTED + 1 });
    if (roots.length > 0 && !(await ask(everythingGoes(roots.length)))) return undefined;
  }
  const pruned = await store.prune(before);
  // What was forgotten is also no longer in the file.
  if (pruned > 0) await store.vacuum();
  return pruned;
}

/** Enough to know that it is a lot. */
const MOST_COUNTED = 9999;

function everythingGoes(trees: number): string {
  const count = trees > MOST_COUNTED ? `more than ${MOST_COUNTED} trees` : plural(trees, "tree");
  return `This forgets everything that is kept: ${count}. Forget all?`;
}
