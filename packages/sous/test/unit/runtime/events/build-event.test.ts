/** Events are flat: the fast ways of building one give what the plain way would. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredBody } from "../../../../src/core/event.ts";
import { noUsage } from "../../../../src/core/usage.ts";
import { buildDelta, buildEvent } from "../../../../src/runtime/events/build-event.ts";
import { SCOUT } from "./journal-fixtures.ts";

const BODIES: StoredBody[] = [
  { type: "turn-start", turn: 3, promptTokens: 120, reserved: 4_096 },
  { type: "turn-start", turn: 3, promptTokens: 120, reserved: 4_096, reservedUsd: 0.5 },
  {
    type: "message-end",
    turn: 3,
    message: { role: "assistant", content: [{ type: "text", text: "I look." }] },
    finish: "tool-calls",
    usage: noUsage(),
    costUsd: 0.25,
  },
  { type: "tool-call-start", callId: "call_1", toolName: "grep", input: { pattern: "x" } },
  { type: "tool-call-end", callId: "call_1", toolName: "grep", output: "src/a.ts:1", isError: false, durationMs: 2 },
  { type: "tool-call-end", callId: "c", toolName: "t", output: "", isError: true, durationMs: 2, stack: "Error: at" },
  { type: "prune", from: 1, dropped: 4, tokensBefore: 90_000, tokensAfter: 40_000 },
];

for (const body of BODIES) {
  test(`a ${body.type} has its number, its time, whose it is, and its own fields`, () => {
    assert.deepEqual(buildEvent(7, 1_000, SCOUT, body), { seq: 7, time: 1_000, ...SCOUT, ...body });
  });
}

test("a delta has no number", () => {
  const body = { type: "text-delta", text: "Hel" } as const;
  assert.deepEqual(buildDelta(1_000, SCOUT, body), { time: 1_000, ...SCOUT, ...body });
});
