/** Events that are kept together: a commit takes longer than a turn, and no commit is made without need. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as z from "zod";
import { agent } from "../../../../src/core/agent.ts";
import type { Store } from "../../../../src/core/store.ts";
import { tool } from "../../../../src/core/tool.ts";
import { run } from "../../../../src/runtime.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import { calls, type Script, says } from "../../../../src/testing/steps.ts";
import { wrapStore } from "../../../support/testing/faults.ts";

suite("the commits of a tree", () => {
  test("the commits of a tree are one before every request and one before every tool that is not safe, and starting a child is neither", async () => {
    const { store, commits } = countingStore();
    await run(lead(DELEGATION), "Look around.", { store });
    assert.deepEqual(commits, [
      "lead run-start, lead turn-start",
      "lead message-end, lead tool-call-start, lead/scout run-start, lead/scout turn-start",
      "lead/scout message-end, lead/scout tool-call-start",
      "lead/scout tool-call-end, lead/scout turn-start",
      "lead/scout message-end, lead/scout run-end, lead tool-call-end, lead turn-start",
      "lead message-end, lead run-end",
    ]);
  });

  test("the commits of a tree do not wait for the next round of the event loop while only one run is at work", async () => {
    const { store } = countingStore();
    let isNextRound = false;
    const handle = run(lead(DELEGATION), "Look around.", { store });
    setImmediate(() => {
      isNextRound = true;
    });
    await handle;
    assert.equal(isNextRound, false);
  });

  test("the commits of a tree wait for it while several runs are at work, and then take what all of them have to say", async () => {
    const { store, commits } = countingStore();
    const children = Array.from({ length: 8 }, () => calls("subagent_scout", { task: "Look." }));
    const definition = lead({ ...DELEGATION, lead: [children, [says("Done.")]] });
    await run(definition, "Look around.", { store, limits: { maxConcurrent: 8 } });
    const written = commits.map((commit) => commit.match(/scout(#\d)? tool-call-end/g)?.length ?? 0);
    assert.deepEqual(
      written.filter((count) => count > 0),
      [8],
    );
  });
});

const WRITES = [[calls("write", {})], [says("Written.")]];
const DELEGATION: Script = {
  lead: [[calls("subagent_scout", { task: "Here." })], [says("Done.")]],
  "lead/scout": WRITES,
  ...Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`lead/scout#${index + 2}`, WRITES])),
};

function lead(script: Script) {
  const model = scriptedModel(script);
  const write = tool({ name: "write", description: "Writes.", inputSchema: z.object({}), execute: () => "written" });
  const scout = agent({ name: "scout", model, tools: [write] });
  return agent({ name: "lead", model, subagents: [scout] });
}

function countingStore(): { store: Store; commits: string[] } {
  const commits: string[] = [];
  const inner = openMemoryStore();
  const store = wrapStore(inner, {
    isImmediate: false,
    append(rootId, events, fence) {
      commits.push(events.map(({ path, type }) => `${path} ${type}`).join(", "));
      return inner.append(rootId, events, fence);
    },
  });
  return { store, commits };
}
