/** `sous replay --rerun`: plays a kept tree again from its recorded answers, and says whether it came out the same. */

import { rerunStored } from "../assemble.ts";
import { EXIT } from "../exit-codes.ts";
import { plural } from "../figures.ts";
import { inert, inertLine } from "../inert.ts";
import { catchInterrupts } from "../interrupts.ts";
import { openRuns } from "../open-runs.ts";
import { printJson } from "../output.ts";
import { RunTree } from "../run-tree.ts";
import { treeLines } from "../tree.ts";
import { findToRead, type Replay } from "./replay-parts.ts";

export async function replayRerun({ values, file, output }: Replay): Promise<number> {
  using interrupt = catchInterrupts();
  await using store = await openRuns(file, "read");
  const { rootId } = await findToRead(store, values.id ?? "");
  const { signal } = interrupt;
  const played = await rerunStored(store, rootId, { liveTools: values["live-tools"], signal, cwd: process.cwd() });
  const { matches, firstDifference: difference, endsEarly, events } = played;
  if (values.json) {
    const { path, step, at, expected = null, found = null, sentence } = difference ?? {};
    printJson({
      schema: "sous.rerun.v1",
      root_id: rootId,
      matches,
      first_difference: difference === undefined ? null : { path, step, at, expected, found, sentence },
      ends_early: endsEarly ?? null,
      events: events.length,
    });
    return matches ? EXIT.ok : EXIT.mismatch;
  }
  const { style, columns, print } = output;
  const tree = new RunTree(style.glyphs.arrow);
  for (const event of events) tree.apply(event);
  print([...treeLines(tree, columns, style, { withoutTimes: true }), ""]);
  if (matches) print([`${style.paint("green", "identical")}: ${plural(events.length, "step")} as recorded`]);
  else print([`${style.paint("red", "differs")}: ${inert(difference?.sentence ?? "")}`]);
  if (endsEarly !== undefined) print([inertLine(endsEarly)]);
  return matches ? EXIT.ok : EXIT.mismatch;
}
