/** A schema may make more than JSON of a model's words: the code gets it, the journal keeps what can be kept. */

import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { agent } from "../../../src/core/agent.ts";
import { calls, says } from "../../../src/testing/steps.ts";
import { openStage, simpleTool } from "../../support/requirements/support.ts";

test("an output that JSON cannot hold is given as it is and kept as JSON", async () => {
  const outputSchema = z.object({
    size: z.string().transform(BigInt),
    at: z.string().transform((text) => new Date(text)),
    names: z.array(z.string()).transform((names) => new Set(names)),
  });
  const stage = openStage({ lead: [says('{"size":"9007199254740993","at":"2020-01-01","names":["a"]}')] });
  const { output } = await stage.run(agent({ name: "lead", model: stage.model, outputSchema }));
  assert.deepEqual(output, { size: 9007199254740993n, at: new Date("2020-01-01"), names: new Set(["a"]) });
  assert.deepEqual(stage.eventsOf("run-end")[0]?.output, {
    size: "9007199254740993",
    at: "2020-01-01T00:00:00.000Z",
    names: ["a"],
  });
});

test("a person is asked about what would run, and the journal keeps the question as JSON", async () => {
  const asked: unknown[] = [];
  const inputSchema = z.object({ size: z.number().transform((size) => (size < 0 ? () => size : BigInt(size))) });
  const grow = simpleTool("grow", (input) => typeof (input as { size: unknown }).size, {
    inputSchema,
    tier: "confirm",
  });
  const approve = ({ input }: { input: unknown }) => {
    asked.push(input);
    return { allow: true } as const;
  };
  const stage = openStage(
    { lead: [calls("grow", { size: 3 }), calls("grow", { size: -3 }), says("Done.")] },
    { runtime: { approve } },
  );
  await stage.run(stage.lead({ tools: [grow] }));
  assert.deepEqual(asked[0], { size: 3n });
  assert.deepEqual(
    stage.eventsOf("approval-request").map(({ input }) => input),
    [{ size: "3" }, {}],
  );
  assert.deepEqual(
    stage.resultsOf("lead").map(({ output }) => output),
    ["bigint", "function"],
  );
});

test("an answer that is nothing but brackets is a wrong output, not a crash", async () => {
  const nested = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
  for (const outputSchema of [z.any(), z.json()]) {
    const stage = openStage({ lead: [says(nested), says(nested)] });
    const { status, error } = await stage.run(agent({ name: "lead", model: stage.model, outputSchema }));
    assert.deepEqual([status, error?.type], ["failed", "model"]);
    assert.match(error?.message ?? "", /nested too deeply/);
  }
});
