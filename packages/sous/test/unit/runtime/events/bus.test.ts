/** The bus: direct callbacks that cannot hurt the one who publishes. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { SousEvent } from "../../../../src/core/event.ts";
import { Bus } from "../../../../src/runtime/events/bus.ts";
import { LEAD, ticks } from "./journal-fixtures.ts";

function event(text: string): SousEvent {
  return { time: 1, ...LEAD, type: "text-delta", text };
}

function textOf(given: SousEvent): string {
  return given.type === "text-delta" ? given.text : given.type;
}

test("listeners are called in the order they subscribed, each time they subscribed, until they are disposed", () => {
  const bus = new Bus();
  const heard: string[] = [];
  const twice = (given: SousEvent) => void heard.push(`twice ${textOf(given)}`);
  const first = bus.subscribe(twice);
  bus.subscribe((given) => heard.push(`once ${textOf(given)}`));
  bus.subscribe(twice);
  bus.publish(event("a"));
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  bus.publish(event("b"));
  assert.deepEqual(heard, ["twice a", "once a", "twice a", "once b", "twice b"]);
});

test("a bus is watched while it has a subscriber", () => {
  const bus = new Bus();
  assert.equal(bus.isWatched, false);
  {
    using _listening = bus.subscribe(() => {});
    assert.equal(bus.isWatched, true);
  }
  assert.equal(bus.isWatched, false);
});

test("a listener that unsubscribes during an event hears no more, and one that subscribes hears the next one", () => {
  const bus = new Bus();
  const heard: string[] = [];
  bus.subscribe((given) => {
    heard.push(`first ${textOf(given)}`);
    second[Symbol.dispose]();
    if (textOf(given) === "a") bus.subscribe((later) => heard.push(`third ${textOf(later)}`));
  });
  const second = bus.subscribe((given) => heard.push(`second ${textOf(given)}`));
  bus.publish(event("a"));
  bus.publish(event("b"));
  assert.deepEqual(heard, ["first a", "first b", "third b"]);
});

test("an event published by a listener comes after the one it listens to, for everybody", () => {
  const bus = new Bus();
  const heard: string[] = [];
  bus.subscribe((given) => {
    if (textOf(given) === "a") for (const text of ["b", "c"]) bus.publish(event(text));
  });
  bus.subscribe((given) => heard.push(textOf(given)));
  bus.publish(event("a"));
  bus.publish(event("d"));
  assert.deepEqual(heard, ["a", "b", "c", "d"]);
});

test("faults are counted, each listener's first is told, and nothing else changes", async () => {
  const told: unknown[] = [];
  const bus = new Bus((error) => {
    told.push(error);
    throw new Error("the one who is told throws too");
  });
  const heard: string[] = [];
  bus.subscribe(() => {
    throw new Error("now");
  });
  bus.subscribe(() => Promise.reject(new Error("later")));
  bus.subscribe((given) => heard.push(textOf(given)));
  bus.publish(event("a"));
  bus.publish(event("b"));
  await ticks();
  assert.deepEqual(heard, ["a", "b"]);
  assert.deepEqual(told, [new Error("now"), new Error("later")]);
  assert.equal(bus.faults, 4);
});

test("faults are only counted when there is no one to tell", async () => {
  const bus = new Bus();
  bus.subscribe(async () => {
    throw new Error("unheard");
  });
  bus.publish(event("a"));
  await ticks();
  assert.equal(bus.faults, 1);
});
