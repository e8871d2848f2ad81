/** G7 in small: some kills of processes on a tree that parks. All of them are `npm run soak -- G7`. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { runParkKills } from "./park-kills.ts";

const KILLS = 5;

test(`G7: a parked question is answered in another process once, and nothing is lost or done twice, in ${KILLS} kills`, async (context) => {
  const figure = await runParkKills({ kills: KILLS, every: 11 });
  context.diagnostic(
    `G7: ${figure.kills} kills, ${figure.processes} processes that continued; ${figure.broken.length} broken; ${figure.milliseconds} ms`,
  );
  assert.deepEqual(figure.broken, []);
});
