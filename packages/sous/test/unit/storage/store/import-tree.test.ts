/** A file from outside becomes a tree in the store, or it is refused and nothing has changed. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { UserError } from "../../../../src/core/errors.ts";
import type { Store } from "../../../../src/core/store.ts";
import { exportTree } from "../../../../src/storage/store/export/tree.ts";
import { importTree } from "../../../../src/storage/store/import/tree.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { seededRandom } from "../../../../src/testing/world.ts";
import { changed, placesOf } from "../../../support/core/every-event.ts";
import { CHILD, exportedFile, exportedText, FOLLOW_UP, ROOT, type Spoilable, wholeTree } from "./exported-tree.ts";

const BRANCH = { kind: "branch", runId: "01KDVDP9G0E1SEWHERE0000001", turn: 1, history: [] };

test("G6: an exported tree is imported whole, and exported again as the same text", async () => {
  const text = await exportedText();
  for (const exported of [text, `\ufeff${text}`, JSON.parse(text)]) {
    const store = openMemoryStore();
    assert.deepEqual(await importTree(store, exported), { rootId: ROOT, runs: 3, events: wholeTree().length });
    assert.deepEqual(throughJson(await store.read(ROOT)), throughJson(wholeTree()));
    assert.deepEqual(
      (await store.tree(ROOT)).map(({ id }) => id),
      [ROOT, CHILD, FOLLOW_UP],
    );
    assert.equal(await exportTree(store, ROOT, "json"), text);
  }
});

test("an imported tree has no owner: it is interrupted when it has no end, and can be claimed", async () => {
  const store = openMemoryStore();
  await importTree(store, await exportedText(wholeTree().slice(0, 5)));
  assert.equal((await store.run(ROOT))?.status, "interrupted");
  assert.deepEqual(await store.claim(ROOT), { fence: 1 });
});

test("the reason why not everything was kept goes with the tree, and a store that cannot note it keeps nothing", async () => {
  const first = openMemoryStore();
  first.append(ROOT, wholeTree());
  await first.markLost(ROOT, "The disk was full");
  const text = await exportTree(first, ROOT, "json");
  const second = openMemoryStore();
  await importTree(second, text);
  assert.equal((await second.run(ROOT))?.lost, "The disk was full");
  assert.equal(await exportTree(second, ROOT, "json"), text);

  const third = openMemoryStore();
  const forgetful: Store = Object.assign(Object.create(third), {
    append: third.append.bind(third),
    run: third.run.bind(third),
    delete: third.delete.bind(third),
    markLost: () => Promise.reject(new Error("no")),
  });
  await assert.rejects(importTree(forgetful, text), { message: "no" });
  assert.deepEqual(await third.list(), []);
});

suite("a tree that is in the store already", () => {
  test("a tree that is in the store already is refused", async () => {
    const store = await storeWithTree();
    await refuses(store, await exportedText(), /run 01KDVDP9G0R00TR00TR00TR001 is in this store already/);
  });

  test("a tree is refused when only one of its runs is in the store", async () => {
    const store = openMemoryStore();
    const [start] = wholeTree().filter(({ runId }) => runId === FOLLOW_UP);
    if (start?.type !== "run-start") throw new Error("no start");
    const { origin, placed, ...bare } = start;
    store.append(FOLLOW_UP, [{ ...bare, origin: undefined, seq: 1, agentId: FOLLOW_UP }]);
    await refuses(store, await exportedText(), /run 01KDVDP9G2F0110WF0110WF003 is in this store already/);
  });

  test("a tree that is there already comes in beside it with new ids, which have the time and order of the old ones and are new everywhere", async () => {
    const store = await storeWithTree();
    const { rootId } = await importTree(store, await exportedText(), { newIds: true, random: seededRandom(1, "ids") });
    const text = await exportTree(store, rootId, "json");
    for (const old of [ROOT, CHILD, FOLLOW_UP]) assert.equal(text.includes(old), false, `${old} is still there`);
    const records = await store.tree(rootId);
    assert.deepEqual(
      records.map(({ id }) => id.slice(0, 10)),
      [ROOT, CHILD, FOLLOW_UP].map((id) => id.slice(0, 10)),
    );
    const [, child] = records;
    assert.match(text, new RegExp(`"text":"Seen\\. \\(subagent_id: ${child?.id}\\)"`));
    assert.equal(child?.parentId, rootId);
    const again = await importTree(store, text, { newIds: true });
    assert.equal(new Set([ROOT, rootId, again.rootId]).size, 3);
    assert.equal((await store.list({ rootsOnly: true })).length, 6);
  });
});

suite("a file that is refused", () => {
  type Case = [name: string, spoil: (file: Spoilable) => unknown, message: RegExp];
  const event = (index: number, fields: object) => (file: Spoilable) => {
    Object.assign(file.events[index] ?? {}, fields);
    return file;
  };
  const text = (write: (json: string) => string) => (file: Spoilable) => write(JSON.stringify(file));
  const placedAt = wholeTree().findIndex(({ type }) => type === "placed");
  const childAt = wholeTree().findIndex(({ runId }) => runId === CHILD);
  const followUpAt = wholeTree().findIndex(({ runId }) => runId === FOLLOW_UP);
  const reportAt = wholeTree().findIndex(({ type }) => type === "report");
  const NOT_JSON = /it is not JSON, or only a part of it$/;
  const NO_TREE = /it is not a tree that sous has exported as JSON$/;

  const cases: Case[] = [
    ["nothing", () => "", NOT_JSON],
    ["undefined", () => undefined, NO_TREE],
    ["null", () => "null", NO_TREE],
    ["a number", () => "1e999", NO_TREE],
    ["a text", () => '"sous-tree"', NO_TREE],
    ["a list", () => "[]", NO_TREE],
    ["a truncated file", text((json) => json.slice(0, json.length / 2)), NOT_JSON],
    ["a file that ends in the middle of a text", text((json) => json.slice(0, json.indexOf("Look.") + 2)), NOT_JSON],
    ["two files in one", text((json) => json + json), NOT_JSON],
    ["a database", () => "SQLite format 3\u0000\u0010\u0000", NOT_JSON],
    ["a page", () => "<!doctype html><script>alert(1)</script>", NOT_JSON],
    ["comments", text((json) => `// a tree\n${json}`), NOT_JSON],
    ["numbers that are none", text((json) => json.replace('"depth":0', '"depth":NaN')), NOT_JSON],
    ["100 MB of nesting", () => "[".repeat(100_000_000), /it has more than 112 levels$/],
    ["nesting in an object", () => '{"a":'.repeat(1_000_000), /it has more than 112 levels$/],
    ["nesting as a value", event(3, { input: nested(1_000_000) }), /Stored event 4 \(tool-call-start\) .* 110 levels$/],
    ["too many objects", () => `[${"{},".repeat(4_000_001)}]`, /it has more than 4000000 lists and objects$/],
    ["more than can be held", () => `"${"x".repeat(128_000_001)}"`, /it has more than 128000000 characters$/],
    ["quotes and backslashes", () => `"${'\\\\\\"'.repeat(1_000_000)}`, NOT_JSON],
    [
      "__proto__ in the file",
      text((json) => json.replace("{", '{"__proto__":{"polluted":1},')),
      /it has fields besides/,
    ],
    [
      "__proto__ in an event",
      text((json) => json.replace('{"seq":2', '{"__proto__":{"polluted":1},"seq":2')),
      /Stored event 2 .* has the field __proto__,/,
    ],
    ["another format", (file) => ({ ...file, format: "other-tree" }), NO_TREE],
    ["no format", ({ version, events }) => ({ version, events }), NO_TREE],
    [
      "a newer version",
      (file) => ({ ...file, version: 99 }),
      /has version 99 and this sous knows version \d+; use a newer sous$/,
    ],
    ["version 0", (file) => ({ ...file, version: 0 }), /its version is not a whole number of at least 1$/],
    ["a version in words", (file) => ({ ...file, version: "1" }), /its version is not a whole number of at least 1$/],
    ["no version", ({ format, events }) => ({ format, events }), /its version is not a whole number of at least 1$/],
    ["more fields", (file) => ({ ...file, trust: true }), /it has fields besides format, version, lost and events$/],
    ["a loss that is no text", (file) => ({ ...file, lost: {} }), /lost is not a short text$/],
    ["a loss without end", (file) => ({ ...file, lost: "x".repeat(10_001) }), /lost is not a short text$/],
    ["events that are no list", (file) => ({ ...file, events: { length: 1 } }), /events is not a list$/],
    ["no events", (file) => ({ ...file, events: [] }), /it has no events$/],
    [
      "events that are none",
      (file) => ({ ...file, events: [null] }),
      /Stored event cannot be read: it must be an object$/,
    ],
    [
      "an event that is only shown",
      event(2, { type: "text-delta" }),
      /Stored event 3 \(text-delta\) .* type is not of any/,
    ],
    [
      "no root",
      (file) => ({ ...file, events: renumbered(file.events.slice(1)) }),
      /event 1 .* a run that has not started$/,
    ],
    ["a gap", (file) => ({ ...file, events: file.events.toSpliced(4, 1) }), /event 5 .* has the number 6, expected 5$/],
    [
      "an event twice",
      (file) => ({ ...file, events: file.events.toSpliced(4, 0, file.events[4] ?? {}) }),
      /event 6 .* number 5/,
    ],
    ["events in another order", (file) => ({ ...file, events: file.events.toReversed() }), /event 1 .* expected 1$/],
    ["number 0", event(0, { seq: 0 }), /Stored event 0 .* seq must be at least 1$/],
    ["a negative number", event(1, { turn: -1 }), /turn must be at least 0$/],
    ["a huge number", event(1, { promptTokens: 1e300 }), /promptTokens must be at most 9007199254740991$/],
    [
      "infinity",
      text((json) => json.replace('"promptTokens":100', '"promptTokens":1e999')),
      /promptTokens must be a number$/,
    ],
    ["a time that is none", event(1, { time: 1e18 }), /time must be at most 253402300799999$/],
    ["an id that is a path", rename(ROOT, "../../x"), /event 1 \(run-start\) has an id that is not a ULID$/],
    ["an id that is SQL", rename(CHILD, "x'; drop table runs; --"), /has an id that is not a ULID$/],
    ["an id that is empty", rename(CHILD, ""), /has an id that is not a ULID$/],
    ["an id with a line break behind it", rename(CHILD, `${CHILD}\n`), /has an id that is not a ULID$/],
    ["an id of a later age", rename(CHILD, `8${CHILD.slice(1)}`), /has an id that is not a ULID$/],
    ["half a character in a text", event(reportAt, { text: "\ud800" }), /event \d+ \(report\) holds half a character$/],
    ["half a character in a name", event(3, { input: { "\udc00": 1 } }), /event 4 \(tool-call-start\) holds half a/],
    ["a run that is its own parent", event(childAt, { parentId: CHILD }), /starts below a run that has not started$/],
    ["a child before its parent", childFirst, /event 1 \(run-start\) starts below a run that has not started$/],
    ["parents in a circle", event(0, { parentId: CHILD }), /event 1 .* starts below a run that has not started$/],
    ["a parent that is not there", event(childAt, { parentId: FOLLOW_UP }), /starts below a run that has not started$/],
    ["a second root", event(followUpAt, { origin: undefined, agentId: FOLLOW_UP, path: "other" }), /is a second root$/],
    ["a second root that calls itself the first", event(followUpAt, { origin: undefined }), /is a second root$/],
    ["a root with a depth", event(0, { depth: 1 }), /has the depth 1 and no parent$/],
    ["a root with the name of another agent", event(0, { agentId: CHILD }), /event 1 \(run-start\) is not a root$/],
    ["a child as deep as its parent", event(childAt, { depth: 0 }), /has the depth 0 below a run of depth 0$/],
    ["a child that is too deep", event(childAt, { depth: 2 }), /has the depth 2 below a run of depth 0$/],
    [
      "a path that is not below its parent's",
      event(childAt, { path: "other/scout" }),
      /a path that is not that of a child/,
    ],
    [
      "a path that skips a level",
      event(childAt, { path: "lead/a/b" }),
      /a path that is not that of a child of its parent$/,
    ],
    ["a path that is taken", event(childAt, { path: "lead" }), /takes a path that belongs to another agent$/],
    ["an agent that is another", event(childAt, { agentId: ROOT }), /has the agentId of another run$/],
    ["a run that starts twice", event(followUpAt, { runId: ROOT }), /starts a run for the second time$/],
    ["an event of an unknown run", event(2, { runId: FOLLOW_UP }), /event 3 .* belongs to a run that has not started$/],
    ["an event that changes its run's path", event(2, { path: "lead/x" }), /does not agree with the start of its run/],
    [
      "an event that changes its run's parent",
      event(2, { parentId: CHILD }),
      /does not agree with the start of its run/,
    ],
    [
      "an event behind the end",
      event(reportAt, { runId: CHILD }),
      /event \d+ \(report\) comes after the end of its run$/,
    ],
    [
      "an origin that comes later",
      event(followUpAt, { origin: { kind: "follow-up", runId: FOLLOW_UP } }),
      /has not started$/,
    ],
    [
      "an origin of another agent",
      event(followUpAt, { origin: { kind: "follow-up", runId: CHILD } }),
      /of another agent$/,
    ],
    [
      "a fork of another tree",
      event(childAt, { origin: { kind: "fork", runId: CHILD, messages: 1 } }),
      /has not started$/,
    ],
    ["a child of a run that has ended", childLast, /\(run-start\) starts below a run that has ended$/],
    [
      "a fork of a sibling",
      another({ origin: { kind: "fork", runId: CHILD, messages: 1 } }),
      /a fork of a run that is not its/,
    ],
    [
      "a follow-up of a run that has not ended",
      another({ agentId: CHILD, path: "lead/scout", origin: { kind: "follow-up", runId: CHILD } }),
      /continues a run that has not ended$/,
    ],
    [
      "a branch below a root",
      event(childAt, { origin: BRANCH }),
      /event \d+ \(run-start\) is a branch and not the root$/,
    ],
    [
      "a branch with a name of its own",
      event(0, { origin: { ...BRANCH, runId: "/etc" } }),
      /has an id that is not a ULID$/,
    ],
    [
      "a report about an unknown run",
      event(reportAt, { childRunId: FOLLOW_UP }),
      /is about a run that has not started$/,
    ],
    ["a report about another agent", event(reportAt, { childAgentId: ROOT }), /is about a run of another agent$/],
    ["a root of another tree", event(0, { placed: { rootId: CHILD, budgets: [] } }), /was placed in another tree$/],
    ["a child of another tree", event(childAt, { placed: { rootId: CHILD, budgets: [] } }), /in another tree$/],
    ["a placing of its own root", event(placedAt, { childRunId: ROOT }), /\(placed\) places a run that has started$/],
    ["a placing of a path", event(placedAt, { childRunId: "../x" }), /\(placed\) has an id that is not a ULID$/],
    ["runs nested without end", () => chain(102), /event 102 \(run-start\) is deeper than 100$/],
  ];

  for (const [name, spoil, message] of cases) {
    test(`a file with ${name} is refused`, async () => {
      await refuses(await storeWithOther(), spoil(await exportedFile()), message);
      assert.equal("polluted" in {}, false);
    });
  }

  test("a file is refused with a value of another kind in any field of any event", async () => {
    const file = await exportedFile();
    const store = openMemoryStore();
    // One after another: which field takes which kind is shown by the schema of events.
    const values = [{ a: 1 }, ["x", 1], -1.5, true, null, 1e300];
    let [tried, refusals] = [0, 0];
    for (const [index, each] of file.events.entries()) {
      for (const place of placesOf(each)) {
        const value = values[tried++ % values.length];
        const events = file.events.with(index, changed(each, place, value) as Record<string, unknown>);
        const outcome = await importTree(store, { ...file, events }).catch((error: unknown) => error);
        if (!(outcome instanceof Error)) await store.delete(ROOT);
        else assert.match(assertSentence(outcome), /^The file cannot be imported: (Stored )?event /);
        if (outcome instanceof Error) refusals += 1;
      }
    }
    assert.ok(refusals > 250, `only ${refusals} refusals`);
    assert.deepEqual(await store.list(), []);
  });

  test("a file that was cut anywhere is refused", async () => {
    const json = await exportedText();
    const store = openMemoryStore();
    for (let length = 0; length < json.length - 2; length += 97) {
      await assert.rejects(importTree(store, json.slice(0, length)), UserError);
    }
    assert.deepEqual(await store.list(), []);
  });
});

async function storeWithTree(): Promise<Store> {
  const store = openMemoryStore();
  await importTree(store, await exportedText());
  return store;
}

const OTHER = "01KDVDP9G00THER00THER00001";

/** A store that is not empty, so that a change can be seen. */
async function storeWithOther(): Promise<Store> {
  const store = openMemoryStore();
  await importTree(store, (await exportedText(wholeTree().slice(0, 4))).replaceAll(ROOT, OTHER));
  return store;
}

async function refuses(store: Store, exported: unknown, message: RegExp): Promise<void> {
  const before = JSON.stringify([await store.list(), await store.read(OTHER), await store.read(ROOT)]);
  await assert.rejects(importTree(store, exported), (error: unknown) => {
    assert.match(assertSentence(error), message);
    return true;
  });
  assert.equal(JSON.stringify([await store.list(), await store.read(OTHER), await store.read(ROOT)]), before);
}

/** One line, short, for a person, and nothing in it that could act on a terminal. */
function assertSentence(error: unknown): string {
  assert.ok(error instanceof UserError, String(error));
  assert.match(error.message, /^The file cannot be imported: [\x20-\x7e…]{5,250}$/);
  return error.message;
}

function rename(from: string, to: string): (file: Spoilable) => unknown {
  return (file) => JSON.stringify(file).replaceAll(JSON.stringify(from), JSON.stringify(to));
}

function childFirst(file: Spoilable): Spoilable {
  const ofChild = file.events.filter(({ runId }) => runId === CHILD);
  return { ...file, events: renumbered([...ofChild, ...file.events.filter(({ runId }) => runId !== CHILD)]) };
}

function childLast(file: Spoilable): Spoilable {
  const ofRoot = file.events.filter(({ runId, type }) => runId === ROOT && type !== "report");
  return { ...file, events: renumbered([...ofRoot, ...file.events.filter(({ runId }) => runId === CHILD)]) };
}

/** One more child, which starts right after the first. */
function another(fields: object): (file: Spoilable) => Spoilable {
  return (file) => {
    const place = file.events.findIndex(({ runId }) => runId === CHILD);
    const id = "01KDVDP9G3AN0THERCH1D00004";
    const start = { ...file.events[place], runId: id, agentId: id, path: "lead/other", ...fields };
    return { ...file, events: renumbered(file.events.toSpliced(place + 1, 0, start)) };
  };
}

function renumbered(events: readonly Record<string, unknown>[]): Record<string, unknown>[] {
  return events.map((event, index) => ({ ...event, seq: index + 1 }));
}

/** Runs below runs, each of them well-formed. */
function chain(length: number): unknown {
  const [start] = wholeTree();
  const idOf = (index: number) => `01KDVDP9G0${String(index).padStart(16, "0")}`;
  const events = Array.from({ length }, (_, depth) => ({
    ...start,
    placed: undefined,
    seq: depth + 1,
    runId: idOf(depth),
    agentId: idOf(depth),
    parentId: depth === 0 ? null : idOf(depth - 1),
    depth,
    path: Array(depth + 1)
      .fill("x")
      .join("/"),
  }));
  return { format: "sous-tree", version: 1, events };
}

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

function throughJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
