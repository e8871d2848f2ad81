/** Budgets in code count milliseconds; what is stored and shown counts seconds, as before. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { eventJson } from "../../../src/app/cli/stored/run-json.ts";
import { agent } from "../../../src/core/agent.ts";
import type { SousEvent } from "../../../src/core/event.ts";
import { fromStored, limitWords, shownLimit, toStored } from "../../../src/core/units.ts";
import { encodeWithin, readWithin } from "../../../src/core/within.ts";
import { run } from "../../../src/runtime.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { says } from "../../../src/testing/steps.ts";

test("a budget comes back from a store as it was given, to the millisecond", () => {
  for (const durationMs of [0, 1, 50, 1001, 1500, 86_400_000, Number.POSITIVE_INFINITY])
    assert.deepEqual(fromStored(toStored({ tokens: 5, durationMs })), { tokens: 5, durationMs });
  assert.deepEqual([toStored({ tokens: 5 }), fromStored({ tokens: 5 })], [{ tokens: 5 }, { tokens: 5 }]);
});

test("a run-start has the time of the tree and of its children in seconds", async () => {
  const events: SousEvent[] = [];
  await run(agent({ name: "lead", model: scriptedModel(says("Done.")) }), "Go.", {
    budget: { durationMs: 90_500 },
    limits: { children: { durationMs: 60_000 } },
    onEvent: (event) => void events.push(event),
  });
  const [start] = events;
  assert.ok(start?.type === "run-start");
  assert.deepEqual([start.budget, start.terms?.limits.children], [{ seconds: 90.5 }, { seconds: 60 }]);
});

test("a limit of time is shown in seconds: in words, in JSON, in logs and in spans", () => {
  const state = { of: "tree", unit: "durationMs", limit: 60_000, spent: 12_500, reserved: 0 } as const;
  const shown = { of: "tree", unit: "seconds", limit: 60, spent: 12.5, reserved: 0 };
  assert.deepEqual(shownLimit(state), shown);
  assert.equal(limitWords(state), "seconds of the tree: 12.5 spent and 0 reserved of 60");
  const who = { runId: "1", agentId: "1", parentId: null, path: "lead", depth: 0, time: 0 };
  assert.deepEqual(eventJson({ ...who, type: "budget-near", limit: state }).limit, shown);
});

test("an external agent is handed what is left of the time in seconds", () => {
  const allowance = { depth: 1, maxDepth: 3, tokens: undefined, costUsd: undefined, durationMs: 1001 };
  assert.deepEqual(JSON.parse(encodeWithin(allowance)), { depth: 1, max_depth: 3, seconds: 1.001 });
  assert.deepEqual(readWithin(encodeWithin(allowance)), allowance);
});
