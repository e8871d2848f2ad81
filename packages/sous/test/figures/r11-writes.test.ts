/** R11 in small: a shorter run, and some of its writes. The whole figure is `npm run soak`. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { importWithout, type Mutation } from "../mutation.ts";
import { WAYS } from "./r11-faults.ts";
import { EMPTY, MODES, runWithFault } from "./r11-run.ts";
import { runFailedWrites } from "./r11-writes.ts";

test("R11: whichever write fails in whichever way, nothing is lost in silence and nothing is said to be kept that is not", async (context) => {
  // Two turns make six writes: of the first, of a middle one, of the last.
  const order = { turns: 10, writes: [1, 2, 12, 13, 31, 32] };
  // In one process, which loads the sources once.
  const { broken, ...figure } = await runFailedWrites(order, 1);
  context.diagnostic(`R11: ${JSON.stringify(figure)}, ${broken.length} broken`);
  assert.deepEqual(broken, []);
  // A sweep that did not reach every write, or did not make it fail, would show nothing.
  assert.ok(figure.writes >= 32);
  assert.deepEqual(Object.keys(figure.failed), WAYS);
  for (const [way, failed] of Object.entries(figure.failed)) assert.ok(failed >= 20, `${failed} by ${way}`);
});

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
