/** R3 in small: sixteen kills. The whole figure is `npm run soak`. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Mutation } from "../mutation.ts";
import {
  type OrphanFigure,
  type OrphanOptions,
  REAL_COMMAND,
  runOrphanKills,
  STUBBORN_STRANGER,
} from "./r3-orphans.ts";

const FIXED = 12;
const FRESH = 4;

suite("R3: two seconds after INT, TERM and KILL nothing is left of what a run has started", () => {
  test(`R3: two seconds after INT, TERM and KILL nothing is left of what a run has started, in ${FIXED} kills of a fixed seed`, async (context) => {
    const figure = await runOrphanKills({ seed: 1, kills: FIXED });
    context.diagnostic(inWords(figure));
    assert.deepEqual(figure.orphans, []);
    // Kills that hit nothing would show nothing. A slow machine has started less by the time of an early kill.
    assert.ok(Object.values(figure.kills).every((kills) => kills > 0) && figure.processes > 3 * FIXED, inWords(figure));
  });

  test(`R3: two seconds after INT, TERM and KILL nothing is left of what a run has started, in ${FRESH} kills of sous run, of a fresh seed`, async (context) => {
    const figure = await runOrphanKills({ seed: Math.floor(Math.random() * 2 ** 31), kills: FRESH, ...REAL_COMMAND });
    context.diagnostic(inWords(figure));
    assert.deepEqual(figure.orphans, []);
  });
});

// Most of it is waiting for what should have ended.
suite("R3: the figure finds", { concurrency: true }, () => {
  const faults: [what: string, mutation: Mutation, options?: Partial<OrphanOptions>][] = [
    ["a guard that does nothing", { guard: "sweep-when-alone", replace: "exit 0" }],
    ["a program that is asked to end and never made to", { guard: "kill-after-grace" }],
    [
      "a guard that leaves the groups alone that programs have made",
      { guard: "kill-whole-groups" },
      { endings: ["KILL"], shapes: [STUBBORN_STRANGER] },
    ],
  ];
  for (const [what, mutation, options] of faults) {
    test(`R3: the figure finds ${what}`, async () => {
      const { orphans } = await runOrphanKills({ seed: 2, kills: 4, lanes: 4, ...options, mutation });
      assert.ok(orphans.length > 0);
    });
  }
});

function inWords({ seed, kills, processes, slowestMilliseconds, milliseconds }: OrphanFigure): string {
  const each = Object.entries(kills).map(([ending, count]) => `${count} ${ending}`);
  return `seed ${seed}: ${each.join(", ")}; ${processes} processes, slowest ${slowestMilliseconds} ms, ${milliseconds} ms in all`;
}
