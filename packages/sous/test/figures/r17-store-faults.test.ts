/** R17 in small: some kills, some pages of a full disk, some openings. The whole figure is `npm run soak`. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { runFullDisk } from "./r17-full-disk.ts";
import { runStoreKills } from "./r17-kills.ts";
import { runLostStores } from "./r17-lost.ts";
import { runOpenings } from "./r17-openings.ts";

suite("R17: a database has everything that was stored in it, and is never called damaged", () => {
  test("after kills while it is made, checkpointed and closed", async (context) => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const figure = await runStoreKills({ seed, kills: 6 });
    context.diagnostic(JSON.stringify(figure));
    assert.deepEqual(figure.broken, []);
    // Kills that hit nothing would show nothing.
    assert.ok(figure.logs + figure.journals + figure.halfMade > 0, JSON.stringify(figure));
  });

  test("after a disk was full at a page of its last checkpoint", async (context) => {
    const figure = await runFullDisk({ step: 3 });
    context.diagnostic(JSON.stringify(figure));
    assert.deepEqual(figure.broken, []);
    assert.ok(figure.cutCheckpoints > 3, JSON.stringify(figure));
  });

  test("beside a process that writes", async (context) => {
    const figure = await runOpenings({ openings: 100 });
    context.diagnostic(JSON.stringify(figure));
    assert.deepEqual(figure.broken, []);
  });
});

test("R17: a run whose store was away to its end is refused, and nothing is done twice", async (context) => {
  const figure = await runLostStores({ seed: 1, trials: 3 });
  context.diagnostic(JSON.stringify(figure));
  assert.deepEqual(figure.broken, []);
  assert.ok(figure.refused > 0 && figure.killed > 0, JSON.stringify(figure));
});

suite("R17: the figure finds", () => {
  test("a database that is judged by its file alone, whatever lies beside it", async () => {
    const { broken } = await runFullDisk({ step: 6, isMutant: true });
    assert.match(broken.flatMap(({ problems }) => problems).join("\n"), /is damaged/);
  });

  test("a run of which only its store is told that it was lost", async () => {
    const mutation = { guard: "mark-a-lost-run", replace: "return false;" };
    const { broken } = await runLostStores({ seed: 1, trials: 1, mutation });
    assert.match(broken.flatMap(({ problems }) => problems).join("\n"), /Paid twice/);
  });
});
