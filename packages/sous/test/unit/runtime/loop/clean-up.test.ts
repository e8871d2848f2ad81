/** Work that a tool leaves for the end of its run. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { calls, says } from "../../../../src/testing/steps.ts";
import { openStage, simpleTool } from "../../../support/requirements/support.ts";

test("a deferred task of a tool is done and waited for at the end of the run, whether it fails or not", async () => {
  const done: string[] = [];
  const open = simpleTool("open", (_input, { defer }) => {
    defer(async () => {
      await Promise.resolve();
      done.push("closed");
    });
    defer(() => Promise.reject(new Error("cannot be closed")));
    return "opened";
  });
  const stage = openStage({ lead: [calls("open"), says("Done.")] });
  // The stage itself fails when a timer is left.
  const result = await stage.run(stage.lead({ tools: [open] }));
  assert.deepEqual([result.status, result.text, done], ["completed", "Done.", ["closed"]]);
});

test("a run does not wait for ever for what was deferred", async () => {
  const open = simpleTool("open", (_input, { defer }) => {
    defer(() => new Promise(() => {}));
    return "opened";
  });
  const stage = openStage({ lead: [calls("open"), says("Done.")] });
  const result = await stage.run(stage.lead({ tools: [open] }));
  assert.equal(result.status, "completed");
});

test("a task that a tool which was left behind defers later is done at once, and its failure ends nothing", async () => {
  const done: string[] = [];
  const { promise: isOver, resolve: release } = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const open = simpleTool("open", async (_input, { defer }) => {
    await isOver;
    defer(() => void done.push("closed"));
    defer(() => Promise.reject(new Error("cannot be closed")));
    left.resolve();
  });
  const stage = openStage({ lead: [calls("open")] });
  const handle = stage.start(stage.lead({ tools: [open] }));
  stage.when(
    ({ type }) => type === "tool-call-start",
    () => stage.world.clock.ownTimer(500, () => handle.cancel()),
  );
  assert.equal((await stage.end(handle)).status, "cancelled");
  release();
  await left.promise;
  assert.deepEqual(done, ["closed"]);
});
