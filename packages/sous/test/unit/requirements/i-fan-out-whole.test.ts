/** I4: a fan-out returns what a run of the same agent returns: the whole answer, from the same questions. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { type AgentOptions, agent } from "../../../src/core/agent.ts";
import type { SousEvent, StoredEvent } from "../../../src/core/event.ts";
import type { RunResult } from "../../../src/core/runtime.ts";
import { NO_OWNER } from "../../../src/core/store.ts";
import type { DelegationLimits } from "../../../src/core/words/limits.ts";
import { createRuntime, type FanOutOptions } from "../../../src/runtime.ts";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { calls, type Script, says } from "../../../src/testing/steps.ts";
import { createWorld } from "../../../src/testing/world.ts";
import { openStage, simpleTool } from "../../support/requirements/support.ts";
import { rerunBothWays } from "../../support/rerun/support.ts";

const LONG = "A long answer. ".repeat(500);
const SUMMARY = "Summarize your findings concisely";

/** Answers at length, and in short when it is asked for a summary. */
const talker: Script = {
  "**": ({ messages }) => says(JSON.stringify(messages.at(-1)).includes(SUMMARY) ? "In short." : LONG),
};

type Told = Pick<RunResult, "status" | "stopReason" | "text" | "turns" | "usage" | "costUsd" | "error">;
type Trial = { result: Told; requests: number; truncations: number };

async function trial(
  way: "run" | "fanOut",
  script: Script,
  definition: Partial<AgentOptions> = {},
  limits?: { runtime?: Partial<DelegationLimits>; call?: Partial<DelegationLimits> },
): Promise<Trial> {
  const world = createWorld({ seed: 1, lateness: 0 });
  const model = scriptedModel(script, { clock: world.clock });
  const scout = agent({ name: "scout", model, tools: [simpleTool("look")], ...definition });
  const events: SousEvent[] = [];
  const options: FanOutOptions = { limits: limits?.call, onEvent: (event) => void events.push(event) };
  const runtime = createRuntime({ host: world.host, limits: limits?.runtime });
  const result = await world.run(async () => {
    if (way === "run") return runtime.run(scout, "Look.", options);
    const [only] = await runtime.fanOut(scout, ["Look."], options);
    return only ?? assert.fail("no result");
  });
  const { status, stopReason, text, turns, usage, costUsd, error } = result;
  return {
    result: { status, stopReason, text, turns, usage, costUsd, error },
    requests: model.requestCount,
    truncations: events.filter(({ type, path }) => type === "truncation" && path === "fan-out/scout").length,
  };
}

suite("I4: fanOut returns what run returns", () => {
  const spawn = calls("subagent", { label: "x", task_prompt: "Look there." });
  const same: [name: string, script: Script, definition: Partial<AgentOptions>][] = [
    ["an answer longer than a report", talker, {}],
    ["an answer after a tool call", { "**": [calls("look"), says(LONG)] }, {}],
    ["an agent that ran out of turns", { "**": [calls("look"), calls("look")] }, { maxTurns: 2 }],
    ["an agent that never comes to an end", { "**": () => calls("look") }, {}],
    [
      "an agent whose child sums up for it",
      {
        "**/x": ({ messages }) => says(messages.length > 1 ? "In short." : LONG),
        "**": [spawn, ({ messages }) => says(`Read: ${JSON.stringify(messages.at(-1)).includes("In short.")} ${LONG}`)],
      },
      { delegate: true },
    ],
  ];
  for (const [name, script, definition] of same) {
    test(`I4: fanOut returns the text, turns, usage and requests of run for ${name}`, async () => {
      const one = await trial("run", script, definition);
      assert.deepEqual(await trial("fanOut", script, definition), one);
    });
  }

  test("I4: an answer of 7,500 characters takes one request and is not cut", async () => {
    const { result, requests, truncations } = await trial("fanOut", talker);
    assert.deepEqual([result.text, result.turns, requests, truncations], [LONG, 1, 1, 0]);
  });

  const asked: [Partial<DelegationLimits>, requests: number][] = [
    [{ summary: "auto" }, 2],
    [{ summary: "always" }, 2],
    [{ outputMaxSize: 2000 }, 2],
    [{ outputMaxSize: 20_000 }, 1],
    [{ summary: "never" }, 1],
    [{ maxDepth: 2 }, 1],
  ];
  for (const [limits, requests] of asked) {
    test(`I4: an answer takes ${requests} with limits ${JSON.stringify(limits)}, from the runtime or the call`, async () => {
      const text = requests === 2 ? "In short." : LONG;
      for (const given of [{ call: limits }, { runtime: limits }]) {
        const trialed = await trial("fanOut", talker, {}, given);
        assert.deepEqual([trialed.result.text, trialed.requests], [text, requests]);
      }
    });
  }
});

/** A store that holds this tree, whose process has ended. */
function storeWith(events: readonly StoredEvent[]) {
  const store = openMemoryStore();
  store.append(events[0]?.runId ?? "", structuredClone(events), NO_OWNER);
  return store;
}

suite("I4: a fan-out that is run again or resumed", () => {
  for (const [limits, text] of [
    [undefined, LONG],
    [{ summary: "auto" }, "In short."],
  ] as const) {
    const name = limits === undefined ? "without a word about summaries" : "that asked for summaries";
    test(`I4: a rerun of one ${name} asks what was asked`, async () => {
      const stage = openStage(talker);
      const definition = agent({ name: "scout", model: stage.model });
      const results = await stage.world.run(() => stage.runtime.fanOut(definition, ["a", "b"], { limits }));
      assert.deepEqual(
        results.map((result) => result.text),
        [text, text],
      );
      const [root] = await stage.store.list({ rootsOnly: true });
      await rerunBothWays(stage, root?.id ?? "", [definition]);
    });

    test(`I4: one ${name} gives the same results from wherever it is resumed`, async () => {
      const first = openStage(talker);
      const events: StoredEvent[] = [];
      const onEvent = (event: SousEvent) => void (event.seq === undefined || events.push(event));
      const definition = agent({ name: "scout", model: first.model });
      await first.world.run(() => first.runtime.fanOut(definition, ["a", "b"], { limits, onEvent }));
      for (let length = 1; length < events.length; length++) {
        const stage = openStage(talker, { runtime: { store: storeWith(events.slice(0, length)) } });
        const again = agent({ name: "scout", model: stage.model });
        const resumes = events[0]?.runId ?? "";
        // Without the limits: a tree resumes under the terms it began with.
        const results = await stage.world.run(() => stage.runtime.fanOut(again, ["a", "b"], { resumes }));
        assert.deepEqual(
          results.map((result) => result.text),
          [text, text],
          `cut behind ${length}`,
        );
      }
    });
  }

  for (const [name, options] of [
    ["more inputs than agents it may start", { budget: { executions: 2 } }],
    ["no place for all at once", { limits: { maxConcurrent: 1, onFull: "refuse" } }],
  ] as const) {
    test(`I4: a rerun of one with ${name} refuses the same inputs`, async () => {
      const stage = openStage(talker);
      const definition = agent({ name: "scout", model: stage.model });
      const results = await stage.world.run(() => stage.runtime.fanOut(definition, ["a", "b", "c", "d"], options));
      assert.ok(results.some(({ status }) => status === "budget_exceeded"));
      const [root] = await stage.store.list({ rootsOnly: true });
      await rerunBothWays(stage, root?.id ?? "", [definition]);
    });
  }

  test("I4: an input that had begun is not refused when it is resumed, because another took its place", async () => {
    const limits = { maxConcurrent: 1, onFull: "refuse" } as const;
    const first = openStage(talker);
    const events: StoredEvent[] = [];
    const onEvent = (event: SousEvent) => void (event.seq === undefined || events.push(event));
    const definition = agent({ name: "scout", model: first.model });
    await first.world.run(() => first.runtime.fanOut(definition, ["a", "b"], { limits, onEvent }));
    const begun = events.findIndex(({ type }) => type === "turn-start") + 1;
    const stage = openStage(talker, { seed: 2, runtime: { store: storeWith(events.slice(0, begun)) } });
    const again = agent({ name: "scout", model: stage.model });
    const resumes = events[0]?.runId ?? "";
    const [result] = await stage.world.run(() => stage.runtime.fanOut(again, ["a", "b"], { resumes }));
    assert.deepEqual([result?.status, result?.text], ["completed", LONG]);
  });
});
