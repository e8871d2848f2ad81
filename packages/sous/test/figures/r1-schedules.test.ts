/** R1 in small: fixed seeds and a fresh one. The whole figure is `npm run soak`. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { importWithout } from "../mutation.ts";
import { runFaultSchedules, type ScheduleFigure } from "./r1-schedules.ts";

const FIXED = 250;
const FRESH = 30;

suite("R1: no record is lost, doubled or out of order, and no run hangs", () => {
  test(`in ${FIXED} schedules of fixed seeds`, async (context) => {
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

  test(`in ${FRESH} schedules of a fresh seed`, async (context) => {
    const figure = await runFaultSchedules({ seed: Math.floor(Math.random() * 2 ** 31), count: FRESH });
    context.diagnostic(inWords(figure));
    assert.deepEqual(figure.broken, []);
  });

  test("a schedule is the same every time", async () => {
    const { milliseconds: _first, ...once } = await runFaultSchedules({ seed: 1, count: 20 });
    const { milliseconds: _second, ...again } = await runFaultSchedules({ seed: 1, count: 20 });
    assert.deepEqual(again, once);
  });
});

suite("R1: the figure finds", () => {
  const source = (file: string) => import.meta.resolve(`../../src/${file}`);
  const mutations: [what: string, file: string, find: string, replace: string, problem: RegExp][] = [
    [
      "a journal that does not write again what failed",
      "events/journal.ts",
      "this.#clock.timer(delay, () => this.#write(batch, attempt + 1));",
      "this.#finish(batch);",
      /Lost: \d+ events/,
    ],
    [
      "a journal that shows before it keeps",
      "events/journal.ts",
      "else this.#write(batch, 0);",
      "else { for (const event of batch.shown) this.#bus.publish(event); this.#write({ ...batch, shown: [] }, 0); }",
      /was shown before it was kept/,
    ],
    ["a journal that leaves out numbers", "events/journal.ts", "this.#nextSeq++", "(this.#nextSeq += 2)", /has number/],
    [
      "a loop that leaves a stopped call without a result",
      "loop/run-tool-call.ts",
      "if (error instanceof StoreError) throw error;",
      "throw new StoreError(messageOf(error));",
      /leaves the call \w+ open/,
    ],
    [
      "a loop that lets a model use an id twice",
      "loop/clean-answer.ts",
      "usedIds.has(callId)",
      "false",
      /uses the call id same_id again/,
    ],
    [
      "a result that forgets what its children took",
      "tree/results.ts",
      "for (const each of agents) {",
      "for (const each of agents.slice(0, 1)) {",
      /its runs add up to/,
    ],
  ];
  for (const [what, file, find, replace, problem] of mutations) {
    test(what, async () => {
      const mutation = { in: source(file), find, replace };
      const { createRuntime } = await importWithout<typeof import("../../src/runtime.ts")>(
        source("runtime.ts"),
        mutation,
      );
      const figure = await runFaultSchedules({ seed: 1, count: 30, createRuntime });
      assert.match(figure.broken.flatMap(({ problems }) => problems).join("\n"), problem);
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
