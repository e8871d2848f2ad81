/** `sous replay --export`, `--save-cassette`, `--import`, `--backup` and `--prune`: writes, reads, copies and deletes trees. */

import { lstatSync } from "node:fs";
import { visibleJson } from "../../../core/clean-text.ts";
import { exportTree } from "../../../storage/store/export/tree.ts";
import { importTree } from "../../../storage/store/import/tree.ts";
import type { ReplayRequest } from "../commands/replay.ts";
import { CommandError, EXIT } from "../exit-codes.ts";
import { readForeign, writePrivate } from "../files/file-access.ts";
import { isThere, noDatabase, openDatabase, openRuns, sameDatabase } from "../stored/database.ts";
import { findToRead } from "../stored/find-run.ts";
import { type AskPerson, personAtTerminal, printJson, tell } from "../terminal/output.ts";
import { inertLine, plural } from "../terminal/text.ts";

export async function replayExport({ values, file }: ReplayRequest): Promise<number> {
  const format = values.export ?? "md";
  await using store = await openRuns(file, "read");
  const { rootId } = await findToRead(store, values.id ?? "");
  const exported = await exportTree(store, rootId, format);
  // JSON leaves some codes of terminals as they are; as escapes they mean the same to a reader of the file.
  const text = format === "json" ? visibleJson(exported) : exported;
  if (values.output === undefined || values.output === "-") process.stdout.write(text);
  else {
    await writePrivate(values.output, text, values.force);
    tell(`Tree ${inertLine(rootId, 60)} is in ${inertLine(values.output)}.`);
  }
  return 0;
}

/** The file is not private: a cassette lies beside the tests that play it. */
export async function replayCassette({ values, file }: ReplayRequest): Promise<number> {
  const target = values["save-cassette"] ?? "";
  const shown = inertLine(target);
  await using store = await openRuns(file, "read");
  const { id } = await findToRead(store, values.id ?? "");
  if (!values.force && lstatSync(target, { throwIfNoEntry: false }) !== undefined)
    throw new CommandError(`${shown} already exists; --force replaces it`);
  const { saveCassette } = await import("../../../cassette.ts");
  await saveCassette(store, id, target);
  tell(`Run ${inertLine(id, 60)} is in ${shown}: cassetteModel(${JSON.stringify(shown)}) of sous/testing plays it.`);
  return 0;
}

export async function replayImport({ values, file, flags, output }: ReplayRequest): Promise<number> {
  const text = await readForeign(values.import ?? "");
  // Creates the database if it does not exist.
  await using store = await openDatabase(file, { readOnly: false });
  const { rootId, runs, events } = await importTree(store, text, { newIds: values["new-ids"] });
  const id = inertLine(rootId, 60);
  if (values.json) printJson({ schema: "sous.import.v1", root_id: rootId, runs, events });
  else
    output.print([
      `Imported tree ${id}: ${plural(runs, "run")}, ${plural(events, "event")}.`,
      `Look at it: sous replay --tree --id ${id}${sameDatabase(flags)}`,
    ]);
  return 0;
}

export async function replayBackup({ values, file, output }: ReplayRequest): Promise<number> {
  const target = values.backup ?? "";
  await using store = await openRuns(file, "read");
  if (store.backup === undefined)
    throw new CommandError("--backup copies a database in a file; pg_dump makes a copy of one in Postgres");
  await store.backup(target);
  if (values.json) printJson({ schema: "sous.backup.v1", file: target });
  else output.print([`A copy of ${inertLine(file)} is in ${inertLine(target)}.`]);
  return 0;
}

/** A script is not asked. A person who would delete everything is asked once. */
export async function replayPrune(
  { values, file, output }: ReplayRequest,
  ask: AskPerson | undefined = personAtTerminal(),
): Promise<number> {
  const before = values.prune ?? 0;
  const pruned = isThere(file) ? await prune(file, before, values.yes ? undefined : ask) : 0;
  if (values.json) printJson({ schema: "sous.prune.v1", trees: pruned ?? 0 });
  else if (pruned === undefined) output.print(["Nothing was deleted."]);
  else output.print([isThere(file) ? `Deleted ${plural(pruned, "tree")}.` : noDatabase(file)]);
  return pruned === undefined ? EXIT.failed : EXIT.ok;
}

/** Undefined when the answer was no. */
async function prune(file: string, before: number, ask: AskPerson | undefined): Promise<number | undefined> {
  await using store = await openRuns(file, "write");
  const [spared] = await store.list({ rootsOnly: true, since: before, limit: 1 });
  if (spared === undefined && ask !== undefined) {
    const roots = await store.list({ rootsOnly: true, limit: MAX_COUNTED + 1 });
    if (roots.length > 0 && !(await ask(everythingGoes(roots.length)))) return undefined;
  }
  const pruned = await store.prune(before);
  // Removes what was deleted from the file, too.
  if (pruned > 0) await store.vacuum?.();
  return pruned;
}

/** Enough to know that it is a lot. */
const MAX_COUNTED = 9999;

function everythingGoes(trees: number): string {
  const count = trees > MAX_COUNTED ? `more than ${MAX_COUNTED} trees` : plural(trees, "tree");
  return `This deletes everything that is stored: ${count}. Delete all?`;
}
