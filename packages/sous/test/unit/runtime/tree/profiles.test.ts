/** The moments at which the profiles of children are there. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { agent } from "../../../../src/core/agent.ts";
import type { Model } from "../../../../src/core/model.ts";
import { DEFAULT_LIMITS } from "../../../../src/core/words/limits.ts";
import { Profiles } from "../../../../src/runtime/tree/profiles.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";

const loaded = Promise.withResolvers<Model>();

const profiles = new Profiles({
  resolveModel: (choice) => (choice === "slow/model" ? loaded.promise : scriptedModel()),
  priceOf: () => undefined,
  windowOf: () => undefined,
  allowedModels: [],
  limits: DEFAULT_LIMITS,
  agents: [],
  now: () => 0,
});

const parent = await profiles.root(agent({ name: "lead", model: scriptedModel(), delegate: true }));

test("a profile for which nothing has to be loaded is there at once, so that children start in the order of their calls", () => {
  const requests = [
    { label: "first", task: "b" },
    { label: "known", task: "b" },
    { label: "short", task: "b", options: { maxTurns: 2, timeoutMs: 1000 } },
    { label: "bare", task: "b", options: { allowedTools: [] } },
    { label: "checked", task: "b", options: { outputSchema: { type: "object" } } },
    { label: "fork", task: "b", options: { context: "fork" } },
    {
      label: "named",
      task: "b",
      agent: agent({ name: "named", model: "quick/model", outputSchema: { type: "object" } }),
    },
  ] as const;
  for (const request of requests) assert.ok(!(profiles.child(parent, request) instanceof Promise), request.label);
});

test("siblings that wait for the same model share one profile, and get it at once when it is there", async () => {
  const scout = agent({ name: "scout", model: "slow/model" });
  const asked = ["a", "b"].map((label) => profiles.child(parent, { label, task: "b", agent: scout }));
  assert.ok(asked.every((each) => each instanceof Promise));
  loaded.resolve(scriptedModel());
  const [first, second] = await Promise.all(asked);
  assert.equal(first, second);
  assert.equal(profiles.child(parent, { label: "c", task: "b", agent: scout }), first);
});
