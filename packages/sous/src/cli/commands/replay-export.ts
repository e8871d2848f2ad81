/** `sous replay --export`: a tree as one file, for people or for another database. */

import { exportFile } from "../assemble.ts";
import { findRun } from "../find-run.ts";
import { inertLine } from "../inert.ts";
import { openRuns } from "../open-runs.ts";
import { readWord } from "../options.ts";
import { tell } from "../output.ts";
import { writePrivate } from "../write-private.ts";
import type { Replay } from "./replay-parts.ts";

export async function replayExport({ values, file }: Replay): Promise<number> {
  const format = readWord("export", values.export ?? "", ["md", "json", "html"]);
  await using store = await openRuns(file, "read");
  const { rootId } = await findRun(store, values.id ?? "");
  const text = await exportFile(store, rootId, format);
  if (values.output === undefined || values.output === "-") process.stdout.write(text);
  else {
    await writePrivate(values.output, text, values.force);
    tell(`Tree ${inertLine(rootId, 60)} is in ${inertLine(values.output)}.`);
  }
  return 0;
}
