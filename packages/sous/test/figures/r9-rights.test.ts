/** R9 finds faults that are planted in the sources. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { importWithout, type Mutation } from "../support/mutation.ts";
import { runForgedCalls } from "./r9-forged-calls.ts";
import { runRightsTrees } from "./r9-rights.ts";

suite("R9: the search finds", () => {
  const mutations: [what: string, mutation: Mutation][] = [
    [
      "a child that has what its definition declares",
      {
        guard: "narrow-tools",
        replace:
          "const use = keepOnly(declared.tools === undefined ? passable : new Set(declared.tools), asked.tools);",
      },
    ],
    [
      "a call that is not heeded",
      { guard: "narrow-tools", replace: "const use = keepOnly(passable, declared.tools);" },
    ],
    ["a deny that is forgotten", { guard: "narrow-deny", replace: "const deny = parent.deny;" }],
    ["a follow-up that keeps what its parent has lost", { guard: "narrow-follow-up", replace: "use: earlier.use," }],
    [
      "a list of tools that leaves the right to have children",
      {
        guard: "narrow-spawn",
        replace: "return { use, delegate, deny, spawn: parent.spawn && declared.spawn !== false };",
      },
    ],
    [
      "a definition without children that leaves the right to have some",
      {
        guard: "narrow-spawn",
        replace: "return { use, delegate, deny, spawn: parent.spawn && asked.tools === undefined };",
      },
    ],
  ];
  for (const [what, mutation] of mutations) {
    test(`R9: the search finds ${what}`, async () => {
      const { Profiles } = await importWithout<typeof import("../../src/runtime/tree/profiles.ts")>(
        import.meta.resolve("../../src/runtime/tree/profiles.ts"),
        mutation,
      );
      const figure = await runRightsTrees({ seed: 1, count: 300, Profiles });
      assert.ok(figure.widenings > 0);
    });
  }
});

test("R9: the forged calls find a dispatcher that heeds only what is shown", async () => {
  const { createRuntime } = await importWithout<typeof import("../../src/runtime.ts")>(
    import.meta.resolve("../../src/runtime.ts"),
    {
      guard: "rights-at-dispatch",
      replace: 'return tool.category !== "subagent" || who.depth < tree.maxDepth;',
    },
  );
  const { problems } = await runForgedCalls({ seed: 1, count: 60, createRuntime });
  assert.ok(problems.length > 0);
});
