/** `sous replay --rerun`: plays a stored tree again from its recorded answers, and says whether it came out the same. */

import { rerun } from "../../rerun.ts";
import { readOnlyTools } from "../../tools/read-only.ts";
import { EXIT } from "../exit-codes.ts";
import { openRuns } from "../stored/database.ts";
import { plural } from "../terminal/figures.ts";
import { inert, inertLine } from "../terminal/inert.ts";
import { catchInterrupts } from "../terminal/interrupts.ts";
import { printJson } from "../terminal/output.ts";
import { RunTree } from "../view/run-tree.ts";
import { treeLines } from "../view/tree-lines.ts";
import { findToRead, type Replay } from "./request.ts";

export async function replayRerun({ values, file, output }: Replay): Promise<number> {
  using interrupt = catchInterrupts();
  await using store = await openRuns(file, "read");
  const { rootId } = await findToRead(store, values.id ?? "");
  const played = await rerun(rootId, {
    store,
    liveTools: values["live-tools"],
    tools: readOnlyTools({ root: process.cwd() }),
    signal: interrupt.signal,
  });
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
