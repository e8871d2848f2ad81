/** Output that is watched while a program runs: it is told now and then, and not at all once nobody watches. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { WatchedOutput } from "../../../../src/app/process/output.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";

test("output is told once for all that has come meanwhile, and not after the end of the program", () => {
  const clock = new VirtualClock(0);
  const told: string[] = [];
  const output = new WatchedOutput({ maxOutputBytes: 1000, onOutput: (text) => told.push(text) }, clock);
  const fire = () => clock.fireNext(() => 0);
  output.kept.add(Buffer.from("one "));
  output.kept.add(Buffer.from("two "));
  assert.deepEqual([fire(), fire(), told], [true, false, ["one two "]]);
  output.kept.add(Buffer.from("three "));
  output[Symbol.dispose]();
  output.kept.add(Buffer.from("four "));
  assert.deepEqual([fire(), told], [false, ["one two "]]);
  assert.equal(output.kept.read().head, "one two three four ");
});
