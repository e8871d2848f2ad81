/** A process that dies between an approval and the result of the call it was about: is the person asked again, is the call made again? */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { calls, says } from "../../../../../src/testing/steps.ts";
import { simpleTool } from "../../../../support/requirements/support.ts";
import { goOn, live, resultsOf, type Scenario } from "../../../../support/runtime/tree/restore/crash-points.ts";

type Effect = "read" | "idempotent" | "unsafe";

function transfer(effect: Effect, asked: unknown[]): Scenario {
  return {
    script: { lead: (request) => (resultsOf(request, "transfer").length === 0 ? calls("transfer") : says("Good.")) },
    tools: (note) => [
      simpleTool("transfer", (_input, { callId }) => note(callId) ?? "sent", { effect, tier: "confirm" }),
    ],
    runtime: {
      approve: async (request) => {
        asked.push(request);
        return { allow: true };
      },
    },
  };
}

suite("G5: a call that a person had allowed and that has no result", () => {
  const expected: [Effect, made: string, times: number][] = [
    ["read", "made again", 1],
    ["idempotent", "made again", 1],
    ["unsafe", "not made", 0],
  ];
  for (const [effect, made, times] of expected) {
    test(`a call that a person had allowed and that has no result is ${made} when its effect is ${effect}, and the person is not asked again`, async () => {
      const asked: unknown[] = [];
      const scenario = transfer(effect, asked);
      const { events: whole } = await live(scenario);
      const kept = whole.slice(0, whole.findIndex(({ type }) => type === "approval-end") + 1);
      assert.deepEqual([kept.at(-1)?.type, asked.length], ["approval-end", 1]);
      const { ran, events, result } = await goOn(scenario, kept);
      assert.deepEqual([ran.length, asked.length, result.status], [times, 1, "completed"]);
      assert.equal(
        events.some(({ type }) => type === "approval-request"),
        false,
      );
    });
  }
});
