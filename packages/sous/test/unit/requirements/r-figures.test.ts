/** The figures that need one process only, in small and from fixed seeds. `npm run soak` has them in full, from fresh seeds, and their planted faults. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { openSqliteStore } from "../../../src/storage/store/sqlite/store.ts";
import { runCrashSchedules } from "../../figures/r1-crashes.ts";
import { runFaultSchedules } from "../../figures/r1-schedules.ts";
import { runDeadlockSearch } from "../../figures/r6-deadlocks.ts";
import { runForgedCalls } from "../../figures/r9-forged-calls.ts";
import { runRightsTrees } from "../../figures/r9-rights.ts";
import { EMPTY, MODES, runWithFault } from "../../figures/r11-run.ts";
import { runReruns } from "../../figures/r13-reruns.ts";
import { measureFanOuts, runMixes, runWithEnough } from "../../figures/r15-fan-outs.ts";
import { runTelemetryTrees } from "../../figures/telemetry.ts";

const SEED = 1;

suite(`The figures of one process, from seed ${SEED}`, () => {
  test("R1: no record is lost, doubled or out of order, and no run hangs", async () => {
    const { broken, hangs, runs, faults } = await runFaultSchedules({ seed: SEED, count: 12 });
    assert.deepEqual([broken, hangs], [[], 0]);
    // Trees that are no trees, and faults that do not happen, would show nothing.
    assert.ok(runs > 30 && faults > 10, `${runs} runs, ${faults} faults`);
  });

  test("R1, R2: a tree whose processes die continues, with nothing lost, nothing done twice and no hang", async () => {
    const { broken, hangs, crashes, resumedRuns } = await runCrashSchedules({ seed: SEED, count: 8 });
    assert.deepEqual([broken, hangs], [[], 0]);
    assert.ok(crashes > 8 && resumedRuns > 8, `${crashes} crashes, ${resumedRuns} resumed runs`);
  });

  test("R6, H5: no tree of depth 8 and width 3 waits for itself, whatever the limits", async () => {
    const { broken, deadlocks, overspent, reachedBottom } = await runDeadlockSearch({ seed: SEED, count: 8 });
    assert.deepEqual([broken, deadlocks, overspent], [[], 0, 0]);
    assert.ok(reachedBottom > 1, `${reachedBottom} trees reach the bottom`);
  });

  test("R9, H3, B1.2: no path that makes or revives a child gives it more than its parent may pass on", async () => {
    const figure = await runRightsTrees({ seed: SEED, count: 350 });
    assert.deepEqual([figure.examples, figure.widenings, figure.losses], [[], 0, 0]);
    for (const made of [figure.plain, figure.defined, figure.asked, figure.forked, figure.revived, figure.refused]) {
      assert.ok(made > 5, JSON.stringify(figure));
    }
  });

  test("R9, B1.3: every call beyond the rights is refused, recorded and not run", async () => {
    const { problems, executed, refused } = await runForgedCalls({ seed: SEED, count: 12 });
    assert.deepEqual(problems, []);
    assert.ok(executed > 0 && refused > 0, `${executed} ran, ${refused} refused`);
  });

  test("R15: random trees neither overspend, hang, overtake nor refuse too early", async () => {
    const { broken, waited, lowered, endings } = await runMixes({ seed: SEED, count: 10 });
    assert.deepEqual(broken, []);
    assert.ok(Math.min(waited, lowered, endings.completed, endings.refused) > 0);
  });

  test("R15: random trees with just enough complete, and no answer is cut", async () => {
    const { broken, waited } = await runWithEnough({ seed: SEED, count: 10 });
    assert.deepEqual(broken, []);
    assert.ok(waited > 10, `${waited} waited`);
  });

  test("T1: metrics, spans, logs and totals agree with the journal, with kills and resumes", async () => {
    // Background children are rare: trees from here on have some.
    const { broken, seen } = await runTelemetryTrees({ seed: SEED + 2, count: 20 });
    assert.deepEqual(broken, []);
    assert.ok(Math.min(...Object.values(seen)) > 0, JSON.stringify(seen));
  });
});

test("R15: fan-outs with half of what they need complete nearly as much at once as one after another", async () => {
  const { broken, oneTurn, delivered } = await measureFanOuts({ seed: SEED, count: 2 });
  assert.deepEqual(broken, []);
  assert.ok(oneTurn >= 0.95 && delivered >= 0.9, `one turn ${oneTurn}, with words ${delivered}`);
});

test("R13, G4: a random tree that is run again gives the identical stream of events, and no tool runs", async () => {
  // Whatever differs says its seed.
  assert.deepEqual((await runReruns({ seed: 1, count: 3, events: 60 })).different, []);
});

// Found by the figures in full.
test("R1: a question that was open when its process died ends with its call, also when the call is not asked about again", async () => {
  assert.deepEqual((await runCrashSchedules({ seed: 559_582_591, count: 1 })).broken, []);
});

test("T1: tokens of an attempt that failed before two kills are on a span", async () => {
  assert.deepEqual((await runTelemetryTrees({ seed: 441_503_652, count: 1 })).broken, []);
});

test("R13: a turn that a timeout ends before it is recorded counts neither then nor when it is run again", async () => {
  assert.deepEqual((await runReruns({ seed: 4_998, count: 1, events: 60 })).different, []);
});

test("R13: a fork that is just small enough not to be pruned is not pruned when it is run again", async () => {
  assert.deepEqual((await runReruns({ seed: 1_580_385_698, count: 1, events: 2_000 })).different, []);
});

test("R11: whichever write fails, nothing is lost in silence and nothing is said to be kept that is not", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sous-r11-"));
  try {
    await (await openSqliteStore(join(folder, EMPTY)))[Symbol.asyncDispose]();
    // The first write, one in the middle, and the last.
    for (const write of [1, 13, 31]) {
      for (const mode of MODES) {
        const plan = { write, way: "busy", mode, folder, turns: 10, open: openSqliteStore } as const;
        const { problems, hasFailed } = await runWithFault(plan);
        assert.deepEqual([problems, hasFailed], [[], true], `write ${write}, ${mode}`);
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
});
