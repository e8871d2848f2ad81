/** Ids: ULIDs from an injected clock and source of chance, monotonic also when the clock stands still or steps back. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { ulidSource } from "../../../src/core/ulid.ts";
import { calls, says } from "../../../src/testing/steps.ts";
import { openStage } from "../../support/requirements/support.ts";

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

suite("a ULID", () => {
  test("a ULID begins with its time and ends with chance, in Crockford's letters", () => {
    // The example of the specification: 1469918176385 ms is 01ARYZ6S41.
    const next = ulidSource(
      () => 1469918176385,
      () => 0,
    );
    assert.equal(next(), "01ARYZ6S410000000000000000");
    assert.equal(
      ulidSource(
        () => 1469918176385,
        () => 0.999999,
      )(),
      "01ARYZ6S41ZZZZZZZZZZZZZZZZ",
    );
  });

  test("a ULID within one millisecond is one more than the one before", () => {
    const next = ulidSource(
      () => 1469918176385,
      () => 31 / 32,
    );
    const ids = [next(), next(), next()];
    assert.deepEqual(ids, ["01ARYZ6S41ZZZZZZZZZZZZZZZZ", ids[1], ids[2]]);
    assert.deepEqual(ids, [...ids].sort());
    assert.equal(new Set(ids).size, 3);
  });

  test("a ULID never steps back, whatever the clock does, and is never given twice", () => {
    const property = fc.property(
      fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 2, maxLength: 60 }),
      fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 1, maxLength: 5 }),
      (times, chances) => {
        let call = 0;
        let draw = 0;
        const next = ulidSource(
          () => 1_700_000_000_000 + (times[call++ % times.length] ?? 0),
          () => chances[draw++ % chances.length] ?? 0,
        );
        const ids = Array.from({ length: times.length * 2 }, next);
        for (const id of ids) assert.match(id, ULID);
        assert.deepEqual(ids, [...new Set(ids)].sort());
      },
    );
    fc.assert(property, { numRuns: 300 });
  });

  test("a hundred thousand ULIDs in one millisecond are unique", () => {
    const next = ulidSource(() => 1_700_000_000_000, Math.random);
    assert.equal(new Set(Array.from({ length: 100_000 }, next)).size, 100_000);
  });

  test("a ULID names every run of a tree, the same for the same seed", async () => {
    const ids = async (seed: number) => {
      const spawn = calls("parallel_subagent", {
        tasks: ["a", "b", "c"].map((label) => ({ label, task_prompt: label })),
      });
      const stage = openStage({ lead: [spawn, says("Done.")], "lead/*": [says("Seen.")] }, { seed });
      const { agents } = await stage.run(stage.lead());
      return agents.map(({ id }) => id);
    };
    const first = await ids(1);
    for (const id of first) assert.match(id, ULID);
    assert.deepEqual(first, [...new Set(first)].sort(), "parents before children");
    assert.deepEqual(await ids(1), first);
    assert.notDeepEqual(await ids(2), first);
  });
});
