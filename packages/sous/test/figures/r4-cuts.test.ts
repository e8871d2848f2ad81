/** R4 finds what is left out of the charge for a cut answer. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { importWithout, type Mutation } from "../support/mutation.ts";
import { askOnce, LONG_EVENT } from "../support/runtime/model/ask-once.ts";
import type { Place } from "../support/runtime/model/cut-streams.ts";
import { cutsOf, isReached, measureCuts } from "./r4-cuts.ts";

type Runtime = typeof import("../../src/runtime.ts");

suite("R4 notices a charge that", () => {
  const runtime = import.meta.resolve("../../src/runtime.ts");
  const plans = {
    // Nearly as much as the limit lets a call write.
    full: { tokens: 4_090, budget: { tokens: 60_000 } },
    // The provider counts more tokens in a prompt than its size lets expect.
    dense: { tokens: 400, bytesPerToken: 2, budget: { tokens: 200_000 } },
  };
  const mutations: [what: string, plan: keyof typeof plans, place: Place, model: string, mutation: Mutation][] = [
    ["leaves out what does not show", "full", "in hidden thinking", "anthropic", { guard: "charged-at-cap" }],
    ["is more than the cap", "full", "in text", "openai-compatible", { guard: "held-to-cap" }],
    ["estimates a prompt that was reported", "dense", "in text", "anthropic", { guard: "reported-input" }],
  ];
  for (const [what, plan, place, model, mutation] of mutations) {
    test(`R4 notices a charge that ${what}`, async () => {
      const cut = cutsOf([place]).find(({ wire }) => wire.model.startsWith(`${model}/`));
      assert.ok(cut);
      const asked = { ...cut, ...plans[plan] };
      assert.deepEqual((await measureCuts(asked)).problems, []);
      const { createRuntime } = await importWithout<Runtime>(runtime, mutation);
      const figure = await measureCuts(asked, createRuntime);
      assert.ok(!isReached(figure), JSON.stringify(figure));
    });
  }

  test("R4 notices a charge that leaves out the event that was cut", async () => {
    const asked = { model: "openai-compatible/m" };
    assert.ok((await askOnce(LONG_EVENT, asked)).usage.outputTokens >= 1000);
    const replace = "const usage = estimateUsage(attempt, lease, receivedBytes);";
    const { run } = await importWithout<Runtime>(runtime, { guard: "unfinished-bytes", replace });
    assert.equal((await askOnce(LONG_EVENT, { ...asked, run })).usage.outputTokens, 0);
  });
});
