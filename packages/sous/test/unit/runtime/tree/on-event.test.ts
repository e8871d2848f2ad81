/** Listeners of a runtime hear every tree of it, beside the listeners of a call. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../../src/core/agent.ts";
import type { EventListener, SousEvent } from "../../../../src/core/event.ts";
import { tool } from "../../../../src/core/tool.ts";
import { createRuntime, fanOut, fork, resume, run } from "../../../../src/runtime.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import { calls, says } from "../../../../src/testing/steps.ts";

type Heard = { events: string[]; onEvent: EventListener };

function listener(): Heard {
  const events: string[] = [];
  return { events, onEvent: ({ runId, type }) => void events.push(`${runId} ${type}`) };
}

function helper() {
  return agent({ name: "helper", model: scriptedModel({ "**": [[says("One.")], [says("Two.")]] }) });
}

/** Stops after its first turn; the second one answers. */
function caller() {
  return agent({ name: "caller", model: scriptedModel(calls("none", {}), says("Done.")) });
}

const broken: EventListener = () => {
  throw new Error("A broken listener");
};
const rejecting: EventListener = async () => {
  throw new Error("A broken listener");
};
/** Never settles. A run waits for no promise of a listener. */
const endless: EventListener = () => new Promise<void>(() => {});

suite("onEvent of a runtime", () => {
  test("a listener of a runtime hears run, follow-up, fork, fanOut and resume, as the listener of the call does", async () => {
    const [ofRuntime, ofCall] = [listener(), listener()];
    const runtime = createRuntime({ store: openMemoryStore(), onEvent: ofRuntime.onEvent });
    const { onEvent } = ofCall;
    const starts = () =>
      [ofRuntime, ofCall].map(({ events }) => events.filter((each) => each.endsWith("run-start")).length);
    const handle = runtime.run(helper(), "Go.", { onEvent });
    const { runId } = await handle;
    assert.deepEqual(starts(), [1, 1]);
    await handle.followUp("And?");
    assert.deepEqual(starts(), [2, 2]);
    await runtime.fork(runId, { agent: helper(), onEvent });
    assert.deepEqual(starts(), [3, 3]);
    await runtime.fanOut(helper(), ["a", "b"], { onEvent });
    assert.deepEqual(starts(), [6, 6]);
    const definition = caller();
    const stopped = await runtime.run(definition.with({ maxTurns: 1 }), "Go.", { onEvent });
    assert.equal(stopped.status, "incomplete");
    const before = ofRuntime.events.length;
    const resumed = await runtime.resume(stopped.runId, { agent: definition, onEvent });
    assert.equal(resumed.text, "Done.");
    assert.ok(ofRuntime.events.length > before);
    assert.deepEqual(ofRuntime.events, ofCall.events);
  });

  test("a listener of a runtime hears a fan-out that is resumed", async () => {
    const [ofRuntime, ofCall] = [listener(), listener()];
    const pay = tool({
      name: "pay",
      description: "Pays.",
      tier: "confirm",
      inputSchema: { type: "object", properties: {} },
      execute: () => "paid",
    });
    const clerk = agent({
      name: "clerk",
      model: scriptedModel({ "**": [calls("pay", {}), says("Paid.")] }),
      tools: [pay],
    });
    const store = openMemoryStore();
    const [parked] = await createRuntime({ store, approve: () => "later" }).fanOut(clerk, ["a"]);
    const answers = { [parked?.questions[0]?.id ?? ""]: { allow: true } } as const;
    const runtime = createRuntime({ store, onEvent: ofRuntime.onEvent });
    const [paid] = await runtime.fanOut(clerk, ["a"], { resumes: parked?.runId, answers, onEvent: ofCall.onEvent });
    assert.equal(paid?.text, "Paid.");
    assert.ok(ofRuntime.events.length > 0);
    assert.deepEqual(ofRuntime.events, ofCall.events);
  });

  test("a listener of a runtime needs no listener of the call, and hears children", async () => {
    const heard = listener();
    const runtime = createRuntime({ onEvent: heard.onEvent });
    const model = scriptedModel({
      lead: [calls("subagent", { label: "scout", task_prompt: "Look." }), says("Seen.")],
      "lead/scout": [says("Here.")],
    });
    const { agents } = await runtime.run(agent({ name: "lead", model, delegate: true }), "Go.");
    const ended = heard.events.filter((each) => each.endsWith("run-end"));
    assert.deepEqual(
      ended,
      agents.toReversed().map(({ id }) => `${id} run-end`),
    );
  });

  test("several listeners are called in their order, those of the runtime first", async () => {
    const order: string[] = [];
    const named = (name: string) => (event: SousEvent) => {
      if (event.type === "run-start") order.push(name);
    };
    const runtime = createRuntime({ onEvent: [named("first"), named("second")] });
    await runtime.run(helper(), "Go.", { onEvent: [named("third"), named("fourth")] });
    assert.deepEqual(order, ["first", "second", "third", "fourth"]);
  });

  test("a list of listeners may be empty", async () => {
    const runtime = createRuntime({ onEvent: [] });
    const { status } = await runtime.run(helper(), "Go.", { onEvent: [] });
    assert.equal(status, "completed");
  });

  test("a listener that throws, rejects or never settles stops neither the run nor other listeners", async () => {
    const [ofRuntime, ofCall] = [listener(), listener()];
    const runtime = createRuntime({ onEvent: [broken, rejecting, endless, ofRuntime.onEvent] });
    const { status, text } = await runtime.run(helper(), "Go.", { onEvent: [broken, ofCall.onEvent] });
    assert.deepEqual([status, text], ["completed", "One."]);
    assert.ok(ofCall.events.length > 0);
    assert.deepEqual(ofRuntime.events, ofCall.events);
  });
});

suite("onEvent of the functions that make a runtime of their own", () => {
  test("a listener of a bare run, fanOut, fork or resume hears every event once", async () => {
    const heard = listener();
    const store = openMemoryStore();
    const { runId } = await run(helper(), "Go.", { store, onEvent: heard.onEvent });
    const isOnce = () => new Set(heard.events.filter(isStartOrEnd)).size === heard.events.filter(isStartOrEnd).length;
    assert.ok(heard.events.length > 0 && isOnce());
    await fanOut(helper(), ["a"], { store, onEvent: [heard.onEvent] });
    await fork(runId, { store, agent: helper(), onEvent: heard.onEvent });
    const definition = caller();
    const stopped = await run(definition.with({ maxTurns: 1 }), "Go.", { store, onEvent: heard.onEvent });
    assert.ok(isOnce());
    const before = heard.events.length;
    await resume(stopped.runId, { store, agent: definition, message: "Go on.", onEvent: heard.onEvent });
    assert.ok(heard.events.length > before && isOnce());
  });
});

function isStartOrEnd(event: string): boolean {
  return /run-(?:start|end)$/.test(event);
}

test("a listener that is not a function is refused before anything starts", () => {
  const [wrong, list] = ["log" as never, [() => {}, 5] as never];
  const refusal = (where: string, found: string) => ({
    name: "UserError",
    message: `${where}: onEvent must be a function or a list of functions; found ${found}`,
  });
  assert.throws(() => createRuntime({ onEvent: wrong }), refusal("createRuntime()", "text"));
  assert.throws(() => createRuntime({ onEvent: list }), refusal("createRuntime()", "a list with 5"));
  const runtime = createRuntime({});
  assert.throws(() => runtime.run(helper(), "Go.", { onEvent: list }), refusal("run()", "a list with 5"));
  assert.throws(() => runtime.fanOut(helper(), ["a"], { onEvent: list }), refusal("fanOut()", "a list with 5"));
  assert.throws(() => runtime.resume("x", { onEvent: list }), refusal("resume()", "a list with 5"));
  assert.throws(() => runtime.fork("x", { onEvent: list }), refusal("fork()", "a list with 5"));
  assert.throws(() => run(helper(), "Go.", { onEvent: wrong }), refusal("run()", "text"));
});
