/** `sous replay --tree`: a root and every run below it, folded from the journal as the live view folds it. */

import { findRun } from "../find-run.ts";
import { inertLine } from "../inert.ts";
import { eventsOf, openRuns } from "../open-runs.ts";
import { printJson } from "../output.ts";
import { runJson } from "../run-json.ts";
import { RunTree } from "../run-tree.ts";
import { treeLines } from "../tree.ts";
import type { Replay } from "./replay-parts.ts";

export async function replayTree(replay: Replay): Promise<number> {
  const { values, output } = replay;
  await using store = await openRuns(replay.file, "read");
  const { rootId } = await findRun(store, values.id ?? "");
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
  if (root?.status === "interrupted")
    output.print(["", `Nobody works on it: sous resume ${inertLine(rootId, 60)} goes on with it.`]);
  if (root?.lost !== undefined) output.print(["", `Not all of it was kept: ${inertLine(root.lost)}`]);
  return 0;
}
