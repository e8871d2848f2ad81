/** `sous replay --import`, `--backup` and `--prune`: trees come into a database, are copied, and are forgotten. */

import { importFile, openDatabase } from "../assemble.ts";
import { plural } from "../figures.ts";
import { inertLine } from "../inert.ts";
import { isThere, noDatabase, openRuns } from "../open-runs.ts";
import { readMoment } from "../options.ts";
import { printJson } from "../output.ts";
import { readForeign } from "../read-foreign.ts";
import type { Replay } from "./replay-parts.ts";

export async function replayImport({ values, file, output }: Replay): Promise<number> {
  const text = await readForeign(values.import ?? "");
  // A database is made when there is none: whoever brings a tree wants it kept.
  await using store = await openDatabase(file, { readOnly: false });
  const { rootId, runs, events } = await importFile(store, text, values["new-ids"]);
  const id = inertLine(rootId, 60);
  if (values.json) printJson({ schema: "sous.import.v1", root_id: rootId, runs, events });
  else
    output.print([
      `Took in tree ${id}: ${plural(runs, "run")}, ${plural(events, "event")}.`,
      `Look at it: sous replay --tree --id ${id}`,
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

export async function replayPrune({ values, file, output }: Replay): Promise<number> {
  const before = readMoment("prune", values.prune ?? "", Date.now());
  const pruned = isThere(file) ? await prune(file, before) : 0;
  if (values.json) printJson({ schema: "sous.prune.v1", trees: pruned });
  else output.print([isThere(file) ? `Forgot ${plural(pruned, "tree")}.` : noDatabase(file)]);
  return 0;
}

async function prune(file: string, before: number): Promise<number> {
  await using store = await openRuns(file, "write");
  const pruned = await store.prune(before);
  // What was forgotten is also no longer in the file.
  if (pruned > 0) await store.vacuum();
  return pruned;
}
