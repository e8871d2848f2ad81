/** `sous replay --tree`: a root and every run below it, folded from the journal as the live view folds it. */

import type { RunRecord } from "../../core/store.ts";
import { type DatabaseFlags, sameDatabase } from "../database-place.ts";
import { changeTo, thisFolder } from "../folders.ts";
import { inertLine } from "../inert.ts";
import { eventsOf, openRuns } from "../open-runs.ts";
import { printJson } from "../output.ts";
import { runJson } from "../run-json.ts";
import { RunTree } from "../run-tree.ts";
import { treeLines } from "../tree.ts";
import { findToRead, type Replay } from "./replay-parts.ts";

export async function replayTree(replay: Replay): Promise<number> {
  const { values, flags, output } = replay;
  await using store = await openRuns(replay.file, "read");
  const { rootId } = await findToRead(store, values.id ?? "");
  const records = await store.tree(rootId);
  if (values.json) {
    printJson({ schema: "sous.tree.v1", root_id: rootId, runs: records.map(runJson) });
    return 0;
  }
  const tree = new RunTree(output.style.glyphs.arrow);
  for await (const event of eventsOf(store, rootId)) tree.apply(event);
  if (records.some(({ status }) => status === "interrupted")) tree.interrupt();
  output.print(treeLines(tree, output.columns, output.style, { withIds: true }));
  const root = records.find(({ id }) => id === rootId);
  if (root?.lost !== undefined)
    output.print(["", `It is not stored to its end, so it cannot be resumed: ${inertLine(root.lost)}`]);
  else if (root?.status === "interrupted")
    output.print(["", `It was interrupted. Continue it: ${resumeCommand(root, flags)}`]);
  return 0;
}

/** As it works when it is typed here. */
function resumeCommand({ rootId, cwd }: RunRecord, flags: DatabaseFlags): string {
  const go = cwd === undefined || cwd === thisFolder() ? "" : `${changeTo(cwd)} && `;
  return `${go}sous resume ${inertLine(rootId, 60)}${sameDatabase(flags)}`;
}
