/** T1 in small: fixed seeds and a fresh one. The whole figure is `npm run soak -- T1`. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { importWithout, type Mutation } from "../mutation.ts";
import { runTelemetryTrees, type Sinks, type TelemetryFigure } from "./telemetry.ts";

const FIXED = 30;
const FRESH = 10;

suite("T1: gauges end at zero, counters equal the journal, spans form its tree, and all sums agree", () => {
  test(`T1: every sink agrees with the journal in ${FIXED} trees of fixed seeds with kills and resumes`, async (context) => {
    const figure = await runTelemetryTrees({ seed: 1, count: FIXED });
    context.diagnostic(inWords(figure));
    assert.deepEqual(figure.broken.slice(0, 3), []);
    // The figure means something only if all of it happened.
    assert.ok(Math.min(...Object.values(figure.seen)) > 0, inWords(figure));
  });

  test("T1: tokens of an attempt that failed before two kills are on a span", async () => {
    assert.deepEqual((await runTelemetryTrees({ seed: 441_503_652, count: 1 })).broken, []);
  });

  test(`T1: every sink agrees with the journal in ${FRESH} trees of a fresh seed`, async (context) => {
    const figure = await runTelemetryTrees({ seed: Math.floor(Math.random() * 2 ** 27), count: FRESH });
    context.diagnostic(inWords(figure));
    assert.deepEqual(figure.broken, []);
  });
});

suite("T1: the figure finds", () => {
  const { metrics, spans } = {
    metrics: import.meta.resolve("../../src/telemetry/metrics.ts"),
    spans: import.meta.resolve("../../src/telemetry/spans.ts"),
  };
  const mutations: [what: string, module: string, mutation: Mutation, problem: RegExp][] = [
    [
      "a gauge that forgets the end of a child that was stopped before its first turn",
      metrics,
      { guard: "active-until-every-end", replace: "if (event.turns > 0) this.#countActive(depth, -1);" },
      /active \d is \d+, and (?:\d+ runs are active|the tree is over)/,
    ],
    [
      "a refused child that is counted as an execution",
      metrics,
      {
        guard: "refused-is-no-execution",
        replace: `this.#meter.count("errors", 1, [String(event.depth + 1), event.errorType]);
          this.#meter.count("executions", 1, [String(event.depth + 1)]);`,
      },
      /^executions \d is /,
    ],
    [
      "tokens that are counted again after a restart",
      spans,
      { guard: "tokens-of-earlier-processes" },
      /used \d+\+\d+, its chats/,
    ],
  ];
  for (const [what, module, mutation, problem] of mutations) {
    test(`T1: the figure finds ${what}`, async () => {
      const sinks = await importWithout<Partial<Sinks>>(module, mutation);
      const found: string[] = [];
      for (let seed = 1; seed <= FIXED && !found.some((each) => problem.test(each)); seed += 10) {
        const { broken } = await runTelemetryTrees({ seed, count: 10, sinks });
        found.push(...broken.flatMap(({ problems }) => problems));
      }
      assert.ok(
        found.some((each) => problem.test(each)),
        found.slice(0, 5).join("\n"),
      );
    });
  }
});

function inWords({ seed, trees, broken, seen, milliseconds }: TelemetryFigure): string {
  const counts = Object.entries(seen).map(([what, count]) => `${count} ${what}`);
  return `T1, seeds ${seed}–${seed + trees - 1}: ${counts.join(", ")}; ${broken.length} broken; ${milliseconds} ms`;
}
