/** A conversation that was not kept is not continued as if it had been. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Store } from "../../src/core/store.ts";
import { openMemoryStore } from "../../src/store/memory.ts";
import { calls, says } from "../../src/testing/steps.ts";
import { wrapStore } from "../../src/testing/wrap-store.ts";
import { openStage } from "../requirements/support.ts";

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
  test("is not followed up, and says why", async () => {
    const stage = openStage({ lead: [says("One."), says("Two.")] }, { runtime: { store: shortStore(2) } });
    const first = stage.start(stage.lead());
    assert.equal((await stage.end(first)).text, "One.");
    await assert.rejects(
      stage.world.run(async () => first.followUp("And?")),
      { name: "UserError", message: /^This tree cannot be continued, because not all of it was kept\. .*disk full$/ },
    );
  });

  test("refuses to go on with a child of it", async () => {
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
});
