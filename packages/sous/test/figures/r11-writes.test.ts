/** R11 finds faults that are planted in the sources. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { openSqliteStore } from "../../src/storage/store/sqlite/store.ts";
import { importWithout, type Mutation } from "../support/mutation.ts";
import { EMPTY, MODES, runWithFault } from "./r11-run.ts";

suite("R11: the figure finds", () => {
  const mutations: [what: string, mutation: Mutation, problem: RegExp][] = [
    [
      "a loss that no caller is told of",
      { guard: "tell-of-a-loss", replace: "this.#finish(batch);" },
      /The caller is told: undefined/,
    ],
    [
      "a write that is not tried again",
      { guard: "retry-delay", replace: "const delay = undefined;" },
      /The caller is told: The store failed 1 times/,
    ],
    ["a run that continues though it requires its store", { guard: "required-store" }, /asks after the loss/],
    [
      "a tree that continues though not all of it was kept",
      { guard: "refuse-a-lost-run", replace: "const lost = undefined;" },
      /nobody refuses it/,
    ],
    [
      "a store that is not told that the run has ended",
      { guard: "end-with-loss" },
      /its store says that it is at work/,
    ],
  ];
  for (const [what, mutation, problem] of mutations) {
    test(`R11: the figure finds ${what}`, async () => {
      const { createRuntime } = await importWithout<typeof import("../../src/runtime.ts")>(
        import.meta.resolve("../../src/runtime.ts"),
        mutation,
      );
      const folder = mkdtempSync(join(tmpdir(), "sous-r11-"));
      try {
        await (await openSqliteStore(join(folder, EMPTY)))[Symbol.asyncDispose]();
        const found: string[] = [];
        for (const mode of MODES) {
          const plan = {
            write: 20,
            way: "busy",
            mode,
            folder,
            turns: 8,
            open: openSqliteStore,
            createRuntime,
          } as const;
          found.push(...(await runWithFault(plan)).problems);
        }
        assert.match(found.join("\n"), problem);
      } finally {
        rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
      }
    });
  }
});
