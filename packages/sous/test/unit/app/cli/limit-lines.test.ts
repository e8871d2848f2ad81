/** Limits in words: one line each, whatever the unit, and short enough for a row. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import {
  asItStands,
  holdingLine,
  limitLine,
  limitsBefore,
  shortTokens,
  waitWords,
} from "../../../../src/app/cli/view/limit-lines.ts";
import type { LimitState } from "../../../../src/core/limits.ts";

const TOKENS: LimitState = { of: "tree", unit: "tokens", limit: 10_000, spent: 3900, reserved: 4800 };

suite("a limit is one line", () => {
  const lines: [limit: LimitState, line: string][] = [
    [TOKENS, "tokens of the whole tree: 3900 spent, 4800 reserved, 1300 left of 10000"],
    [
      { of: "children", unit: "costUsd", limit: 1, spent: 0.25, reserved: 0.5 },
      "money of all children: $0.2500 spent, $0.5000 reserved, $0.2500 left of $1.0000",
    ],
    [
      { of: "children", unit: "durationMs", limit: 60_000, spent: 12_340, reserved: 0 },
      "time of all children: 12s used, 48s left of 1m00s",
    ],
    [{ of: "children", unit: "executions", limit: 5, spent: 2, reserved: 0 }, "children started: 2, 3 left of 5"],
    [
      { of: "tree", unit: "executions", limit: 5, spent: 2, reserved: 1 },
      "children started, of the whole tree: 2, 1 queued, 2 left of 5",
    ],
    [{ ...TOKENS, of: "sous/scout" }, "tokens of sous/scout: 3900 spent, 4800 reserved, 1300 left of 10000"],
    [
      { ...TOKENS, of: "shared budget \u001b[2Jteam\n", spent: 12_000, reserved: 0 },
      "tokens of shared budget team: 12000 spent, 0 reserved, 0 left of 10000",
    ],
  ];
  for (const [limit, line] of lines) test(`a limit is one line: ${line}`, () => assert.equal(limitLine(limit), line));
});

test("before a run nothing is used, and what is not limited is not told", () => {
  assert.deepEqual(limitsBefore(), []);
  assert.deepEqual(limitsBefore({ tokens: 100, durationMs: undefined }, { executions: 2, durationMs: 60_000 }), [
    { of: "tree", unit: "tokens", limit: 100, spent: 0, reserved: 0 },
    { of: "children", unit: "durationMs", limit: 60_000, spent: 0, reserved: 0 },
    { of: "children", unit: "executions", limit: 2, spent: 0, reserved: 0 },
  ]);
});

test("whose limit a run waits for is told where there is room", () => {
  const short = "waits for its budget: 3.9k spent, 4.8k reserved of 10k tokens";
  assert.equal(waitWords(TOKENS), `${short} of the whole tree`);
  assert.equal(waitWords(TOKENS, short.length + 18), `${short} of the whole tree`);
  assert.equal(waitWords(TOKENS, short.length + 17), short);
  const amounts = "3.9k spent, 4.8k reserved of 10k";
  assert.equal(waitWords(TOKENS, short.length - 1), `waits for budget: ${amounts}`);
  assert.equal(waitWords(TOKENS, 45), `budget: ${amounts}`);
  assert.equal(waitWords(TOKENS, 30), "waits for its budget");
});

test("short numbers of tokens have no empty decimals", () => {
  assert.deepEqual([950, 1000, 4810, 10_000, 2_000_000].map(shortTokens), ["950", "1k", "4.8k", "10k", "2M"]);
});

test("a limit as it stands is that of the same owner and unit", () => {
  const now = { ...TOKENS, spent: 5000 };
  assert.equal(asItStands(TOKENS, [{ ...TOKENS, of: "children" }, { ...TOKENS, unit: "costUsd" }, now]), now);
  assert.equal(asItStands(TOKENS, []), TOKENS);
});

test("a run tells what it holds and what it waits for, and nothing when there is nothing", () => {
  const none = { tokens: 0, costUsd: 0 };
  const run = { path: "sous/auth", inCall: none, kept: none, waitsFor: undefined };
  assert.equal(holdingLine(run), undefined);
  assert.equal(
    holdingLine({ ...run, inCall: { tokens: 8074, costUsd: 0.02 }, kept: { tokens: 600, costUsd: 0 } }),
    "sous/auth: 8074 tokens and $0.0200 reserved by its call, 600 tokens kept for its last words",
  );
  assert.equal(holdingLine({ ...run, waitsFor: TOKENS }), "sous/auth: waits for tokens of the whole tree");
});
