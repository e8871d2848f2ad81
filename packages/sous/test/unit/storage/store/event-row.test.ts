/** Events as rows: what goes in comes out, long texts are kept apart, and a row that was tampered with is refused. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreError } from "../../../../src/core/errors.ts";
import type { RunIdentity, StoredBody, StoredEvent } from "../../../../src/core/event.ts";
import { blobsOf, decodeEvent, encodeEvent } from "../../../../src/storage/store/event-row.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";

const WHO: RunIdentity = { runId: "run", agentId: "agent", parentId: "lead", path: "lead/run", depth: 1 };
const LIMIT = 64 * 1024;

test("an event comes back as it was, and its row repeats nothing the key and the run say", () => {
  const text = 'a "quoted" \\ \u0000 \ud800 text';
  const event = eventOf({ type: "steer", text });
  const { type, json, blobs } = encodeEvent(event);
  assert.deepEqual(
    { type, json: JSON.parse(json), blobs },
    { type: "steer", json: { v: 3, time: 7, text }, blobs: [] },
  );
  assert.deepEqual(roundTrip(event), event);
});

test("a text over 64 KB is kept apart under its hash, wherever it is, and equal ones share it", () => {
  const long = "x".repeat(LIMIT + 1);
  const input = { deep: [{ text: long }, "short"], again: long, "": "é".repeat(LIMIT / 2 + 1), ["__proto__"]: long };
  const event = eventOf({ type: "tool-call-start", callId: "call_1", toolName: "write", input });
  const { json, blobs } = encodeEvent(event);
  assert.ok(json.length < 1_000, `the row has ${json.length} characters`);
  assert.equal(blobs.length, 4);
  assert.equal(new Set(blobs.map(({ hash }) => hash)).size, 2);
  assert.deepEqual(blobsOf(json).toSorted(), blobs.map(({ hash }) => hash).toSorted());
  assert.deepEqual(roundTrip(event), event);
});

test("a text of 64 KB stays in its row, and so does one that is not well-formed", () => {
  for (const text of ["x".repeat(LIMIT), "é".repeat(LIMIT / 2), `${"x".repeat(LIMIT)}\ud800`]) {
    const event = eventOf({ type: "steer", text });
    assert.deepEqual(encodeEvent(event).blobs, []);
    assert.deepEqual(roundTrip(event), event);
  }
});

test("a message of a model cannot pass for a row with texts taken out", () => {
  for (const input of [[{}, [[["time"], "hash"]]], [], "[]", { 0: {}, 1: [] }]) {
    const event = eventOf({ type: "tool-call-start", callId: "call_1", toolName: "write", input });
    assert.deepEqual(roundTrip(event), event);
  }
});

test("an event that cannot be written as JSON is a fault of the store, in one sentence", () => {
  const loop: Record<string, unknown> = {};
  loop.self = loop;
  for (const input of [loop, { count: 1n }]) {
    const event = eventOf({ type: "tool-call-start", callId: "call_1", toolName: "write", input });
    assert.throws(
      () => encodeEvent(event),
      (error) => error instanceof StoreError && /^Event 3 of run run cannot/.test(error.message),
    );
  }
});

test("a row cannot speak for another run", () => {
  const json = JSON.stringify({
    time: 7,
    text: "hello",
    runId: "other",
    parentId: null,
    path: "x",
    seq: 9,
    type: "run-end",
  });
  const event = decodeEvent({ seq: 3, type: "steer", json }, WHO, () => undefined);
  assert.deepEqual(event, eventOf({ type: "steer", text: "hello" }));
});

test("a row cannot change what objects are made of, and what it should not hold is refused", () => {
  for (const json of [
    '{"time":7,"text":"hello","__proto__":{"polluted":1}}',
    '{"time":7,"text":"hello","more":1}',
    '{"time":7}',
  ])
    assert.throws(() => decodeEvent({ seq: 3, type: "steer", json }, WHO, () => undefined), StoreError);
  assert.equal(Object.hasOwn(Object.prototype, "polluted"), false);
});

test("a damaged row is refused in one sentence", () => {
  const rows = [
    "",
    "null",
    "7",
    '"text"',
    "{",
    "[]",
    "[{}]",
    "[[],[]]",
    "[{},7]",
    '[{},[["text","hash"]]]',
    '[{"text":""},[[["text"],7]]]',
    '[{"text":""},[[[],"hash"]]]',
    '[{"text":""},[[["nowhere"],"hash"]]]',
    '[{"text":""},[[["text","length"],"hash"]]]',
    '[{"text":""},[[["__proto__","polluted"],"hash"]]]',
    '[{"text":""},[[["constructor","prototype","polluted"],"hash"]]]',
    '[{"text":""},[[["text"],"missing"]]]',
  ];
  for (const json of rows) {
    assert.throws(
      () => decodeEvent({ seq: 3, type: "steer", json }, WHO, (hash) => (hash === "hash" ? "text" : undefined)),
      (error) => error instanceof StoreError && /^Event 3 of run run is damaged: [^\n]+$/.test(error.message),
      json,
    );
  }
  assert.equal(Object.hasOwn(Object.prototype, "polluted"), false);
});

function eventOf(body: StoredBody): StoredEvent {
  return { seq: 3, time: 7, ...WHO, ...body };
}

function roundTrip(event: StoredEvent): StoredEvent {
  const { type, json, blobs } = encodeEvent(event);
  const texts = new Map(blobs.map(({ hash, text }) => [hash, text]));
  return decodeEvent({ seq: event.seq, type, json }, WHO, (hash) => texts.get(hash));
}

test("a long text in a task is kept apart, and what the caller gave stays as it was", () => {
  const long = "x".repeat(70_000);
  const provider = { openai: { note: long } };
  const task = { role: "user", content: [{ type: "text", text: long, provider }] } as const;
  const before = structuredClone(task);
  const tree = sampleTree("lead");
  const event = tree.start("lead", { details: { task } });
  const { json, blobs } = encodeEvent(event);
  assert.deepEqual(task, before);
  assert.ok(json.length < 5_000);
  const texts = new Map(blobs.map(({ hash, text }) => [hash, text]));
  const { seq, type, ...rest } = event;
  const decoded = decodeEvent({ seq, type, json }, rest, (hash) => texts.get(hash));
  assert.deepEqual(decoded.type === "run-start" && decoded.task, before);
});
