/** `sous replay --export` and `--save-cassette`: a run as one file, for people, for another database or for tests. */

import { lstatSync } from "node:fs";
import { visibleJson } from "../../core/clean-text.ts";
import { exportFile, saveAsCassette } from "../assemble.ts";
import { CommandError } from "../exit-codes.ts";
import { inertLine } from "../inert.ts";
import { openRuns } from "../open-runs.ts";
import { readWord } from "../options.ts";
import { tell } from "../output.ts";
import { writePrivate } from "../write-private.ts";
import { findToRead, type Replay } from "./replay-parts.ts";

export async function replayExport({ values, file }: Replay): Promise<number> {
  const format = readWord("export", values.export ?? "", ["md", "json", "html"]);
  await using store = await openRuns(file, "read");
  const { rootId } = await findToRead(store, values.id ?? "");
  const exported = await exportFile(store, rootId, format);
  // JSON leaves some codes of terminals as they are; as escapes they say the same to whoever reads the file.
  const text = format === "json" ? visibleJson(exported) : exported;
  if (values.output === undefined || values.output === "-") process.stdout.write(text);
  else {
    await writePrivate(values.output, text, values.force);
    tell(`Tree ${inertLine(rootId, 60)} is in ${inertLine(values.output)}.`);
  }
  return 0;
}

/** Not private: a cassette lies beside the tests that play it. */
export async function replayCassette({ values, file }: Replay): Promise<number> {
  const target = values["save-cassette"] ?? "";
  const shown = inertLine(target);
  await using store = await openRuns(file, "read");
  const { id } = await findToRead(store, values.id ?? "");
  if (!values.force && lstatSync(target, { throwIfNoEntry: false }) !== undefined)
    throw new CommandError(`${shown} is there already; --force replaces it`);
  await saveAsCassette(store, id, target);
  tell(`Run ${inertLine(id, 60)} is in ${shown}: cassetteModel(${JSON.stringify(shown)}) of sous/testing plays it.`);
  return 0;
}
