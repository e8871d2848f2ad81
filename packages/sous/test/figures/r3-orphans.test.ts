/** R3 in small: twenty kills. The whole figure and its planted faults are `npm run soak -- R3`. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { MCP_COMMAND } from "./r3-mcp.ts";
import { type OrphanFigure, REAL_COMMAND, runOrphanKills } from "./r3-orphans.ts";

const FIXED = 8;
const FRESH = 3;

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

  test(`R3: two seconds after INT, TERM and KILL nothing is left of MCP servers that ignore TERM, in ${FRESH} kills of a fresh seed`, async (context) => {
    const figure = await runOrphanKills({ seed: Math.floor(Math.random() * 2 ** 31), kills: FRESH, ...MCP_COMMAND });
    context.diagnostic(inWords(figure));
    assert.deepEqual(figure.orphans, []);
    assert.ok(figure.processes > FRESH, inWords(figure));
  });
});

function inWords({ seed, kills, processes, slowestMilliseconds, milliseconds }: OrphanFigure): string {
  const each = Object.entries(kills).map(([ending, count]) => `${count} ${ending}`);
  return `seed ${seed}: ${each.join(", ")}; ${processes} processes, slowest ${slowestMilliseconds} ms, ${milliseconds} ms in all`;
}
