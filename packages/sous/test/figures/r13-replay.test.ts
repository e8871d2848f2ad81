/** R13 finds a recording that was changed, and a process that reaches for the network. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { rerun } from "../../src/rerun.ts";
import { seededRandom } from "../../src/testing/world.ts";
import { storeOf } from "../support/rerun/support.ts";
import { runReplays } from "./r13-replay.ts";
import { agentsOf, recordTree, toolsOf } from "./r13-tree.ts";

const SEED = 27;

suite("R13: planted faults", () => {
  test("R13: the figure finds a recording in which one result is another", async () => {
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

  test("R13: the figure finds a process that reaches for the network", async () => {
    const { control } = await runReplays([{ seed: SEED, events: 100 }]);
    assert.deepEqual(control, ["fetch", "dns lookup", "net connect"]);
  });
});
