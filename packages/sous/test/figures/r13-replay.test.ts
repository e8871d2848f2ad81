/** R13 in small: a fixed seed and a fresh one. The whole figure is `npm run soak`. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { rerun } from "../../src/rerun.ts";
import { seededRandom } from "../../src/testing/world.ts";
import { storeOf } from "../rerun/support.ts";
import { type ReplayFigure, runReplays } from "./r13-replay.ts";
import { agentsOf, recordTree, toolsOf } from "./r13-tree.ts";

/** A tree of this seed has everything in it, and more events than it must have. */
const SEED = 27;
const EVENTS = 300;

const FORK_SEED = 1580385698;

// One process runs all of them again: most of a short rerun is loading the sources.
const { figures, control } = await runReplays([
  { seed: SEED, events: EVENTS },
  { seed: FORK_SEED, events: 2000 },
  { seed: Math.floor(Math.random() * 2 ** 31), events: EVENTS },
]);
const [fixed, fork, fresh] = figures;
assert.ok(fixed !== undefined && fork !== undefined && fresh !== undefined);

suite("R13: a rerun gives an identical stream of events, without network", () => {
  test("of a fixed seed", (context) => {
    const figure = fixed;
    context.diagnostic(inWords(figure));
    assertReached(figure);
    // The figure means something only if all of this was there to be run again.
    const { retry = 0, prune = 0, truncation = 0, report = 0, steer = 0 } = figure.kinds;
    const { "spawn-refused": refused = 0, "approval-end": consent = 0, notice = 0 } = figure.kinds;
    for (const count of [retry, prune, truncation, report, steer, refused, consent, notice])
      assert.ok(count > 0, inWords(figure));
    assert.ok(figure.runs > 100 && figure.events > 1000, inWords(figure));
  });

  test("of a tree in which a fork is just small enough not to be pruned", (context) => {
    context.diagnostic(inWords(fork));
    assertReached(fork);
  });

  test("of a fresh seed", (context) => {
    context.diagnostic(inWords(fresh));
    assertReached(fresh);
  });
});

suite("R13: the figure finds", () => {
  test("a recording in which one result is another", async () => {
    const recorded = [...(await recordTree(SEED, 100))];
    const place = recorded.findIndex((event) => event.type === "message-end" && event.path !== "lead");
    const changed = recorded[place];
    assert.ok(changed?.type === "message-end");
    recorded[place] = { ...changed, usage: { ...changed.usage, outputTokens: changed.usage.outputTokens + 1 } };
    const never = () => Promise.reject(new Error("A tool has run"));
    const agents = agentsOf(toolsOf(never, seededRandom(SEED, "never")));
    const { matches, firstDifference } = await rerun(changed.runId, { store: storeOf(recorded), agents });
    assert.equal(matches, false);
    assert.match(firstDifference?.sentence ?? "", /usage|tokens|costUsd/);
  });

  test("a process that reaches for the network", () => {
    assert.deepEqual(control, ["fetch", "dns lookup", "net connect"]);
  });
});

function assertReached({ different, networkCalls, providersLoaded, reruns }: ReplayFigure): void {
  assert.deepEqual(different, []);
  assert.deepEqual([networkCalls, providersLoaded], [0, 0]);
  assert.equal(reruns, 2);
}

function inWords({ kinds, ...figure }: ReplayFigure): string {
  return JSON.stringify({ ...figure, ...kinds });
}
