/** R13 in small: a fixed seed and a fresh one. The whole figure is `npm run soak`. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { rerun } from "../../src/rerun.ts";
import { seededRandom } from "../../src/testing/world.ts";
import { storeOf } from "../rerun/support.ts";
import { type ReplayFigure, rerunOffline, runReplays } from "./r13-replay.ts";
import { agentsOf, recordTree, toolsOf } from "./r13-tree.ts";

/** A tree of this seed has everything in it, and more events than it must have. */
const SEED = 27;
const EVENTS = 300;

suite("R13: a rerun gives an identical stream of events, without network", () => {
  test("of a fixed seed", async (context) => {
    const figure = await runReplays({ seed: SEED, trees: 1, events: EVENTS });
    context.diagnostic(inWords(figure));
    assertReached(figure);
    // The figure means something only if all of this was there to be run again.
    const { retry = 0, prune = 0, truncation = 0, report = 0, steer = 0 } = figure.kinds;
    const { "spawn-refused": refused = 0, "approval-end": consent = 0, notice = 0 } = figure.kinds;
    for (const count of [retry, prune, truncation, report, steer, refused, consent, notice])
      assert.ok(count > 0, inWords(figure));
    assert.ok(figure.runs > 100 && figure.events > 1000, inWords(figure));
  });

  test("of a tree in which a fork is just small enough not to be pruned", async (context) => {
    const figure = await runReplays({ seed: 1580385698, trees: 1, events: 2000 });
    context.diagnostic(inWords(figure));
    assertReached(figure);
  });

  test("of a fresh seed", async (context) => {
    const figure = await runReplays({ seed: Math.floor(Math.random() * 2 ** 31), trees: 1, events: EVENTS });
    context.diagnostic(inWords(figure));
    assertReached(figure);
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

  test("a process that reaches for the network", async () => {
    const recorded = await recordTree(SEED, 10);
    const { reached } = await rerunOffline(recorded, { from: [], reach: true });
    assert.deepEqual(reached, ["fetch", "dns lookup", "net connect"]);
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
