/** The journal: numbered, kept, then shown, whatever the store and the listeners do. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { StoreError } from "../../../../src/core/errors.ts";
import type { SousEvent } from "../../../../src/core/event.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { journalOn, LEAD, passTime, SCOUT, steer, textDelta, ticks, WritesInHand } from "./journal-fixtures.ts";

suite("a journal on a store that keeps at once", () => {
  test("a journal on a store that keeps at once numbers, keeps and shows every event before append returns", async () => {
    const store = openMemoryStore();
    const { journal } = journalOn(store);
    const seen: SousEvent[] = [];
    journal.subscribe((event) => seen.push(event));
    journal.append(LEAD, { type: "turn-start", turn: 1, promptTokens: 12, reserved: 100 });
    journal.append(SCOUT, steer("only src"));
    assert.equal(journal.settled(), undefined);
    assert.deepEqual(seen, [
      { seq: 1, time: 1_000, ...LEAD, type: "turn-start", turn: 1, promptTokens: 12, reserved: 100 },
      { seq: 2, time: 1_000, ...SCOUT, type: "steer", text: "only src" },
    ]);
    assert.deepEqual(await store.read("lead"), seen);
  });

  test("a journal on a store that keeps at once continues from the number it is given", () => {
    const { journal, shown } = journalOn(new WritesInHand(true), { firstSeq: 41 });
    journal.append(LEAD, steer("a"));
    journal.append(LEAD, steer("b"));
    assert.deepEqual(shown, ["41:a", "42:b"]);
  });

  test("a journal on a store that keeps at once shows events in order when a listener appends while others have yet to see the event before", () => {
    const { journal, shown } = journalOn(new WritesInHand(true));
    const first: string[] = [];
    journal.subscribe((event) => {
      if (event.type === "steer" && event.text === "a") {
        journal.append(LEAD, steer("b"));
        journal.delta(LEAD, textDelta("after b"));
      }
    });
    journal.subscribe((event) => void first.push(event.type === "steer" ? event.text : event.type));
    journal.append(LEAD, steer("a"));
    journal.append(LEAD, steer("c"));
    assert.deepEqual(first, ["a", "b", "text-delta", "c"]);
    assert.deepEqual(shown, ["1:a", "2:b", "after b", "3:c"]);
    assert.equal(journal.settled(), undefined);
  });

  test("a journal on a store that keeps at once queues behind a write that failed until it succeeds, so that order and numbers hold", async () => {
    const store = new WritesInHand(true, "throw", "reject", "at once");
    const { journal, clock, shown } = journalOn(store);
    journal.append(LEAD, steer("a"));
    journal.append(LEAD, steer("b"));
    const settled = journal.settled();
    assert.deepEqual(shown, []);
    await passTime(clock);
    await settled;
    assert.deepEqual(shown, ["1:a", "2:b"]);
    assert.deepEqual(
      store.kept.map(({ seq }) => seq),
      [1, 2],
    );
    assert.equal(journal.degraded, undefined);
  });
});

suite("a journal on a store that is written in batches", () => {
  test("a journal on a store that is written in batches writes what was appended since as one commit, then shows it", () => {
    const store = new WritesInHand(false);
    const { journal, shown, scheduled, runScheduled } = journalOn(store);
    for (const text of ["a", "b", "c"]) journal.append(LEAD, steer(text));
    assert.equal(scheduled.length, 1);
    assert.deepEqual([store.attempts, shown], [[], []]);
    runScheduled();
    assert.deepEqual([store.attempts, shown], [[3], ["1:a", "2:b", "3:c"]]);
    assert.equal(journal.settled(), undefined);
  });

  test("a batch does not grow without end, also when nothing is scheduled for long", () => {
    const store = new WritesInHand(false);
    const { journal, shown, scheduled, runScheduled } = journalOn(store);
    for (let index = 0; index < 2500; index++) journal.append(LEAD, steer(`${index}`));
    assert.deepEqual([store.attempts, shown.length, scheduled.length], [[1024, 1024], 2048, 1]);
    runScheduled();
    assert.deepEqual([store.attempts, shown.length], [[1024, 1024, 452], 2500]);
    assert.equal(journal.settled(), undefined);
  });

  test("a large batch overtakes none that is being written", async () => {
    const store = new WritesInHand(false, "later", "at once");
    const { journal, shown, runScheduled } = journalOn(store);
    journal.append(LEAD, steer("first"));
    runScheduled();
    for (let index = 0; index < 1200; index++) journal.append(LEAD, steer(`${index}`));
    assert.deepEqual([store.attempts, shown], [[1], []]);
    await store.finishWrite();
    runScheduled();
    assert.deepEqual(
      [store.attempts, store.kept.map(({ seq }) => seq)],
      [[1, 1200], shown.map((_, index) => index + 1)],
    );
  });

  test("a journal on a store that is written in batches has one commit in flight; what comes meanwhile is the next one", async () => {
    const store = new WritesInHand(false, "later");
    const { journal, shown, runScheduled } = journalOn(store);
    journal.append(LEAD, steer("a"));
    runScheduled();
    journal.append(LEAD, steer("b"));
    journal.append(LEAD, steer("c"));
    runScheduled();
    assert.deepEqual([store.attempts, shown], [[1], []]);
    await store.finishWrite();
    assert.deepEqual([store.attempts, shown], [[1], ["1:a"]]);
    runScheduled();
    await store.finishWrite();
    assert.deepEqual(
      [store.attempts, shown],
      [
        [1, 2],
        ["1:a", "2:b", "3:c"],
      ],
    );
  });

  test("settled waits for everything appended before it and for nothing that came later", async () => {
    const store = new WritesInHand(false, "later");
    const { journal, runScheduled } = journalOn(store);
    const order: string[] = [];
    journal.append(LEAD, steer("a"));
    const first = journal.settled()?.then(() => order.push("first"));
    runScheduled();
    const whileWriting = journal.settled()?.then(() => order.push("while writing"));
    journal.append(LEAD, steer("b"));
    const second = journal.settled()?.then(() => order.push("second"));
    await ticks();
    assert.deepEqual(order, []);
    await store.finishWrite();
    assert.deepEqual(order, ["first", "while writing"]);
    runScheduled();
    await store.finishWrite();
    await Promise.all([first, whileWriting, second]);
    assert.deepEqual(order, ["first", "while writing", "second"]);
    assert.equal(journal.settled(), undefined);
  });

  test("a run that is alone commits when it settles: one commit a turn and no waiting", () => {
    const store = new WritesInHand(false);
    const { journal, shown, scheduled, runScheduled } = journalOn(store, { isAlone: () => true });
    for (const turn of ["one", "two"]) {
      journal.append(LEAD, steer(`${turn} ends`));
      journal.append(LEAD, steer(`after ${turn}`));
      assert.equal(journal.settled(), undefined);
    }
    assert.deepEqual(store.attempts, [2, 2]);
    assert.deepEqual(shown, ["1:one ends", "2:after one", "3:two ends", "4:after two"]);
    assert.equal(scheduled.length, 1);
    runScheduled();
    assert.deepEqual(store.attempts, [2, 2]);
  });

  test("the store is used as it comes: batches are committed by setImmediate when nothing else is said", async () => {
    const store = new WritesInHand(false);
    const { journal } = journalOn(store, { schedule: undefined });
    journal.append(LEAD, steer("a"));
    journal.append(LEAD, steer("b"));
    await journal.settled();
    assert.deepEqual(store.attempts, [2]);
  });
});

suite("deltas", () => {
  test("deltas are shown at once, without a number, when nothing waits to be kept", () => {
    const { journal } = journalOn(new WritesInHand(false));
    const seen: SousEvent[] = [];
    journal.subscribe((event) => seen.push(event));
    journal.delta(SCOUT, textDelta("Hel"));
    journal.delta(SCOUT, { type: "reasoning-delta", text: "hm" });
    assert.deepEqual(seen, [
      { time: 1_000, ...SCOUT, type: "text-delta", text: "Hel" },
      { time: 1_000, ...SCOUT, type: "reasoning-delta", text: "hm" },
    ]);
    assert.equal(journal.settled(), undefined);
  });

  test("deltas queue at their place among the events that are not yet kept", async () => {
    const store = new WritesInHand(false, "later");
    const { journal, shown, runScheduled, scheduled } = journalOn(store);
    journal.append(LEAD, steer("a"));
    journal.delta(LEAD, textDelta("after a"));
    journal.append(LEAD, steer("b"));
    runScheduled();
    journal.delta(LEAD, textDelta("after b"));
    assert.deepEqual(shown, []);
    await store.finishWrite();
    assert.deepEqual(shown, ["1:a", "after a", "2:b", "after b"]);
    assert.deepEqual(store.attempts, [2]);
    assert.equal(scheduled.length, 0);
  });

  test("deltas are not made without a listener", () => {
    const { journal, shown, listening } = journalOn(new WritesInHand(false));
    assert.equal(journal.isWatched, true);
    listening[Symbol.dispose]();
    assert.equal(journal.isWatched, false);
    let reads = 0;
    journal.delta(LEAD, {
      type: "text-delta",
      get text() {
        reads += 1;
        return "x";
      },
    });
    assert.deepEqual([reads, shown], [0, []]);
  });
});

suite("G3: a store that fails", () => {
  test("a store that fails is tried four times with growing pauses; nothing is shown before it is kept", async () => {
    const store = new WritesInHand(false, "throw", "reject", "throw", "at once");
    const { journal, clock, shown, runScheduled } = journalOn(store);
    journal.append(LEAD, steer("a"));
    const settled = journal.settled();
    runScheduled();
    const times: number[] = [];
    while (shown.length === 0) {
      await ticks();
      assert.ok(clock.fireNext(() => 0));
      times.push(clock.monotonic());
    }
    await settled;
    assert.deepEqual(times, [10, 50, 210]);
    assert.deepEqual(store.attempts, [1, 1, 1, 1]);
    assert.deepEqual(
      store.kept.map(({ seq }) => seq),
      [1],
    );
    assert.deepEqual([shown, journal.degraded], [["1:a"], undefined]);
  });

  test("a store that fails for good marks the tree as degraded, says so once, and the run continues with everything shown once and in order", async () => {
    const store = new WritesInHand(false, "at once", "reject");
    const reasons: string[] = [];
    const { journal, clock, shown, runScheduled } = journalOn(store, { onDegraded: (reason) => reasons.push(reason) });
    journal.append(LEAD, steer("a"));
    runScheduled();
    journal.append(LEAD, steer("b"));
    journal.delta(LEAD, textDelta("after b"));
    const settled = journal.settled();
    runScheduled();
    journal.append(LEAD, steer("c"));
    await ticks();
    await passTime(clock);
    await settled;
    journal.append(LEAD, steer("d"));
    assert.equal(journal.settled(), undefined);
    assert.deepEqual(shown, ["1:a", "2:b", "after b", "3:c", "4:d"]);
    assert.deepEqual(
      store.kept.map(({ seq }) => seq),
      [1],
    );
    assert.deepEqual(store.attempts, [1, 1, 1, 1, 1]);
    const reason = "The store failed 4 times to keep event 2: disk full";
    assert.deepEqual([journal.degraded, reasons], [reason, [reason]]);
    assert.equal(clock.liveTimers, 0);
  });

  test("a store that fails for good, when it is required, makes settled reject now and from then on; events are still shown", async () => {
    const store = new WritesInHand(false, "throw");
    const { journal, clock, shown, runScheduled } = journalOn(store, { requireStore: true });
    const expected = (error: unknown) => {
      assert.ok(error instanceof StoreError);
      assert.equal(error.message, "The store failed 4 times to keep event 1: disk full");
      assert.equal((error.cause as Error).message, "disk full");
      return true;
    };
    journal.append(LEAD, steer("a"));
    const settled = assert.rejects(async () => journal.settled(), expected);
    runScheduled();
    journal.append(LEAD, steer("b"));
    const second = assert.rejects(async () => journal.settled(), expected);
    await passTime(clock);
    await settled;
    await second;
    journal.append(LEAD, steer("c"));
    await assert.rejects(async () => journal.settled(), expected);
    assert.deepEqual(shown, ["1:a", "2:b", "3:c"]);
    assert.deepEqual(store.kept, []);
  });
});

suite("a listener", () => {
  test("a listener that throws or rejects changes nothing for the run or for others, and is told about once", async () => {
    const told: string[] = [];
    const { journal, shown } = journalOn(new WritesInHand(true), {
      onListenerError: (error) => told.push((error as Error).message),
    });
    journal.subscribe(() => {
      throw new Error("thrown");
    });
    journal.subscribe(async () => {
      throw new Error("rejected");
    });
    journal.append(LEAD, steer("a"));
    journal.append(LEAD, steer("b"));
    journal.delta(LEAD, textDelta("c"));
    await ticks();
    assert.deepEqual(shown, ["1:a", "2:b", "c"]);
    assert.deepEqual(told, ["thrown", "rejected"]);
    assert.equal(journal.settled(), undefined);
  });
});
