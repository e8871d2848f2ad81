/** The deadlines of a tree: one timer, however many there are. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Clock, Deadline } from "../../../../src/core/clock.ts";
import { createDeadlines } from "../../../../src/runtime/budget/deadlines.ts";
import { between, seededRandom } from "../../../../src/testing/world.ts";

suite("deadlines", () => {
  test("deadlines are called in the order they are due, equals in the order they were set, each once", () => {
    const { clock, deadlines, due } = setUp();
    for (const [name, milliseconds] of [
      ["c", 300],
      ["a", 100],
      ["b1", 200],
      ["b2", 200],
    ] as const) {
      deadlines.add(milliseconds, () => due.push(`${name} at ${clock.monotonic()}`));
    }
    assert.deepEqual(due, []);
    clock.advance(250);
    assert.deepEqual(due, ["a at 100", "b1 at 200", "b2 at 200"]);
    clock.advance(10_000);
    assert.deepEqual(due, ["a at 100", "b1 at 200", "b2 at 200", "c at 300"]);
    assert.equal(clock.timers.size, 0);
  });

  test("deadlines share one timer, which is not set again for a later one and cleared with the last", () => {
    const { clock, deadlines } = setUp();
    const first = deadlines.add(100, () => {});
    const later = Array.from({ length: 1_000 }, (_, index) => deadlines.add(200 + index, () => {}));
    assert.deepEqual([clock.timers.size, clock.set], [1, 1]);
    first[Symbol.dispose]();
    for (const deadline of later) {
      assert.equal(clock.timers.size, 1);
      deadline[Symbol.dispose]();
    }
    assert.deepEqual([clock.timers.size, clock.set], [0, 1]);
  });

  test("deadlines that were disposed are not called, nor called again by a second disposal", () => {
    const { clock, deadlines, due } = setUp();
    const dropped = deadlines.add(100, () => due.push("dropped"));
    const other = deadlines.add(100, () => due.push("other"));
    dropped[Symbol.dispose]();
    dropped[Symbol.dispose]();
    clock.advance(100);
    other[Symbol.dispose]();
    assert.deepEqual(due, ["other"]);
    assert.deepEqual([dropped.remaining(), other.remaining()], [0, 0]);
  });

  test("deadlines may be disposed by an earlier one in the same moment", () => {
    const { clock, deadlines, due } = setUp();
    let second: Deadline | undefined;
    deadlines.add(100, () => second?.[Symbol.dispose]());
    second = deadlines.add(100, () => due.push("second"));
    clock.advance(100);
    assert.deepEqual([due, clock.timers.size], [[], 0]);
  });

  test("deadlines stand still while paused, until every pause has ended", () => {
    const { clock, deadlines, due } = setUp();
    const deadline = deadlines.add(100, () => due.push(`at ${clock.monotonic()}`));
    clock.advance(40);
    deadline.pause();
    deadline.pause();
    assert.equal(clock.timers.size, 0);
    clock.advance(1_000);
    deadline.resume();
    assert.equal(deadline.remaining(), 60);
    clock.advance(1_000);
    deadline.resume();
    deadline.resume();
    assert.equal(deadline.remaining(), 60);
    clock.advance(59);
    assert.deepEqual(due, []);
    clock.advance(1);
    assert.deepEqual(due, ["at 2100"]);
    deadline.pause();
    deadline.resume();
    clock.advance(1_000);
    assert.deepEqual([due, clock.timers.size], [["at 2100"], 0]);
  });

  test("deadlines that are paused can be disposed", () => {
    const { clock, deadlines } = setUp();
    const deadline = deadlines.add(100, () => assert.fail("disposed"));
    deadline.pause();
    deadline[Symbol.dispose]();
    deadline.resume();
    clock.advance(1_000);
    assert.equal(clock.timers.size, 0);
  });

  test("deadlines over 2^31 milliseconds away are reached in steps a timer can take, and one for ever needs no timer", () => {
    const { clock, deadlines, due } = setUp();
    deadlines.add(Number.POSITIVE_INFINITY, () => due.push("never"));
    assert.equal(clock.timers.size, 0);
    deadlines.add(2 ** 32, () => due.push(`at ${clock.monotonic()}`));
    clock.advance(2 ** 32 - 1);
    assert.deepEqual(due, []);
    clock.advance(1);
    assert.deepEqual([due, clock.longest], [[`at ${2 ** 32}`], 2 ** 31 - 1]);
  });

  test("deadlines of no time at all are called by the timer, not at once, and one that sets itself again does not spin", () => {
    const { clock, deadlines, due } = setUp();
    const again = (): void => {
      due.push("again");
      if (due.length < 3) deadlines.add(0, again);
    };
    deadlines.add(-5, again);
    assert.deepEqual(due, []);
    clock.fireOne();
    assert.deepEqual(due, ["again"]);
    clock.advance(0);
    assert.deepEqual(due, ["again", "again", "again"]);
  });

  test("deadlines that throw do not stop the others", () => {
    const { clock, deadlines, due } = setUp();
    deadlines.add(100, () => {
      throw new Error("a fault of the callback");
    });
    deadlines.add(100, () => due.push("other"));
    assert.throws(() => clock.advance(100), { message: "a fault of the callback" });
    clock.advance(0);
    assert.deepEqual(due, ["other"]);
  });

  test("deadlines wait for a timer that fires early to fire again", () => {
    const { clock, deadlines, due } = setUp();
    deadlines.add(100, () => due.push("due"));
    clock.fireOne({ early: true });
    assert.deepEqual([due, clock.timers.size], [[], 1]);
    clock.advance(100);
    assert.deepEqual(due, ["due"]);
  });

  for (const seed of [7, 8]) {
    test(`deadlines are due exactly when a plain list says so, whatever is added, paused and removed (seed ${seed})`, () => {
      const random = seededRandom(seed);
      const { clock, deadlines } = setUp();
      const live = new Map<Deadline, { left: number; paused: boolean }>();
      for (let step = 0; step < 5_000; step++) {
        const chosen = [...live.keys()][between(random, 0, Math.max(0, live.size - 1))];
        const action = random();
        if (action < 0.4 || chosen === undefined) {
          const left = between(random, 0, 500);
          const deadline = deadlines.add(left, () => {
            assert.deepEqual(live.get(deadline), { left: 0, paused: false });
            live.delete(deadline);
          });
          live.set(deadline, { left, paused: false });
        } else if (action < 0.6) {
          chosen[Symbol.dispose]();
          live.delete(chosen);
        } else if (action < 0.8) {
          const state = live.get(chosen);
          assert.ok(state !== undefined);
          if (state.paused) chosen.resume();
          else chosen.pause();
          state.paused = !state.paused;
        } else {
          // A millisecond at a time, so that the list knows as exactly as the heap.
          for (let passed = between(random, 1, 40); passed > 0; passed--) {
            for (const state of live.values()) if (!state.paused) state.left = Math.max(0, state.left - 1);
            clock.advance(1);
          }
          for (const [deadline, { left, paused }] of live) {
            assert.equal(deadline.remaining(), left);
            assert.ok(paused || left > 0);
          }
        }
        assert.ok(clock.timers.size <= 1);
      }
    });
  }
});

function setUp() {
  const clock = new StepClock();
  return { clock, deadlines: createDeadlines(clock), due: [] as string[] };
}

/** A clock that stands still until it is moved, and knows its timers. */
class StepClock implements Clock {
  readonly timers = new Set<{ due: number; callback: () => void }>();
  set = 0;
  longest = 0;
  #now = 0;

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  timer(milliseconds: number, callback: () => void): Disposable {
    const timer = { due: this.#now + milliseconds, callback };
    this.timers.add(timer);
    this.set += 1;
    this.longest = Math.max(this.longest, milliseconds);
    return { [Symbol.dispose]: () => void this.timers.delete(timer) };
  }

  advance(milliseconds: number): void {
    const end = this.#now + milliseconds;
    while ([...this.timers].some(({ due }) => due <= end)) this.fireOne();
    this.#now = end;
  }

  fireOne({ early = false } = {}): void {
    const [timer] = [...this.timers].sort((one, other) => one.due - other.due);
    if (timer === undefined) return;
    this.timers.delete(timer);
    if (!early) this.#now = Math.max(this.#now, timer.due);
    timer.callback();
  }
}
