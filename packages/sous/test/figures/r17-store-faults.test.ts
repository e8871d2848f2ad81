/** R17 in small: some kills, some pages of a full disk, some openings. The whole figure and its planted faults are `npm run soak -- R17`. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { untilShown } from "../until-shown.ts";
import { runFullDisk } from "./r17-full-disk.ts";
import { runStoreKills } from "./r17-kills.ts";
import { runLostStores } from "./r17-lost.ts";
import { runOpenings } from "./r17-openings.ts";

suite("R17: a database has everything that was stored in it, and is never called damaged", () => {
  test("after kills while it is made, checkpointed and closed", async (context) => {
    await untilShown(
      async () => {
        const seed = Math.floor(Math.random() * 2 ** 31);
        const figure = await runStoreKills({ seed, kills: 6 });
        context.diagnostic(JSON.stringify(figure));
        assert.deepEqual(figure.broken, []);
        return figure;
      },
      (figures) => figures.some(({ logs, journals, halfMade }) => logs + journals + halfMade > 0),
    );
  });

  test("after a disk was full at a page of its last checkpoint", async (context) => {
    const figure = await runFullDisk({ step: 3 });
    context.diagnostic(JSON.stringify(figure));
    assert.deepEqual(figure.broken, []);
    assert.ok(figure.cutCheckpoints > 3, JSON.stringify(figure));
  });

  test("beside a process that writes", async (context) => {
    const figure = await runOpenings({ openings: 50 });
    context.diagnostic(JSON.stringify(figure));
    assert.deepEqual(figure.broken, []);
  });
});

test("R17: a run whose store was away to its end is refused, and nothing is done twice", async (context) => {
  await untilShown(
    async (seed) => {
      const figure = await runLostStores({ seed, trials: 3 });
      context.diagnostic(JSON.stringify(figure));
      assert.deepEqual(figure.broken, []);
      return figure;
    },
    (figures) => figures.some(({ refused }) => refused > 0) && figures.some(({ killed }) => killed > 0),
  );
});
