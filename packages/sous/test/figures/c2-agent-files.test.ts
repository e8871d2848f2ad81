/** C2: the time of `sous agents list` and `check` grows with the number of files, no faster. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { agentStage } from "../support/app/cli/agent-stage.ts";

test("C2: the time of list and check grows no faster than the number of files", async () => {
  await using some = await agentStage(manyFiles(10));
  await using many = await agentStage(manyFiles(100));
  for (const command of ["list", "check"]) {
    await some.command("agents", command);
    const plain = await timeOf(() => some.command("agents", command));
    const full = await timeOf(() => many.command("agents", command));
    assert.ok(full < 30 * plain, `${command}: ${Math.round(full)} ms for 100, ${Math.round(plain)} ms for 10`);
  }
});

function manyFiles(count: number): Record<string, string> {
  const names = Array.from({ length: count }, (_, index) => `agent-${index}`);
  const keys = `description: Knows one thing. ${"It is used for much. ".repeat(60)}\ntools: [list_files]`;
  return Object.fromEntries(
    names.map((name) => [`config/sous/agents/${name}.md`, `---\nname: ${name}\n${keys}\n---\nYou work.\n`]),
  );
}

/** Milliseconds of work for the processor, on which other processes have little influence; the least of three. */
async function timeOf(work: () => Promise<unknown>): Promise<number> {
  let shortest = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < 3; turn++) {
    const start = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(start);
    shortest = Math.min(shortest, (user + system) / 1000);
  }
  return shortest;
}
