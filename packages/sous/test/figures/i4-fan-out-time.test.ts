/** I4: the time of a fan-out grows with the number of its inputs, no faster. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { says } from "../../src/testing/steps.ts";
import { fanOut } from "../support/requirements/fan-out.ts";

test("I4: ten times the inputs take about ten times as long", async () => {
  await timeOf(200);
  // A list that is walked once per input would make it a hundred times, every time.
  const seen: string[] = [];
  for (let attempt = 0; attempt < 3; attempt++) {
    const few = await timeOf(200);
    const many = await timeOf(2000);
    if (many < few * 40) return;
    seen.push(`${few} µs for 200, ${many} µs for 2,000`);
  }
  assert.fail(seen.join("; "));
});

/** Microseconds of work for the processor. */
async function timeOf(count: number): Promise<number> {
  const inputs = Array.from({ length: count }, (_, index) => `Input ${index}`);
  const before = process.cpuUsage();
  await fanOut(inputs, { script: { "**": [says("Done.")] }, options: { concurrency: 100 } });
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
