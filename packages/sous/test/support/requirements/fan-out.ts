/** A fan-out of an agent called `scout` in a world of its own, for tests of it. */

import assert from "node:assert/strict";
import { agent } from "../../../src/core/agent.ts";
import type { SousEvent, StoredEvent } from "../../../src/core/event.ts";
import type { RunResult, RuntimeOptions } from "../../../src/core/runtime.ts";
import { createRuntime, type FanOutOptions } from "../../../src/runtime.ts";
import { checkHistory } from "../../../src/testing/checker.ts";
import { type ScriptedModel, scriptedModel } from "../../../src/testing/scripted-model.ts";
import type { Script } from "../../../src/testing/steps.ts";
import { createWorld, type World } from "../../../src/testing/world.ts";

export type FanOutPlan = {
  script: Script;
  options?: FanOutOptions;
  runtime?: RuntimeOptions;
  definition?: Parameters<typeof agent>[0];
  during?(world: World): void;
  /** False when the store is broken, so that not everything can be shown. */
  isKept?: boolean;
};

export type FanOutTrial = { results: RunResult[]; events: StoredEvent[]; model: ScriptedModel; world: World };

/** Runs it to its end, with the checks that always hold. */
export async function fanOut(inputs: readonly string[], plan: FanOutPlan): Promise<FanOutTrial> {
  const { script, options, runtime, definition, during, isKept = true } = plan;
  const world = createWorld({ seed: 1, lateness: 0 });
  const model = scriptedModel(script, { clock: world.clock });
  const events: SousEvent[] = [];
  const scout = agent({ name: "scout", model, ...definition });
  const results = await world.run(() => {
    during?.(world);
    const onEvent = (event: SousEvent) => void events.push(event);
    return createRuntime({ ...runtime, host: world.host }).fanOut(scout, inputs, { ...options, onEvent });
  });
  const stored = events.filter((event): event is StoredEvent => event.seq !== undefined);
  if (isKept) assert.deepEqual(checkHistory(stored), []);
  assert.equal(world.clock.liveTimers, 0, "a timer is left");
  return { results, events: stored, model, world };
}

export function inShort(results: readonly RunResult[]): unknown[] {
  return results.map(({ status, text, error }) => [status, text, error?.message]);
}
