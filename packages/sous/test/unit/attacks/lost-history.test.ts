/** A conversation that was not kept is not continued as if it had been. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Store } from "../../../src/core/store.ts";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import { checkHistory } from "../../../src/testing/checker.ts";
import { calls, says } from "../../../src/testing/steps.ts";
import { openStage } from "../../support/requirements/support.ts";
import { wrapStore } from "../../support/testing/faults.ts";

/** Keeps the first events, then fails for good. */
function shortStore(room: number): Store {
  const memory = openMemoryStore();
  let kept = 0;
  return wrapStore(memory, {
    append(rootId, events) {
      kept += events.length;
      if (kept > room) throw new Error("disk full");
      return memory.append(rootId, events);
    },
  });
}

suite("a tree whose events are no longer kept", () => {
  test("a tree whose events are no longer kept is not followed up, and says why", async () => {
    const stage = openStage({ lead: [says("One."), says("Two.")] }, { runtime: { store: shortStore(2) } });
    const first = stage.start(stage.lead());
    assert.equal((await stage.end(first)).text, "One.");
    await assert.rejects(
      stage.world.run(async () => first.followUp("And?")),
      { name: "UserError", message: /^This tree cannot be continued, because not all of it was kept\. .*disk full$/ },
    );
  });

  test("a tree whose events are no longer kept refuses to continue a child of it", async () => {
    const stage = openStage(
      {
        lead: [
          calls("subagent", { label: "x", task_prompt: "Look." }),
          ({ messages }) => {
            const id = /subagent_id: (\w+)/.exec(JSON.stringify(messages.at(-1)))?.[1];
            return calls("subagent_send", { subagent_id: id, message: "Again." });
          },
          says("Done."),
        ],
        "lead/x": [says("A wall."), says("Never.")],
      },
      { runtime: { store: shortStore(6) } },
    );
    const { status } = await stage.run(stage.lead());
    assert.equal(status, "completed");
    assert.match(stage.resultsOf("lead")[1]?.output ?? "", /^This tree cannot be continued/);
    assert.equal(stage.requestsOf("lead/x").length, 1);
  });

  test("a lost tree is marked so in its store, even if only at the end, and no process is said to work on it", async () => {
    const { store, control } = failingStore();
    control.failsFrom(3);
    const stage = openStage({ lead: [calls("subagent_list"), says("Done.")] }, { runtime: { store } });
    stage.when(
      (event) => event.type === "turn-start" && event.turn === 2,
      () => control.failsFrom(Number.POSITIVE_INFINITY),
    );
    const { runId, lost, status } = await stage.run(stage.lead());
    assert.deepEqual([status, lost !== undefined], ["completed", true]);
    const record = await store.run(runId);
    assert.deepEqual([record?.status, record?.lost], ["interrupted", lost]);
  });

  test("a lost tree can continue where what is stored ends when the store was required, as nothing happened after that", async () => {
    const { store, control } = failingStore();
    control.failsFrom(3);
    const script = { lead: [calls("subagent_list"), says("Done.")] };
    const stage = openStage(script, { runtime: { store, requireStore: true } });
    const { runId, status, error } = await stage.run(stage.lead());
    assert.deepEqual([status, error?.type], ["failed", "store"]);
    control.failsFrom(Number.POSITIVE_INFINITY);
    const record = await store.run(runId);
    assert.deepEqual([record?.status, record?.lost], ["interrupted", undefined]);
    const again = openStage(script, { runtime: { store } });
    const result = await again.world.run(() => again.runtime.resume(runId, { agent: again.lead() }));
    assert.deepEqual([result.status, result.text], ["completed", "Done."]);
    assert.deepEqual(checkHistory(await store.read(runId), { resultUsage: result.usage }), []);
  });
});

/** A store whose writes fail from an event on, until it is told otherwise. */
function failingStore() {
  const memory = openMemoryStore();
  let from = Number.POSITIVE_INFINITY;
  let last = 0;
  const check = () => {
    if (last >= from) throw new Error("disk full");
  };
  const store = wrapStore(memory, {
    append(rootId, events, fence) {
      last = events.at(-1)?.seq ?? last;
      check();
      return memory.append(rootId, events, fence);
    },
    async markLost(...given) {
      check();
      return memory.markLost(...given);
    },
  });
  const failsFrom = (seq: number) => {
    from = seq;
  };
  return { store, control: { failsFrom } };
}
