/** The order in which the profiles of children are handed out. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { agent } from "../../../../src/core/agent.ts";
import type { Model } from "../../../../src/core/model.ts";
import { DEFAULT_LIMITS } from "../../../../src/core/words/limits.ts";
import { Profiles } from "../../../../src/runtime/tree/profiles.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";

test("children get their profiles in the order of their calls, also when one has to wait for its model or fails", async () => {
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
  await profiles.child(parent, { label: "known", task: "b" });
  const order: string[] = [];
  const ask = async (label: string, model?: string, unknown?: string): Promise<void> => {
    const asked = unknown ?? (model === undefined ? undefined : agent({ name: label, model }));
    await profiles.child(parent, { label, task: "b", agent: asked }).catch(() => undefined);
    order.push(label);
  };
  const asked = [
    ask("slow", "slow/model"),
    ask("quick", "quick/model"),
    ask("refused", undefined, "nobody"),
    ask("known"),
  ];
  await new Promise(setImmediate);
  assert.deepEqual(order, []);
  loaded.resolve(scriptedModel());
  await Promise.all(asked);
  assert.deepEqual(order, ["slow", "quick", "refused", "known"]);
});
