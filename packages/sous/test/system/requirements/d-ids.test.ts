/** D6: ids are unique across processes and restarts. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import { ulidSource } from "../../../src/core/ulid.ts";
import { systemHost } from "../../../src/machine/host.ts";
import { createRuntime } from "../../../src/runtime.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { calls, says } from "../../../src/testing/steps.ts";
import type { MadeIds } from "./make-ids.ts";

suite("D6: ids", () => {
  test("D6: ids are ULIDs, monotonic within a millisecond and when the clock steps back", () => {
    let time = 1_700_000_000_000;
    let drawn = 0;
    const nextId = ulidSource(
      () => time,
      () => (drawn++ % 2 === 0 ? 0.999999 : 0),
    );
    const ids = Array.from({ length: 1000 }, () => nextId());
    time -= 60_000;
    ids.push(nextId());
    time += 120_000;
    ids.push(nextId());
    assert.equal(new Set(ids).size, ids.length);
    assert.deepEqual(ids.toSorted(), ids);
    for (const id of ids) assert.match(id, /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
  });

  test("D6: ids are unique across processes and restarts: two sources in the same millisecond share nothing", () => {
    const sources = Array.from({ length: 50 }, () => ulidSource(() => 1_700_000_000_000, systemHost().random));
    const ids = sources.flatMap((nextId) => Array.from({ length: 200 }, () => nextId()));
    assert.equal(new Set(ids).size, 10_000);
  });

  test("D6: every run of every tree has its own id, the root's is known at once, and an agent keeps its first", async () => {
    const model = scriptedModel({
      "**": ({ caller }) =>
        caller.depth === 0 && caller.turn === 1 ? calls("subagent", { label: "a", task_prompt: "b" }) : says("Done."),
    });
    const runtime = createRuntime();
    const lead = agent({ name: "lead", model, delegate: true });
    const handles = Array.from({ length: 20 }, () => runtime.run(lead, "Go."));
    const results = await Promise.all(handles);
    assert.deepEqual(
      results.map(({ runId }) => runId),
      handles.map(({ id }) => id),
    );
    const ids = results.flatMap(({ agents }) => agents.map(({ id }) => id));
    assert.deepEqual([ids.length, new Set(ids).size], [40, 40]);
  });

  test("D6: two processes at the same moment, and one that is started again, make no id twice", async () => {
    const made = [...(await inProcesses(2)), ...(await inProcesses(1))];
    const ids = made.flatMap(({ roots, children }) => [...roots, ...children]);
    assert.deepEqual([ids.length, new Set(ids).size], [240, 240]);
    for (const { roots, children, from, to } of made) {
      assert.deepEqual(roots.toSorted(), roots);
      for (const id of [...roots, ...children]) {
        const time = timeOf(id);
        assert.ok(from <= time && time <= to, `${id} is of ${time}, made between ${from} and ${to}`);
      }
    }
    const [one, other, restarted] = made.map(({ roots, children }) => [...roots, ...children].sort());
    const earlier = [one?.at(-1) ?? "", other?.at(-1) ?? ""];
    for (const id of earlier) assert.ok(id < (restarted?.[0] ?? ""), "ids sort by time, also those of another process");
  });
});

/** Starts so many processes and lets them begin together. */
async function inProcesses(count: number): Promise<MadeIds[]> {
  const processes = Array.from({ length: count }, () =>
    spawn(process.execPath, ["--conditions=sous-source", join(import.meta.dirname, "make-ids.ts")], {
      stdio: ["pipe", "pipe", "inherit"],
    }),
  );
  const ready = processes.map(async (each) => {
    each.stdout.setEncoding("utf8");
    const [first] = await once(each.stdout, "data");
    assert.equal(first, "ready\n");
  });
  await Promise.all(ready);
  const told = processes.map(async ({ stdout }) => JSON.parse((await stdout.toArray()).join("")) as MadeIds);
  for (const { stdin } of processes) stdin.write("go\n");
  return Promise.all(told);
}

/** The first ten digits of a ULID are milliseconds since 1970. */
function timeOf(id: string): number {
  return [...id.slice(0, 10)].reduce((sum, digit) => sum * 32 + "0123456789ABCDEFGHJKMNPQRSTVWXYZ".indexOf(digit), 0);
}
