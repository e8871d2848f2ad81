/** I4: a fan-out from code never rejects: whatever happens, every input has a result that says what it was. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import { after, calls, fails, hangs, refuses, says } from "../../../src/testing/steps.ts";
import { fanOut, inShort } from "../../support/requirements/fan-out.ts";
import { recordingTool } from "../../support/requirements/run-tree.ts";

suite("I4: the endings of a fan-out", () => {
  test("I4: a fan-out never rejects: every ending is a result of its own", async () => {
    const { results } = await fanOut(["works", "crashes", "refuses", "hangs", " ", "asks"], {
      script: {
        "fan-out/scout": [says("Done.")],
        "fan-out/scout#2": [fails(new TypeError("boom"))],
        "fan-out/scout#3": [[says("No."), refuses()]],
        "fan-out/scout#4": [hangs()],
        "fan-out/scout#5": [calls("write", { to: "x" }), says("Wrote it.")],
      },
      definition: { name: "scout", timeoutMs: 1000, tools: [recordingTool("write", { tier: "confirm" })] },
    });
    assert.deepEqual(inShort(results), [
      ["completed", "Done.", undefined],
      ["failed", "", "The model failed: boom"],
      ["refused", "No.", "The model refused the task"],
      ["timeout", "", "Subagent timed out after 1000 ms"],
      ["failed", "", "task_prompt cannot be empty"],
      ["incomplete", "Wrote it.", undefined],
    ]);
    assert.equal(results[5]?.stopReason, "consent");
    assert.deepEqual(results[5]?.denied, [{ path: "fan-out/scout#5", toolName: "write", input: { to: "x" } }]);
    assert.deepEqual(results[0]?.denied, []);
  });

  test("I4: a model that cannot be had fails every input and rejects nothing", async () => {
    const { results } = await fanOut(["a", "b"], { script: {}, definition: { name: "scout", model: undefined } });
    assert.deepEqual(
      results.map(({ status, error }) => [status, /No model/.test(error?.message ?? "")]),
      [
        ["failed", true],
        ["failed", true],
      ],
    );
    const unknown = await fanOut(["a"], { script: {}, definition: { name: "scout", model: "no-such-provider/x" } });
    assert.equal(unknown.results[0]?.status, "failed");
  });

  test("I4: a cancel gives a result for every input, started or not, after all have stopped", async () => {
    const stop = new AbortController();
    const { results, events } = await fanOut(["a", "b", "c", "d", "e"], {
      script: { "**": [[after(2000), says("Done.")]] },
      options: { concurrency: 2, signal: stop.signal },
      during: (world) => void world.clock.ownTimer(3000, () => stop.abort()),
    });
    assert.deepEqual(
      results.map(({ status }) => status),
      ["completed", "completed", "cancelled", "cancelled", "cancelled"],
    );
    assert.deepEqual([events.at(-1)?.type, events.at(-1)?.path], ["run-end", "fan-out"]);
  });

  test("I4: every input that is not done says so when the time of the whole is up", async () => {
    const { results, events, world } = await fanOut(["a", "b", "c"], {
      script: { "**": [[after(1000), says("Done.")]] },
      options: { concurrency: 1, budget: { durationMs: 1500 } },
    });
    assert.deepEqual(inShort(results), [
      ["completed", "Done.", undefined],
      ["timeout", "", "Time limit exceeded: 2s/1.5s"],
      ["timeout", "", "Time limit exceeded: 2s/1.5s"],
    ]);
    const ends = events.filter((event) => event.type === "run-end").map(({ path, status }) => [path, status]);
    assert.deepEqual(ends, [
      ["fan-out/scout", "completed"],
      ["fan-out/scout#2", "cancelled"],
      ["fan-out", "timeout"],
    ]);
    assert.equal(world.clock.monotonic(), 1500);
  });

  test("I4: a signal that has aborted starts nothing, and the root is cancelled like any other", async () => {
    const { results, events, model } = await fanOut(["a", "b"], {
      script: { "**": [says("Done.")] },
      options: { signal: AbortSignal.abort() },
    });
    assert.deepEqual(inShort(results), [
      ["cancelled", "", "The run was cancelled"],
      ["cancelled", "", "The run was cancelled"],
    ]);
    assert.equal(model.requestCount, 0);
    const last = events.at(-1);
    assert.equal(last?.type === "run-end" && last.status, "cancelled");
  });

  test("I4: a required store that breaks leaves no success, whenever it breaks", async () => {
    let writes = 0;
    const trial = (brokenAt: number) => {
      const store = openMemoryStore();
      const append = store.append.bind(store);
      writes = 0;
      store.append = (...given) => {
        writes += 1;
        if (writes >= brokenAt) throw new Error("disk full");
        return append(...given);
      };
      const script = { "**": [[after(1000), says("Done.")]] };
      return fanOut(["a", "b"], {
        script,
        options: { concurrency: 1 },
        runtime: { store, requireStore: true },
        isKept: false,
      });
    };
    const whole = await trial(Number.POSITIVE_INFINITY);
    assert.equal(whole.results.filter(({ status }) => status === "completed").length, 2);
    const needed = writes;
    assert.ok(needed > 5);
    for (let brokenAt = 1; brokenAt <= needed; brokenAt++) {
      const { results } = await trial(brokenAt);
      const told = results.map(({ status, error }) => [status, error?.type]);
      assert.deepEqual(
        told,
        [
          ["failed", "store"],
          ["failed", "store"],
        ],
        `broken at write ${brokenAt} of ${needed}`,
      );
    }
  });
});
