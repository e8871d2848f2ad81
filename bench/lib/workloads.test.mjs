import assert from "node:assert/strict";
import { test } from "node:test";
import { delegate, single } from "../baselines/raw.mjs";
import { MODES } from "./plan.mjs";
import { workloads } from "./workloads.mjs";

test("a runtime that leaves work out is not measured but found out", async () => {
  const idle = { single: async () => {}, delegate: async () => {} };
  const lessThanAsked = { single: (load) => single({ ...load, turns: load.turns - 1 }) };
  const fewerChildren = { delegate: (load) => delegate({ ...load, fan: load.fan - 1 }) };
  await assert.rejects(workloads.W1(idle, MODES.smoke), /Expected 6 as modelCalls, counted 0/);
  await assert.rejects(workloads.W1(lessThanAsked, MODES.smoke), /Expected 6 as modelCalls, counted 5/);
  await assert.rejects(workloads["W3-200"](fewerChildren, MODES.smoke), /Expected 122 as modelCalls, counted 116/);
});
