/** R1 in small: fixed seeds and a fresh one. The whole figure is `npm run soak`. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { importWithout } from "../mutation.ts";
import { runFaultSchedules, type ScheduleFigure } from "./r1-schedules.ts";

const FIXED = 450;
const FRESH = 50;

suite("R1: no record is lost, doubled or out of order, and no run hangs", () => {
  test(`in ${FIXED} schedules of fixed seeds`, async (context) => {
    const figure = await runFaultSchedules({ seed: 1, count: FIXED });
    context.diagnostic(inWords(figure));
    assert.deepEqual(figure.broken.slice(0, 5), []);
    // The figure means something only if the trees were trees and the faults happened.
    assert.ok(figure.runs > FIXED * 2 && figure.faults > FIXED, inWords(figure));
    const endings = ["completed", "incomplete", "cancelled", "failed", "budget_exceeded", "timeout"];
    for (const ending of endings) assert.ok((figure.endings[ending] ?? 0) > 0, `some roots end as ${ending}`);
  });

  test(`in ${FRESH} schedules of a fresh seed`, async (context) => {
    const figure = await runFaultSchedules({ seed: Math.floor(Math.random() * 2 ** 31), count: FRESH });
    context.diagnostic(inWords(figure));
    assert.deepEqual(figure.broken, []);
  });
});

suite("R1: the figure finds", () => {
  type Runtime = typeof import("../../src/runtime.ts");
  const journal = import.meta.resolve("../../src/events/journal.ts");
  const runtime = import.meta.resolve("../../src/runtime.ts");
  const mutations: [what: string, find: string, replace: string, problem: RegExp][] = [
    [
      "a journal that does not write again what failed",
      "this.#clock.timer(delay, () => this.#write(batch, attempt + 1));",
      "this.#finish(batch);",
      /shown before it was kept|Lost/,
    ],
    [
      "a journal that shows before it keeps",
      "else this.#write(batch, 0);",
      "else { this.#finish({ ...batch, settled: undefined }); this.#inFlight = batch; this.#write({ ...batch, shown: [] }, 0); }",
      /shown before it was kept/,
    ],
  ];
  for (const [what, find, replace, problem] of mutations) {
    test(what, async () => {
      const { createRuntime } = await importWithout<Runtime>(runtime, { in: journal, find, replace });
      const figure = await runFaultSchedules({ seed: 1, count: 40, createRuntime });
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
