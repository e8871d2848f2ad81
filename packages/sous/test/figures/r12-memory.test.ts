/** R12: the figure itself, since it takes no longer than a share of it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { untilShown } from "../until-shown.ts";
import { measureMemory } from "./r12-memory.ts";

const ALLOWED_MEGABYTES = 64;

test("R12: 100 MB of tool output and a prompt of 10 MB take less than 64 MB of memory", async (context) => {
  await untilShown(
    async () => {
      const figure = await measureMemory(100, 10);
      context.diagnostic(JSON.stringify(figure));
      assert.ok(figure.shownBytes > 40_000 && figure.shownBytes < 50_000, JSON.stringify(figure));
      // A measure that sees nothing would be content with everything: the prompt itself must be in it.
      assert.ok(figure.promptGrowthMegabytes > 9, JSON.stringify(figure));
      return figure;
    },
    // When the garbage collector runs is not ours to say: what is still needed when it has run shows in the least of some rounds.
    (figures) =>
      figures.some(
        ({ outputGrowthMegabytes, promptGrowthMegabytes }) =>
          Math.max(outputGrowthMegabytes, promptGrowthMegabytes) < ALLOWED_MEGABYTES,
      ),
  );
});
