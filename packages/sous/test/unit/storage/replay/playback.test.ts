/** The clock and the steps of a rerun: what has ended has no say in what comes next. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Playback } from "../../../../src/storage/replay/playback.ts";
import { foldRecording } from "../../../../src/storage/replay/recording.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";

function playback(): Playback {
  const tree = sampleTree("lead");
  tree.start("lead");
  tree.end("lead");
  return new Playback(foldRecording(tree.events) ?? assert.fail("it can be played"), {});
}

suite("the clock of a rerun", () => {
  test("the clock of a rerun does not call a timer that was disposed, and time does not move for it", () => {
    const { clock } = playback();
    const before = clock.now();
    const called: string[] = [];
    const gone = clock.timer(100, () => called.push("gone"));
    clock.timer(200, () => called.push("kept"));
    gone[Symbol.dispose]();
    assert.equal(clock.isDueAt(before + 100), false);
    assert.equal(clock.fireBefore(before + 1000), true);
    assert.deepEqual([called, clock.now() - before], [["kept"], 200]);
    assert.equal(clock.fireBefore(before + 1000), false);
  });

  test("the clock of a rerun does not call a timer of no time that was disposed at once", async () => {
    const { clock } = playback();
    const called: string[] = [];
    clock.timer(0, () => called.push("gone"))[Symbol.dispose]();
    clock.timer(0, () => called.push("kept"));
    await null;
    assert.deepEqual(called, ["kept"]);
  });
});
