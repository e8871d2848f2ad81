/** T1 finds faults that are planted in the sources. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { importWithout, type Mutation } from "../support/mutation.ts";
import { runTelemetryTrees, type Sinks } from "./telemetry.ts";

suite("T1: the figure finds", () => {
  const { metrics, spans } = {
    metrics: import.meta.resolve("../../src/bridges/telemetry/metrics.ts"),
    spans: import.meta.resolve("../../src/bridges/telemetry/spans.ts"),
  };
  const mutations: [what: string, module: string, mutation: Mutation, problem: RegExp][] = [
    [
      "a gauge that forgets the end of a child that was stopped before its first turn",
      metrics,
      { guard: "active-until-every-end", replace: "if (event.turns > 0) addAt(this.#active, depth, -1);" },
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
      for (let seed = 1; seed <= 30 && !found.some((each) => problem.test(each)); seed += 10) {
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
