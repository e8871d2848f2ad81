/** Facts about a tree that its journal alone tells. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { workingMs } from "../../../../../src/runtime/tree/restore/earlier-run.ts";
import { EarlierTree } from "../../../../../src/runtime/tree/restore/earlier-tree.ts";
import { sampleTree } from "../../../../../src/testing/sample-tree.ts";

test("the time of children is that in which at least one was at work, without the pause before a restart", () => {
  const tree = sampleTree("lead", 0);
  tree.start("lead");
  tree.start("a", { parent: "lead", time: 1_000 });
  tree.turn("a", "I look.");
  const paused = tree.events.at(-1)?.time ?? 0;
  tree.start("b", { parent: "lead", time: 5_000 });
  tree.start("inner", { parent: "b" });
  tree.end("inner");
  tree.end("b");
  const free = tree.events.at(-1)?.time ?? 0;
  // The spans of the first child lie on both sides of those of the second.
  tree.add("a", { type: "resume", usedMs: 2 });
  tree.end("a");
  const { events } = tree;
  const [resumed, ended] = events.slice(-2).map(({ time }) => time);
  assert.equal(
    workingMs([...new EarlierTree("lead", events).runs].filter(({ state }) => state.start.depth > 0)),
    paused - 1_000 + (free - 5_000) + ((ended ?? 0) - (resumed ?? 0)),
  );
});

test("a tree without a root is refused", () => {
  assert.throws(() => new EarlierTree("lead", []), {
    name: "UserError",
    message: "Run lead has no beginning in this store",
  });
});
