/** Handles used in ways nobody would: too late, twice, halfway, from inside. None of it hangs, and none of it is lost. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import type { SousEvent } from "../../../src/core/event.ts";
import { RunError } from "../../../src/core/runtime.ts";
import { createRuntime, run } from "../../../src/runtime.ts";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { calls, fails, hangs, says, streams } from "../../../src/testing/steps.ts";
import { createWorld } from "../../../src/testing/world.ts";
import { openStage, simpleTool } from "../../support/requirements/support.ts";
import { wrapStore } from "../../support/testing/faults.ts";

async function typesOf(events: AsyncIterable<SousEvent>): Promise<string[]> {
  const types: string[] = [];
  for await (const event of events) types.push(event.type);
  return types;
}

const speaker = () => agent({ name: "lead", model: scriptedModel(streams("one ", "two")) });
const ALL = ["run-start", "turn-start", "text-delta", "text-delta", "message-end", "run-end"];
const STORED = ALL.filter((type) => type !== "text-delta");

suite("iterating a handle", () => {
  test("an iteration that begins after the end gives the first reader everything but the deltas, and ends", async () => {
    const handle = run(speaker(), "Speak.");
    await handle;
    assert.deepEqual([await typesOf(handle), await typesOf(handle)], [STORED, []]);
  });

  test("an iteration begun a second time gives nothing and ends", async () => {
    const handle = run(speaker(), "Speak.");
    assert.deepEqual([await typesOf(handle), await typesOf(handle)], [ALL, []]);
  });

  test("an iteration begun by a listener at the very end gives everything but the deltas, and ends", async () => {
    let late: Promise<string[]> | undefined;
    const handle = run(speaker(), "Speak.", {
      onEvent(event) {
        if (event.type === "run-end") late = typesOf(handle);
      },
    });
    await handle;
    assert.deepEqual(await late, STORED);
  });

  test("an iteration begun in the middle gives what came before from the store, then what is live", async () => {
    let late: Promise<string[]> | undefined;
    const model = scriptedModel([says("Looking."), calls("look")], streams("one ", "two"));
    const look = simpleTool("look", () => {
      late = typesOf(handle);
    });
    const handle = run(agent({ name: "lead", model, tools: [look] }), "Speak.");
    await handle;
    const turn = ["turn-start", "message-end"];
    assert.deepEqual(await late, [
      ...["run-start", ...turn, "tool-call-start", "tool-call-end"],
      ...["turn-start", "text-delta", "text-delta", "message-end", "run-end"],
    ]);
  });

  test("an iteration of a follow-up that is over begins with the follow-up", async () => {
    const model = scriptedModel(says("one"), says("two"));
    const handle = run(agent({ name: "lead", model }), "Speak.");
    await handle;
    const next = handle.followUp("Go on.");
    await next;
    const starts: unknown[] = [];
    for await (const event of next) if (event.type === "run-start") starts.push(event.origin?.kind);
    assert.deepEqual(starts, ["follow-up"]);
  });

  test("an iteration begun late, when the store has lost events, gives what it has and ends", async () => {
    const kept = openMemoryStore();
    const store = wrapStore(kept, {
      append(rootId, events, fence) {
        if ((events.at(-1)?.seq ?? 0) > 2) throw new Error("disk full");
        return kept.append(rootId, events, fence);
      },
    });
    const world = createWorld({ seed: 1 });
    const handle = createRuntime({ store, host: world.host }).run(speaker(), "Speak.");
    const { lost } = await world.run(() => handle);
    assert.match(lost ?? "", /disk full/);
    assert.deepEqual(await typesOf(handle), ["run-start", "turn-start"]);
  });

  test("an iteration of a handle that could not start ends, whenever it is begun", async () => {
    const handle = run(agent({ name: "lead" }), "Speak.");
    assert.deepEqual(await typesOf(handle), []);
    await assert.rejects(Promise.resolve(handle), /No model/);
    assert.deepEqual(await typesOf(handle), []);
  });

  test("an iteration read slowly, until long after the end, misses nothing", async () => {
    const handle = run(speaker(), "Speak.");
    const iterator = handle[Symbol.asyncIterator]();
    await handle;
    const types: string[] = [];
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) types.push(next.value.type);
    assert.deepEqual(types, ALL);
  });

  test("an iteration of a follow-up while the first run continues ends with the follow-up", async () => {
    const model = scriptedModel(says("one"), says("two"));
    const handle = run(agent({ name: "lead", model }), "Speak.");
    const [first, second] = await Promise.all([typesOf(handle), typesOf(handle.followUp("Go on."))]);
    assert.deepEqual([first.at(-1), second.at(-1)], ["run-end", "run-end"]);
    assert.equal(second.filter((type) => type === "run-end").length, 2);
  });
});

suite("the result of a handle", () => {
  test("the result of a handle is there for a run that failed, which rejects when it is awaited", async () => {
    const handle = run(agent({ name: "lead", model: scriptedModel(fails("auth")) }), "Speak.");
    const result = await handle.result;
    assert.deepEqual([result.status, result.error?.type, result.error?.kind], ["failed", "model", "auth"]);
    const error = await handle.catch((thrown: unknown) => thrown);
    assert.ok(error instanceof RunError);
    assert.equal(error.result, result);
  });

  test("the result of a handle rejects for a run that could not begin", async () => {
    const handle = run(agent({ name: "lead" }), "Speak.");
    await assert.rejects(handle.result, { name: "UserError", message: /No model/ });
  });

  test("the result of a handle is the one that awaiting the handle gives", async () => {
    const handle = run(speaker(), "Speak.");
    assert.equal(await handle.result, await handle);
  });
});

suite("stopping a run from inside", () => {
  // Not in the middle of a text: what the provider would have billed for that is only estimated.
  for (const at of ["run-start", "turn-start", "message-end", "tool-call-start", "tool-call-end"]) {
    test(`a run that a listener stops at ${at} ends as cancelled`, async () => {
      const stage = openStage({ lead: [[says("Looking."), calls("look")], says("Done.")] });
      const look = simpleTool("look");
      stage.when(
        ({ type }) => type === at,
        () => handle.cancel(),
      );
      const handle = stage.start(stage.lead({ tools: [look] }));
      assert.equal((await stage.end(handle)).status, "cancelled");
    });
  }

  test("a tool that stops its own run, and then waits for its end, is no deadlock", async () => {
    const stage = openStage({ lead: [calls("stop"), says("Done.")] });
    const stop = simpleTool("stop", async () => {
      handle.cancel();
      return (await handle).status;
    });
    const handle = stage.start(stage.lead({ tools: [stop] }));
    assert.equal((await stage.end(handle)).status, "cancelled");
  });

  test("stopping a run at its end, and once more, changes nothing", async () => {
    const stage = openStage({ lead: [says("Done.")] });
    stage.when(
      ({ type }) => type === "run-end",
      () => handle.cancel(),
    );
    const handle = stage.start(stage.lead());
    assert.equal((await stage.end(handle)).status, "completed");
    assert.deepEqual([handle.cancel(), handle.cancel("lead"), handle.steer("lead", "Go on.")], [false, false, false]);
  });
});

suite("words for a run", () => {
  test("words for a run that are none are refused at once", async () => {
    for (const words of ["", " \n", undefined, 5, [], [{ type: "text", text: " " }]] as string[]) {
      const stage = openStage({ lead: [[hangs()]] });
      const handle = stage.start(stage.lead());
      await stage.world.run(async () => {
        await handle[Symbol.asyncIterator]().next();
        assert.throws(() => handle.steer("lead", words), /cannot be empty|must be text/);
        await assert.rejects(handle.send("lead/nobody", words), /cannot be empty|must be text/);
        assert.throws(() => handle.followUp(words), /cannot be empty|must be text/);
        assert.throws(() => stage.runtime.run(stage.lead(), words), /cannot be empty|must be text/);
        handle.cancel();
        await handle;
      });
    }
  });

  test("words to the root are not sent like those to a child", async () => {
    const stage = openStage({ lead: [[hangs()]] });
    const handle = stage.start(stage.lead());
    await stage.world.run(async () => {
      await handle[Symbol.asyncIterator]().next();
      await assert.rejects(
        handle.send("lead", "Hello."),
        /lead is the root: use steer\(\) while it runs, then followUp\(\)/,
      );
      handle.cancel();
      await handle;
    });
  });
});
