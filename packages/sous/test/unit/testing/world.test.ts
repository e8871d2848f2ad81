/** The world: an order and a time that follow from the seed, and hangs that are found. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { suite, test } from "node:test";
import { createWorld, seededRandom, VirtualClock, type World, WorldStuck } from "../../../src/testing/world.ts";

/** Five workers with three turns each; the order in which they get them. */
async function race(seed: number): Promise<{ order: string; world: World }> {
  const world = createWorld({ seed });
  let order = "";
  await world.run(() =>
    Promise.all(
      [..."abcde"].map(async (name) => {
        for (let turn = 0; turn < 3; turn++) {
          await world.turn(name);
          order += name;
        }
      }),
    ),
  );
  return { order, world };
}

suite("a world", () => {
  test("a world gives turns in an order that follows from its seed", async () => {
    assert.equal((await race(7)).order, (await race(7)).order);
    assert.equal((await race(7)).world.steps, (await race(7)).world.steps);
    const orders = new Set(await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(async (seed) => (await race(seed)).order)));
    assert.equal(orders.size, 8);
  });

  test("a world moves time only when no part has a turn to take", async () => {
    const world = createWorld({ seed: 1, lateness: 0, startTime: 1_000 });
    const seen: [string, number][] = [];
    await world.run(async () => {
      const alarm = Promise.withResolvers<void>();
      world.clock.timer(50, () => {
        seen.push(["alarm", world.clock.now()]);
        alarm.resolve();
      });
      for (let turn = 0; turn < 3; turn++) {
        await world.turn("worker");
        seen.push(["turn", world.clock.now()]);
      }
      await alarm.promise;
    });
    assert.deepEqual(seen, [
      ["turn", 1_000],
      ["turn", 1_000],
      ["turn", 1_000],
      ["alarm", 1_050],
    ]);
  });

  test("a world fires timers by their time, and those that were disposed not at all", async () => {
    const world = createWorld({ seed: 1 });
    const fired: number[] = [];
    await world.run(async () => {
      const done = Promise.withResolvers<void>();
      for (const delay of [30, 10, 20]) world.clock.timer(delay, () => fired.push(delay));
      world.clock.timer(15, () => fired.push(15))[Symbol.dispose]();
      world.clock.timer(40, () => done.resolve());
      await done.promise;
    });
    assert.deepEqual(fired, [10, 20, 30]);
    assert.deepEqual([world.clock.monotonic(), world.clock.liveTimers], [40, 0]);
  });

  test("a world lets wall time jump without moving timers", () => {
    const clock = new VirtualClock(5_000);
    clock.timer(10, () => {});
    clock.jump(-3_000);
    assert.deepEqual([clock.now(), clock.monotonic()], [2_000, 0]);
    assert.equal(
      clock.fireNext(() => 0),
      true,
    );
    assert.deepEqual([clock.now(), clock.monotonic()], [2_010, 10]);
  });

  test("a world lets some turns come late, so that deadlines can pass first", async () => {
    const lateness = async (seed: number) => {
      const world = createWorld({ seed, lateness: 0.5, maxDelayMs: 100 });
      await world.run(() => world.turn("worker"));
      return world.clock.monotonic();
    };
    const delays = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(lateness));
    assert.ok(delays.includes(0) && delays.some((delay) => delay > 0 && delay <= 100), delays.join());
  });

  test("a world returns what the work returns and throws what it throws", async () => {
    const world = createWorld({ seed: 1 });
    assert.equal(await world.run(async () => 42), 42);
    await assert.rejects(
      world.run(async () => {
        await world.turn("worker");
        throw new Error("broken");
      }),
      { message: "broken" },
    );
  });

  test("a world waits for what is queued for the end of a round before it calls anything a hang", async () => {
    const world = createWorld({ seed: 1 });
    const chain = async () => {
      for (let round = 0; round < 12; round++) await new Promise((resolve) => setImmediate(resolve));
      return "through";
    };
    assert.equal(await world.run(chain), "through");
  });

  test("a world lets files be read before it moves time", async () => {
    const world = createWorld({ seed: 1, lateness: 0, maxMs: 60_000 });
    let seconds = 0;
    const tick = () => {
      world.clock.timer(1_000, () => {
        seconds += 1;
        tick();
      });
    };
    tick();
    const text = await world.run(async () => {
      for (let round = 0; round < 50; round++) await readFile(import.meta.filename);
      return await readFile(import.meta.filename, "utf8");
    });
    assert.match(text, /before it moves time/);
    assert.equal(seconds, 0);
  });

  test("a world finds a hang, and says its seed and who is waiting", async () => {
    const world = createWorld({ seed: 99 });
    await assert.rejects(
      world.run(
        async () => {
          await world.turn("worker");
          await new Promise(() => {});
        },
        () => ["lead after turn-start 1"],
      ),
      (error) => {
        assert.ok(error instanceof WorldStuck);
        assert.match(
          error.message,
          /^Nothing more can happen, seed 99, step 1, \d+ ms\nStill waiting:\n {2}lead after turn-start 1$/,
        );
        return true;
      },
    );
  });

  test("a world finds work that never ends, by turns and by timers", async () => {
    const busy = createWorld({ seed: 1, maxSteps: 50, lateness: 0 });
    await assert.rejects(
      busy.run(async () => {
        for (;;) await busy.turn("worker");
      }),
      { name: "WorldStuck", message: /^No end after 50 steps, seed 1/ },
    );
    const ticking = createWorld({ seed: 1 });
    const tick = () => void ticking.clock.timer(3_600_000, tick);
    await assert.rejects(
      ticking.run(() => {
        tick();
        return new Promise(() => {});
      }),
      { name: "WorldStuck", message: /^No end after 604800000 ms, seed 1/ },
    );
  });

  test("a world makes ids that are unique, sorted and the same for the same seed", () => {
    const ids = (seed: number) => {
      const { nextId } = createWorld({ seed });
      return [nextId(), nextId(), nextId()];
    };
    assert.deepEqual(ids(3), ids(3));
    assert.notDeepEqual(ids(3), ids(4));
    assert.deepEqual(ids(3), [...new Set(ids(3))].sort());
  });
});

test("seeded rows of random numbers are spread evenly and do not depend on each other", () => {
  const row = (name: string) => {
    const random = seededRandom(42, name);
    return Array.from({ length: 4_000 }, () => random());
  };
  const first = row("a");
  assert.deepEqual(row("a"), first);
  assert.notDeepEqual(row("b").slice(0, 5), first.slice(0, 5));
  const buckets = new Array<number>(10).fill(0);
  for (const value of first) buckets[Math.floor(value * 10)] = (buckets[Math.floor(value * 10)] ?? 0) + 1;
  assert.ok(
    buckets.every((count) => count > 320 && count < 480),
    buckets.join(),
  );
});
