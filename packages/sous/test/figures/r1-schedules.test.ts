/** R1 finds faults that are planted in the sources. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { importWithout, type Mutation } from "../support/mutation.ts";
import { runFaultSchedules } from "./r1-schedules.ts";

suite("R1: the figure finds", () => {
  const mutations: [what: string, mutation: Mutation, problem: RegExp][] = [
    [
      "a journal that does not write again what failed",
      { guard: "write-again", replace: "this.#finish(batch);" },
      /Lost: \d+ events/,
    ],
    [
      "a journal that shows before it keeps",
      {
        guard: "store-before-show",
        replace:
          "else { for (const event of batch.shown) this.#bus.publish(event); this.#write({ ...batch, shown: [] }, 0); }",
      },
      /was shown before it was kept/,
    ],
    [
      "a journal that leaves out numbers",
      {
        guard: "event-number",
        replace:
          "const event = buildEvent((this.#nextSeq += 2), this.#clock.now(), who, redactBody(body, this.#redactor));",
      },
      /has number/,
    ],
    [
      "a loop that leaves a stopped call without a result",
      { guard: "result-for-every-call", replace: "throw new StoreError(messageOf(error));" },
      /leaves the call \w+ open/,
    ],
    ["a loop that lets a model use an id twice", { guard: "one-id-per-call" }, /uses the call id same_id again/],
    [
      "a result that forgets what its children took",
      { guard: "usage-of-children", replace: "if (each === agents[0]) addUsage(usage, each.usage);" },
      /its runs add up to/,
    ],
  ];
  for (const [what, mutation, problem] of mutations) {
    test(`R1: the figure finds ${what}`, async () => {
      const { createRuntime } = await importWithout<typeof import("../../src/runtime.ts")>(
        import.meta.resolve("../../src/runtime.ts"),
        mutation,
      );
      let found = "";
      for (let seed = 1; seed <= 30 && !problem.test(found); seed += 5) {
        const { broken } = await runFaultSchedules({ seed, count: 5, createRuntime });
        found += broken.flatMap(({ problems }) => problems).join("\n");
      }
      assert.match(found, problem);
    });
  }
});
