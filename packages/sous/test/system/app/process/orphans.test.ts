/** R3 in small: the real command, killed while the most stubborn of programs runs. The whole figure is `npm run soak -- R3`. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { REAL_COMMAND, runOrphanKills, STUBBORN_STRANGER } from "../../../figures/r3-orphans.ts";

test("R3: two seconds after KILL and TERM nothing is left of what a run has started, whatever session it is in", async (context) => {
  const endings = ["KILL", "TERM"] as const;
  const figures = await Promise.all(
    endings.map((ending) =>
      runOrphanKills({ ...REAL_COMMAND, seed: 2, kills: 1, lanes: 1, endings: [ending], shapes: [STUBBORN_STRANGER] }),
    ),
  );
  context.diagnostic(JSON.stringify(figures));
  assert.deepEqual(
    figures.flatMap(({ orphans }) => orphans),
    [],
  );
  assert.ok(figures.every(({ processes }) => processes > 0));
});
