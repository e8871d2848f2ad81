/** R1 in small: fixed seeds and a fresh one. The whole figure is `npm run soak`. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { importWithout, type Mutation } from "../mutation.ts";
import { runFaultSchedules, type ScheduleFigure } from "./r1-schedules.ts";

const FIXED = 60;
const FRESH = 10;

suite("R1: no record is lost, doubled or out of order, and no run hangs", () => {
  test(`R1: no record is lost, doubled or out of order, and no run hangs, in ${FIXED} schedules of fixed seeds`, async (context) => {
    const figure = await runFaultSchedules({ seed: 1, count: FIXED });
    context.diagnostic(inWords(figure));
    assert.deepEqual(figure.broken.slice(0, 5), []);
    assert.equal(figure.hangs, 0);
    // The figure means something only if the trees were trees, the faults happened and every ending was among them.
    assert.ok(figure.runs > FIXED * 3 && figure.faults > FIXED, inWords(figure));
    assert.deepEqual(Object.keys(figure.endings).sort(), [
      "budget_exceeded",
      "cancelled",
      "completed",
      "failed",
      "incomplete",
      "refused",
      "timeout",
    ]);
  });

  test(`R1: no record is lost, doubled or out of order, and no run hangs, in ${FRESH} schedules of a fresh seed`, async (context) => {
    const figure = await runFaultSchedules({ seed: Math.floor(Math.random() * 2 ** 31), count: FRESH });
    context.diagnostic(inWords(figure));
    assert.deepEqual(figure.broken, []);
  });

  test("a schedule is the same every time", async () => {
    const { milliseconds: _first, ...once } = await runFaultSchedules({ seed: 1, count: 10 });
    const { milliseconds: _second, ...again } = await runFaultSchedules({ seed: 1, count: 10 });
    assert.deepEqual(again, once);
  });
});

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

function inWords({
  seed,
  schedules,
  runs,
  events,
  faults,
  broken,
  hangs,
  endings,
  milliseconds,
}: ScheduleFigure): string {
  const ends = Object.entries(endings).map(([ending, count]) => `${count} ${ending}`);
  return `R1, seeds ${seed}–${seed + schedules - 1}: ${schedules} schedules, ${runs} runs, ${events} events, ${faults} faults; ${broken.length} broken, ${hangs} hangs; roots: ${ends.join(", ")}; ${milliseconds} ms`;
}
