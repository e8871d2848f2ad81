/** Stored events change in order: each version has a step to the next one, and what is newer than this sous is refused. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { StoredEvent } from "../../../../src/core/event.ts";
import { ROWS, STORED_TYPES } from "../../../../src/core/words/event-rows.ts";
import { readCassette } from "../../../../src/storage/replay/cassette.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";
import { EVERY_EVENT } from "../../../support/core/every-event.ts";
import { importChanged } from "../../../support/mutation.ts";
import * as now from "../../../support/storage/store/versioned-storage.ts";

const folder = mkdtempSync(join(tmpdir(), "sous-versions-"));
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

const NO_STEPS = "EventStep>> = {};";
const NEXT = now.EVENT_VERSION + 1;

/** The next version as a later sous could have it: `waitingFor` of a silence is called `waitsFor`. */
const next = await withChanges([
  ['fields: { seconds: "amount", waitingFor: "text" }', 'fields: { seconds: "amount", waitsFor: "text" }'],
  [
    NO_STEPS,
    `EventStep>> = {
  ${NEXT}: ({ waitingFor, ...event }) => (event.type === "stalled" ? { ...event, waitsFor: waitingFor } : event),
};`,
  ],
]);

const golden = readFileSync(join(import.meta.dirname, "../../../golden/journal-1.json"), "utf8");
const GOLDEN_ROOT = "01KDVDNA00V5MCTPSSC9DF0SXC";

test("the version is that of the last step, and each step makes a version after the first", () => {
  assert.equal(next.EVENT_VERSION, NEXT);
  for (const version of Object.keys(now.EVENT_STEPS).map(Number)) assert.ok(Number.isInteger(version) && version > 1);
});

test("a version without a step changes no event, and the steps of others run in their order", async () => {
  const written = `EventStep>> = {
  5: (event) => ({ ...event, waitingFor: event.waitingFor + ", 5" }),
  3: (event) => ({ ...event, waitingFor: event.waitingFor + ", 3" }),
};`;
  const later = await withChanges([[NO_STEPS, written]]);
  assert.equal(later.EVENT_VERSION, 5);
  const event = { ...EVERY_EVENT.stalled, waitingFor: "1" };
  const read = [1, 2, 3, 4, 5].map((version) => waitsFor(later.parseStoredEvent(event, version)));
  assert.deepEqual(read, ["1, 3, 5", "1, 3, 5", "1, 5", "1, 5", "1"]);
});

test("no stored event has a field that is called as the version in its row", () => {
  for (const type of STORED_TYPES) assert.ok(!("v" in ROWS[type].fields), type);
});

test("an exported journal of an earlier version is upgraded when it is imported, and exported as the new version", async () => {
  const store = openMemoryStore();
  await next.importTree(store, golden);
  const upgraded = await store.read(GOLDEN_ROOT);
  const before: StoredEvent[] = JSON.parse(golden).events;
  assert.deepEqual(upgraded.map(waitsFor), before.map(waitsFor));
  assert.ok(upgraded.some((event) => "waitsFor" in event) && !upgraded.some((event) => "waitingFor" in event));

  const text = await next.exportTree(store, GOLDEN_ROOT, "json");
  assert.equal(JSON.parse(text).version, NEXT);
  const again = openMemoryStore();
  await next.importTree(again, text);
  assert.deepEqual(await again.read(GOLDEN_ROOT), upgraded);
  await assert.rejects(now.importTree(openMemoryStore(), text), {
    name: "UserError",
    message: `The file cannot be imported: it has version ${NEXT} and this sous knows version ${now.EVENT_VERSION}; use a newer sous`,
  });
});

test("the rows of a database are upgraded when they are read, each by its own version", async () => {
  const file = join(folder, "runs.db");
  {
    await using store = await now.openSqliteStore(file);
    await store.append("lead", silentTree().slice(0, 2));
  }
  {
    await using store = await next.openSqliteStore(file);
    assert.deepEqual((await store.read("lead")).map(waitsFor), [undefined, "the model"]);
    await store.append("lead", silentTree().slice(2).map(renamed));
    assert.deepEqual((await store.read("lead")).map(waitsFor), [undefined, "the model", "a tool"]);
  }
  await using store = await now.openSqliteStore(file);
  assert.equal((await store.run("lead"))?.status, "interrupted");
  await assert.rejects(store.read("lead"), {
    name: "StoreError",
    message: `Stored event 3 (stalled) has version ${NEXT} and this sous knows version ${now.EVENT_VERSION}; use a newer sous`,
  });
});

suite("an event of an earlier version is refused", () => {
  const stalled = EVERY_EVENT.stalled;

  test("an event that was none of its version either is refused", () => {
    assert.throws(() => next.parseStoredEvent({ ...stalled, waitingFor: 1 }, 1), /waitsFor must be text$/);
    for (const value of [null, 1, "stalled", [stalled]])
      assert.throws(() => next.parseStoredEvent(value, 1), { name: "StoreError" });
  });

  test("an event whose step fails is refused in one sentence", async () => {
    const broken = await withChanges([[NO_STEPS, `EventStep>> = { ${NEXT}: (event) => event.a.b };`]]);
    assert.throws(() => broken.parseStoredEvent(stalled, 1), {
      name: "StoreError",
      message: "Stored event 7 (stalled) cannot be read: it is not an event of version 1",
    });
  });

  test("an event whose row has a version that no sous ever had is refused", () => {
    for (const version of [0, -1, 1.5, "1", null, {}]) {
      const json = JSON.stringify({ v: version, time: 1, text: "Go." });
      assert.throws(() => now.decodeEvent({ seq: 3, type: "steer", json }, stalled, () => undefined), {
        name: "StoreError",
        message: /is damaged: its version is not a whole number of at least 1$/,
      });
    }
  });
});

test("a cassette of an earlier version is upgraded when it is read, and one that is newer is refused", async () => {
  const fileUrl = import.meta.resolve("../../../../src/storage/replay/cassette.ts");
  const text = changed(fileUrl, [
    ["CassetteStep[] = [];", "CassetteStep[] = [({ job, ...cassette }) => ({ ...cassette, task: job })];"],
  ]);
  const later = await importChanged<typeof import("../../../../src/storage/replay/cassette.ts")>(fileUrl, {
    fileUrl,
    text,
  });
  const file = join(folder, "cassette.json");
  const cassette = { format: "sous-cassette", agent: "lead", model: "scripted/model", agents: {} };
  writeFileSync(file, JSON.stringify({ ...cassette, version: 1, job: "Go." }));
  assert.deepEqual(later.readCassette(file), { ...cassette, version: 2, task: "Go." });
  for (const version of [2, 0, "1", null]) {
    writeFileSync(file, JSON.stringify({ ...cassette, version, task: "Go." }));
    assert.throws(() => readCassette(file), {
      name: "UserError",
      message: `${file} is a cassette of version ${version}, and this sous plays version 1: record it again`,
    });
  }
});

function withChanges(changes: readonly [string, string][]): Promise<typeof now> {
  const fileUrl = import.meta.resolve("../../../../src/core/words/events.ts");
  const module = import.meta.resolve("../../../support/storage/store/versioned-storage.ts");
  return importChanged<typeof now>(module, { fileUrl, text: changed(fileUrl, changes) });
}

function changed(fileUrl: string, changes: readonly [string, string][]): string {
  let text = readFileSync(fileURLToPath(fileUrl), "utf8");
  for (const [place, replacement] of changes) {
    assert.equal(text.split(place).length, 2, `${fileUrl} has one place like this: ${place}`);
    text = text.replace(place, replacement);
  }
  return text;
}

function silentTree(): readonly StoredEvent[] {
  const tree = sampleTree("lead");
  tree.start("lead");
  tree.add("lead", { type: "stalled", seconds: 30, waitingFor: "the model" });
  tree.add("lead", { type: "stalled", seconds: 60, waitingFor: "a tool" });
  return tree.events;
}

/** As the next version has it in memory. */
function renamed(event: StoredEvent): StoredEvent {
  if (event.type !== "stalled") return event;
  const { waitingFor, ...rest } = event;
  return { ...rest, waitsFor: waitingFor } as unknown as StoredEvent;
}

/** By its name in either version. */
function waitsFor(event: StoredEvent): unknown {
  const { waitsFor, waitingFor = waitsFor } = event as { waitsFor?: unknown; waitingFor?: unknown };
  return waitingFor;
}
