/** R7 finds faults that are planted in the sources. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { importWithout } from "../support/mutation.ts";
import { runMutatedStreams } from "./r7-streams.ts";

test("R7 fails when calls are not held until a proper finish", async () => {
  const { resolveModel } = await importWithout<typeof import("../../src/runtime/model/resolve.ts")>(
    import.meta.resolve("../../src/runtime/model/resolve.ts"),
    {
      guard: "answer-needs-a-finish",
      replace: 'return unified === "error" || unified === "interrupted" ? "stop" : unified;',
    },
  );
  const figures = await runMutatedStreams({ seed: 7, count: 150, resolve: resolveModel });
  assert.ok(figures.incompleteCalls > 0, JSON.stringify(figures));
});

test("R7 fails when a broken connection is taken for the end of the answer", async () => {
  const { resolveModel } = await importWithout<typeof import("../../src/runtime/model/resolve.ts")>(
    import.meta.resolve("../../src/runtime/model/resolve.ts"),
    {
      guard: "broken-body",
      replace:
        'if (broken !== undefined) gathered.finish = { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage: undefined };',
    },
  );
  const figures = await runMutatedStreams({ seed: 7, count: 150, resolve: resolveModel });
  assert.ok(figures.incompleteCalls > 0, JSON.stringify(figures));
});
