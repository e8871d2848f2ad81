/** Numbers without gaps, shown once, in order, kept first: whatever the store does and in whatever order things happen. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreError } from "../../../../src/core/errors.ts";
import type { StoredEvent } from "../../../../src/core/event.ts";
import { iterateEvents } from "../../../../src/runtime/events/iterate.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { between, chance, pick, seededRandom } from "../../../../src/testing/world.ts";
import { journalOn, LEAD, SCOUT, steer, textDelta, ticks } from "./journal-fixtures.ts";

test("nothing is lost, doubled or shown before it is kept in 300 schedules", async () => {
  for (let seed = 0; seed < 300; seed++) {
    await liveOnce(seed).catch((error: unknown) => {
      throw new Error(`Seed ${seed} breaks it`, { cause: error });
    });
  }
});

/** One tree whose store, schedule, listener and reader are moved by the seed. */
async function liveOnce(seed: number): Promise<void> {
  const random = seededRandom(seed);
  const kept = openMemoryStore();
  const keptSeqs = new Set<number>();
  const faultShare = pick(random, [0, 0.2, 0.8]);
  const requireStore = chance(random, 0.5);
  const writes: (() => void)[] = [];
  const write = (rootId: string, events: readonly StoredEvent[]): void => {
    if (chance(random, faultShare)) throw new Error("disk full");
    kept.append(rootId, events);
    for (const { seq } of events) keptSeqs.add(seq);
  };
  const isAsync = chance(random, 0.5);
  const store = {
    isImmediate: chance(random, 0.3),
    append(rootId: string, events: readonly StoredEvent[]): void | Promise<void> {
      if (!isAsync) return write(rootId, events);
      return new Promise<void>((resolve) => writes.push(resolve)).then(() => write(rootId, events));
    },
  };
  const { journal, clock, scheduled, runScheduled } = journalOn(store, {
    requireStore,
    isAlone: () => chance(random, 0.3),
  });

  const shown: string[] = [];
  const shownSeqs: number[] = [];
  const shownTooEarly: number[] = [];
  journal.subscribe((event) => {
    if (event.seq === undefined) {
      shown.push("text" in event ? event.text : event.type);
    } else {
      if (!keptSeqs.has(event.seq) && journal.degraded === undefined) shownTooEarly.push(event.seq);
      shown.push(String(event.seq));
      shownSeqs.push(event.seq);
    }
  });
  const reader = iterateEvents({ journal, store: kept, rootId: "lead", limits: { events: 6, characters: 100 } });
  const readSeqs: number[] = [];
  const readOne = async () =>
    void readSeqs.push(...[(await reader.next()).value?.seq].filter((seq) => seq !== undefined));

  const appended: string[] = [];
  let last = 0;
  const waits: Promise<unknown>[] = [];
  const appendOne = () => {
    last += 1;
    appended.push(String(last));
    journal.append(pick(random, [LEAD, SCOUT]), steer(String(last)));
  };
  // A listener that speaks up is the hardest case for order.
  journal.subscribe((event) => {
    if (event.seq !== undefined && chance(random, 0.1)) appendOne();
  });
  // While a write is under way its deadline is the only timer; here every write comes to its end.
  const letTimePass = () => writes.length === 0 && clock.fireNext(() => 0);
  const steps: (() => unknown)[] = [
    appendOne,
    appendOne,
    () => {
      const text = `delta ${appended.length}`;
      appended.push(text);
      journal.delta(LEAD, textDelta(text));
    },
    () => {
      const before = last;
      const settling = journal.settled()?.then(
        () => assert.ok(journal.degraded !== undefined || keptSeqs.has(before) || before === 0, `${before} is settled`),
        (error: unknown) => assert.ok(requireStore && error instanceof StoreError),
      );
      if (settling !== undefined) waits.push(settling);
      else assert.ok(journal.degraded !== undefined || keptSeqs.size === last, "nothing is pending");
    },
    runScheduled,
    () => writes.shift()?.(),
    letTimePass,
    ticks,
    () => void waits.push(readOne()),
  ];
  for (let count = between(random, 5, 80); count > 0; count--) await steps[between(random, 0, steps.length - 1)]?.();

  await ticks();
  while (scheduled.length > 0 || writes.length > 0 || clock.liveTimers > 0) {
    runScheduled();
    writes.shift()?.();
    await ticks();
    letTimePass();
    await ticks();
  }
  const expected = Array.from({ length: last }, (_, index) => index + 1);
  assert.deepEqual(shownSeqs, expected);
  assert.deepEqual(shown, appended);
  assert.deepEqual(shownTooEarly, []);
  assert.deepEqual(
    (await kept.read("lead")).map(({ seq }) => seq),
    journal.degraded === undefined ? expected : expected.slice(0, keptSeqs.size),
  );
  while (readSeqs.length < last) await readOne();
  await reader.return?.();
  await Promise.all(waits);
  assert.deepEqual(readSeqs, expected);
}
