/** A row of a database or a file is an event, or it is refused in one sentence. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { suite, test } from "node:test";
import fc from "fast-check";
import * as z from "zod";
import { StoreError } from "../../../../src/core/errors.ts";
import { EVENT_VERSION, STORED_TYPES } from "../../../../src/core/words/event-rows.ts";
import { parseStoredEvent, storedEventSchema } from "../../../../src/storage/store/event-schema.ts";
import { assertGolden } from "../../../support/app/cli/golden.ts";
import { changed, EVERY_EVENT, type Place, placesOf } from "../../../support/core/every-event.ts";

const events = Object.values(EVERY_EVENT);

/** The schema of each version by its hash. A new version gets a row; no row changes. */
const SEALED: Readonly<Record<number, string>> = {
  1: "ab83009e19731d79",
  2: "0cb150b80cf86483",
  3: "d45dbf1622dd8677",
};

test("the schema of stored events is that of its version: a change needs the next version (EVENT_VERSION says how), and its hash in a row", () => {
  const schema = { version: EVENT_VERSION, ...z.toJSONSchema(storedEventSchema(), { io: "input" }) };
  const folder = join(import.meta.dirname, "../../../snapshots");
  const text = JSON.stringify(schema, undefined, 2);
  assertGolden("event-schema.json", [text], folder);
  assert.equal(createHash("sha256").update(text).digest("hex").slice(0, 16), SEALED[EVENT_VERSION]);
});

test("an event of every type comes back as it was", () => {
  assert.deepEqual(Object.keys(EVERY_EVENT), STORED_TYPES.toSorted(inOrderOf(Object.keys(EVERY_EVENT))));
  for (const event of events) assert.deepEqual(parseStoredEvent(throughJson(event)), event);
});

test("what JSON leaves out because it is undefined may be missing, and what it makes of infinity is no limit", () => {
  const { "run-start": start, "run-end": end } = EVERY_EVENT;
  const { nickname, instructions, origin, call, summaryPrompt, timeoutMs, budget, terms, ...bare } = start;
  assert.deepEqual(parseStoredEvent(bare), bare);
  const { stopReason, output, fault, ...plainEnd } = end;
  assert.deepEqual(parseStoredEvent(plainEnd), plainEnd);
  const limitless = {
    ...bare,
    budget: { tokens: Number.POSITIVE_INFINITY },
    terms: { ...terms, conversation: { ...terms?.conversation, maxTokens: Number.POSITIVE_INFINITY } },
  };
  assert.deepEqual(parseStoredEvent(throughJson(limitless)), { ...limitless, budget: { tokens: undefined } });
});

test("more than is known is dropped where callers, models and tools put it, and refused everywhere else", () => {
  const { "message-end": answer, "run-start": start } = EVERY_EVENT;
  const [reasoning] = answer.message.content;
  const generous = changed(changed(answer, ["message", "content", 0], { ...reasoning, more: 1 }), ["usage", "raw"], {
    prompt: 1,
  });
  assert.deepEqual(parseStoredEvent(generous), answer);
  assert.deepEqual(parseStoredEvent(changed(start, ["budget", "more"], 1)), start);
  for (const place of [
    ["more"],
    ["rights", "more"],
    ["call", "more"],
    ["terms", "more"],
    ["terms", "limits", "more"],
    ["task", "more"],
  ]) {
    assert.throws(() => parseStoredEvent(changed(start, place, 1)), {
      name: "StoreError",
      message:
        /^Stored event 7 \(run-start\) cannot be read: .*has the field more, which this version of sous does not/,
    });
  }
});

suite("an event is refused", () => {
  const wrong: readonly unknown[] = [{}, [], "", -1, 0.5, true, null, 1e300, "\ud800", { a: 1 }];

  test("an event is refused when a value anywhere in it is of another kind, in one sentence that names it", () => {
    let refusals = 0;
    for (const event of events) {
      for (const place of placesOf(event)) {
        for (const value of wrong) {
          const sentence = refusal(changed(event, place, value));
          if (sentence !== undefined) refusals += 1;
          if (sentence === undefined)
            assert.ok(isOfItsKind(event, place, value), `${event.type} ${place} ${JSON.stringify(value)}`);
          else assert.match(sentence, /^Stored event( [-\d]+)?( \([\w-]+\)| \(…\))? cannot be read: [^\n]{3,200}$/);
        }
      }
    }
    assert.ok(refusals > 1500, `only ${refusals} refusals`);
  });

  test("an event is refused when a field of its head is missing", () => {
    for (const event of events) {
      for (const field of ["seq", "time", "runId", "agentId", "parentId", "path", "depth", "type"]) {
        assert.ok(refusal(changed(event, [field], undefined)), `${event.type} without ${field}`);
      }
    }
  });

  test("a value that is not an event at all is refused", () => {
    for (const value of [undefined, null, 1, "run-start", [], {}, new Date(0), () => 1, { type: "text-delta" }]) {
      assert.throws(() => parseStoredEvent(value), StoreError);
    }
  });

  test("an event that is too deep, too wide or poisoned is refused, without harm", () => {
    const { "tool-call-start": call, "message-end": answer } = EVERY_EVENT;
    const deep = JSON.parse(`${"[".repeat(1_000_000)}${"]".repeat(1_000_000)}`);
    const sentences = [
      refusal({ ...call, input: deep }),
      refusal({ ...call, input: new Array(5_000_001).fill(0) }),
      refusal({ ...answer, message: { role: "assistant", content: new Array(100_001).fill(0) } }),
      refusal(JSON.parse(JSON.stringify(call).replace("{", '{"__proto__":{"polluted":true},'))),
      refusal({ ...call, type: "__proto__" }),
      refusal({ ...call, "\u001b[2J\u202e": 1 }),
    ];
    assert.deepEqual(sentences, [
      "Stored event 7 (tool-call-start) cannot be read: it has more than 110 levels",
      "Stored event 7 (tool-call-start) cannot be read: it has more than 5000000 values",
      "Stored event 7 (message-end) cannot be read: message.content must have at most 100000",
      "Stored event 7 (tool-call-start) cannot be read: it has the field __proto__, which this version of sous does not know",
      "Stored event 7 (__proto__) cannot be read: type is not of any kind this version of sous knows",
      "Stored event 7 (tool-call-start) cannot be read: it has the field …, which this version of sous does not know",
    ]);
    assert.equal("polluted" in {}, false);
  });

  test("any value is either read or refused, and does nothing else", () => {
    const type = fc.constantFrom(...STORED_TYPES);
    fc.assert(
      fc.property(fc.jsonValue(), type, fc.dictionary(fc.string(), fc.jsonValue()), (value, word, fields) => {
        for (const each of [value, { ...EVERY_EVENT["turn-start"], type: word, ...fields }]) refusal(each);
      }),
      { numRuns: 300 },
    );
  });
});

test("an input may be 100 levels deep and hold any key, as the loop allows", () => {
  const input = JSON.parse(`${'{"__proto__":'.repeat(100)}1${"}".repeat(100)}`);
  const event = { ...EVERY_EVENT["tool-call-start"], input };
  assert.equal(JSON.stringify(parseStoredEvent(event)), JSON.stringify(event));
});

/** The sentence of the refusal; undefined when it is read. Anything but a `StoreError` is a fault. */
function refusal(value: unknown): string | undefined {
  try {
    parseStoredEvent(value);
    return undefined;
  } catch (error) {
    if (error instanceof StoreError) return error.message;
    throw error;
  }
}

/** Whether the wrong value happens to be a right one at this place. */
function isOfItsKind(event: object, place: Place, value: unknown): boolean {
  const found = place.reduce((at: unknown, step) => (at as Record<string | number, unknown>)[step], event);
  const field = String(place.at(-1));
  if (place.includes("value")) return true;
  if (value === null)
    return ["parentId", "costUsd", "costBelowUsd", "tokens", "seconds", "executions", "maxTokens"].includes(field);
  if (Array.isArray(found)) return Array.isArray(value);
  // A record of anything takes a record of anything; an empty budget is one without limits.
  if (field === "calls" || field === "providerCalls")
    return typeof value === "object" && Object.values(value).every(isWhole);
  if (["provider", "budget", "children"].includes(field) && typeof found === "object")
    return typeof value === "object" && !Array.isArray(value);
  if (field === "limits" && place.includes("budgets")) return typeof value === "object" && !Array.isArray(value);
  if (field === "parentId") return typeof value === "string";
  if (typeof found === "number") return value === 0.5;
  return typeof found === typeof value && typeof value !== "object";
}

/** Counts and prices by a name. */
function isWhole(value: unknown): boolean {
  return Number.isInteger(value);
}

function inOrderOf(order: readonly string[]): (left: string, right: string) => number {
  return (left, right) => order.indexOf(left) - order.indexOf(right);
}

function throughJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
