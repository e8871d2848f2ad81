/** Things that came from outside while a run was recorded come again at the same place when it is run again. */

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import { UserError } from "../../../src/core/errors.ts";
import type { SousEvent } from "../../../src/core/event.ts";
import { rerun } from "../../../src/rerun.ts";
import { after, calls, hangs, type Script, says } from "../../../src/testing/steps.ts";
import { openStage, simpleTool } from "../../support/requirements/support.ts";
import { rerunBothWays, storeOf } from "../../support/rerun/support.ts";

const look = simpleTool("look", () => "A view.");
const scout = agent({ name: "scout", instructions: "You find.", tools: [look] });

const at = (path: string, type: SousEvent["type"], turn?: number) => (event: SousEvent) =>
  event.path === path && event.type === type && (turn === undefined || ("turn" in event && event.turn === turn));

suite("G4: a rerun hears again", () => {
  test("a rerun hears what was said to the root and to a child", async () => {
    const stage = openStage({
      lead: [calls("look"), calls("subagent_scout", { task: "Find." }), says("Done."), says("Done again.")],
      "lead/scout": [calls("look"), says("There.")],
    });
    const lead = stage.lead({ tools: [look], subagents: [scout] });
    const handle = stage.start(lead);
    stage.when(at("lead", "turn-start", 1), () => handle.steer("lead", "Hurry."));
    stage.when(at("lead/scout", "turn-start", 1), () => handle.steer("lead/scout", "Only src."));
    stage.when(at("lead", "turn-start", 3), () => handle.steer("lead", "Are you sure?"));
    await stage.end(handle);
    assert.equal(stage.eventsOf("steer").length, 3);
    const [given] = await rerunBothWays(stage, handle.id, [lead]);
    assert.deepEqual(
      given.events.flatMap((event) => (event.type === "steer" ? [[event.path, event.text]] : [])),
      stage.eventsOf("steer").map(({ path, text }) => [path, text]),
    );
  });

  test("a rerun hears what was said to a child before its first turn", async () => {
    const stage = openStage({
      lead: [calls("subagent_scout", { task: "Find." }), says("Done.")],
      "lead/scout": [says("There.")],
    });
    const lead = stage.lead({ subagents: [scout] });
    const handle = stage.start(lead);
    stage.when(at("lead/scout", "run-start"), () => handle.steer("lead/scout", "Only src."));
    await stage.end(handle);
    assert.equal(stage.eventsOf("steer", "lead/scout").length, 1);
    await rerunBothWays(stage, handle.id, [lead]);
  });

  test("a rerun hears a message from outside to a child that had ended", async () => {
    const stage = openStage({
      lead: [calls("subagent_scout", { task: "Find." }), [after(500), says("Done.")]],
      "lead/scout": [says("There."), says("And here.")],
    });
    const lead = stage.lead({ subagents: [scout] });
    const handle = stage.start(lead);
    stage.when(at("lead", "turn-start", 2), () => void handle.send("lead/scout", "Where else?"));
    await stage.end(handle);
    assert.equal(stage.eventsOf("run-start", "lead/scout").length, 2);
    await rerunBothWays(stage, handle.id, [lead]);
  });

  test("a rerun hears once what a parent said to its children", async () => {
    const stage = openStage({
      lead: [
        calls("subagent", { label: "helper", task_prompt: "Help.", background: true }),
        (request) => calls("subagent_send", { subagent_id: idIn(request.messages), message: "Faster." }),
        calls("subagent_wait"),
        (request) => calls("subagent_send", { subagent_id: idIn(request.messages), message: "Once more." }),
        calls("subagent_list"),
        says("Done."),
      ],
      "lead/helper": [[after(900), calls("look")], says("Helped."), says("Helped again.")],
    });
    const lead = stage.lead({ tools: [look] });
    const { runId } = await stage.run(lead);
    assert.equal(stage.eventsOf("steer").length, 1);
    assert.equal(stage.eventsOf("run-start", "lead/helper").length, 2);
    await rerunBothWays(stage, runId, [lead]);
  });
});

suite("G4: a rerun stops again", () => {
  test("a rerun stops a child that was cancelled from outside, while its parent continues", async () => {
    const stage = openStage({
      lead: [calls("parallel_subagent", { tasks: [task("a"), task("b")] }), says("Done.")],
      "lead/a": [[after(10), says("A.")]],
      "lead/b": [hangs()],
    });
    const lead = stage.lead();
    const handle = stage.start(lead);
    stage.when(at("lead/b", "turn-start"), () => handle.cancel("lead/b"));
    await stage.end(handle);
    assert.equal(stage.eventsOf("run-end", "lead/b")[0]?.status, "cancelled");
    const [given] = await rerunBothWays(stage, handle.id, [lead]);
    assert.equal(given.endsEarly, undefined);
  });

  test("a rerun stops a child that was cancelled from outside, and its parent later", async () => {
    const stage = openStage({
      lead: [calls("parallel_subagent", { tasks: [task("a"), task("b")] }), [after(500), calls("look")], hangs()],
      "lead/a": [[after(10), says("A.")]],
      "lead/b": [hangs()],
    });
    const lead = stage.lead({ tools: [look] });
    const handle = stage.start(lead);
    stage.when(at("lead/b", "turn-start"), () => handle.cancel("lead/b"));
    stage.when(at("lead", "turn-start", 3), () => handle.cancel("lead"));
    await stage.end(handle);
    assert.deepEqual(
      stage.eventsOf("run-end").map(({ path, status }) => [path, status]),
      [
        ["lead/b", "cancelled"],
        ["lead/a", "completed"],
        ["lead", "cancelled"],
      ],
    );
    await rerunBothWays(stage, handle.id, [lead]);
  });

  test("a rerun stops a run that was asked to wrap up", async () => {
    const stage = openStage({ lead: [calls("look"), calls("look"), says("I saw little.")] });
    const lead = stage.lead({ tools: [look] });
    const handle = stage.start(lead);
    stage.when(at("lead", "turn-start", 2), () => handle.cancel("lead", { mode: "wrap-up" }));
    const { status } = await stage.end(handle);
    assert.equal(status, "cancelled");
    await rerunBothWays(stage, handle.id, [lead]);
  });

  test("a rerun stops a run whose tools and children were stopped before its last words", async () => {
    const wait = simpleTool(
      "wait",
      (_, { signal }) => new Promise((_resolve, reject) => signal.addEventListener("abort", reject)),
    );
    const stage = openStage({
      lead: [[calls("wait"), calls("subagent", task("b"))], says("I saw little.")],
      "lead/b": [calls("wait"), says("Unreached.")],
    });
    const lead = stage.lead({ tools: [wait] });
    const handle = stage.start(lead);
    stage.when(at("lead/b", "tool-call-start"), () => handle.cancel("lead", { mode: "last-words" }));
    const { status, text } = await stage.end(handle);
    assert.deepEqual([status, text], ["cancelled", "I saw little."]);
    await rerunBothWays(stage, handle.id, [lead]);
  });

  test("a rerun stops a run that had only children at work when it was left its last words", async () => {
    const stage = openStage({
      lead: [calls("parallel_subagent", { tasks: [task("a"), task("b")] }), says("I saw little.")],
      "lead/a": [calls("subagent", task("c")), says("Unreached.")],
      "lead/*": [hangs()],
      "lead/a/c": [hangs()],
    });
    const lead = stage.lead();
    const handle = stage.start(lead);
    stage.when(at("lead/a/c", "turn-start"), () => handle.cancel("lead", { mode: "last-words" }));
    const { status, text } = await stage.end(handle);
    assert.deepEqual([status, text], ["cancelled", "I saw little."]);
    await rerunBothWays(stage, handle.id, [lead]);
  });

  const sub = (label: string, more: object = {}) => calls("subagent", { ...task(label), ...more });
  const moments: [state: string, script: Script][] = [
    ["asked for approval", { lead: [calls("write"), says("Half.")] }],
    ["asked for approval beside a tool at work", { lead: [[calls("write"), calls("wait")], says("Half.")] }],
    ["was about to be answered with calls", { lead: [[after(2000), calls("write"), sub("a")], says("Half.")] }],
    ["had a child that waited for its place", { lead: [[sub("a"), sub("b")], says("Half.")], "lead/*": [hangs()] }],
    [
      "had a background child that waited for its place",
      { lead: [[sub("a"), sub("b", { background: true })], says("Half.")], "lead/*": [hangs()] },
    ],
    [
      "had a child whose tool ended by itself when it was stopped",
      { lead: [sub("a"), says("Half.")], "lead/a": [calls("yield")] },
    ],
  ];
  for (const [state, script] of moments) {
    test(`a rerun stops a run that ${state} when it was left its last words`, async () => {
      const stopped = (signal: AbortSignal) =>
        new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      const tools = [
        simpleTool("write", () => "Written.", { tier: "confirm" }),
        simpleTool("wait", (_, { signal }) => stopped(signal).then(() => assert.fail("stopped"))),
        simpleTool("yield", (_, { signal }) => stopped(signal).then(() => "As far as I came.")),
      ];
      const limits = { maxConcurrent: 1 };
      const stage = openStage(script, { runtime: { limits, approve: () => new Promise(() => {}) } });
      const lead = stage.lead({ tools });
      const handle = stage.start(lead);
      stage.world.clock.ownTimer(1000, () => handle.cancel(undefined, { mode: "last-words" }));
      const { status, text } = await stage.end(handle);
      assert.deepEqual([status, text], ["cancelled", "Half."]);
      await rerunBothWays(stage, handle.id, [lead]);
    });
  }

  test("a rerun stops children that ran out of time, and those that failed with another", async () => {
    const stage = openStage({
      lead: [
        calls("parallel_subagent", { tasks: [{ ...task("slow"), timeout_ms: 2000 }, task("quick")] }),
        calls("parallel_subagent", { tasks: [{ ...task("late"), timeout_ms: 500 }, task("held")], fail_fast: true }),
        says("Done."),
      ],
      "lead/quick": [[after(2500), says("Quick.")]],
      "lead/*": [hangs()],
    });
    const lead = stage.lead();
    const { runId } = await stage.run(lead);
    assert.deepEqual(
      stage.eventsOf("run-end").map(({ path, status }) => `${path} ${status}`),
      ["lead/slow timeout", "lead/quick completed", "lead/late timeout", "lead/held cancelled", "lead completed"],
    );
    await rerunBothWays(stage, runId, [lead]);
  });

  test("a rerun stops background children that their parent left behind", async () => {
    const stage = openStage({
      lead: [calls("subagent", { ...task("slow"), background: true }), says("Done.")],
      "lead/slow": [hangs()],
    });
    const lead = stage.lead();
    const { runId } = await stage.run(lead, "Go.", { onLiveChildren: "cancel" });
    await rerunBothWays(stage, runId, [lead]);
  });
});

suite("G4: a rerun gives the recorded approval", () => {
  const write = simpleTool("write", () => "Written.", { tier: "confirm", effect: "unsafe" });
  const script = { lead: [[calls("write", { at: 1 }), calls("write", { at: 2 })], says("Done.")] };

  test("a rerun gives yes, no with a reason, and a question that failed", async () => {
    const answers = [{ allow: true }, { allow: false, reason: "not now" }] as const;
    const broken = { lead: [...script.lead.slice(0, 1), calls("write", { at: 3 }), says("Done.")] };
    const stage = openStage(broken, {
      runtime: {
        approve({ input }) {
          const answer = answers[(input as { at: number }).at - 1];
          if (answer === undefined) throw new Error("the terminal is gone");
          return answer;
        },
      },
    });
    const lead = stage.lead({ tools: [write] });
    const { runId } = await stage.run(lead);
    assert.deepEqual(
      stage.eventsOf("approval-end").map(({ by }) => by),
      ["person", "person", "nobody"],
    );
    await rerunBothWays(stage, runId, [lead]);
  });

  test("a rerun refuses as before where there was no person to ask", async () => {
    const stage = openStage(script);
    const lead = stage.lead({ tools: [write] });
    const { runId, status, stopReason } = await stage.run(lead);
    assert.deepEqual([status, stopReason], ["incomplete", "consent"]);
    await rerunBothWays(stage, runId, [lead]);
  });

  test("calls that a hook or a schema refused were never put to anybody", async () => {
    const inputSchema = { type: "object", properties: { at: { type: "number" } }, required: ["at"] };
    const strict = simpleTool("write", () => "Written.", { tier: "confirm", inputSchema });
    const stage = openStage(
      { lead: [[calls("write", { at: 1 }), calls("write", { at: "?" }), calls("write", { at: 9 })], says("Done.")] },
      { runtime: { approve: () => ({ allow: true }) } },
    );
    const hooks = {
      beforeToolCall: ({ input }: { input: unknown }) =>
        (input as { at: number }).at === 9 ? { refuse: "Not this one." } : undefined,
    };
    const lead = stage.lead({ tools: [strict], hooks });
    const { runId } = await stage.run(lead);
    assert.equal(stage.eventsOf("approval-request").length, 1);
    const { firstDifference } = await rerun(runId, { store: stage.store, agents: [lead] });
    assert.equal(firstDifference?.sentence, undefined);
  });
});

suite("G4: a rerun of what was continued", () => {
  test("a rerun of a branch begins with what the other run had said", async () => {
    const stage = openStage({ lead: [calls("look"), says("One."), says("Two."), says("Three.")] });
    const lead = stage.lead({ tools: [look] });
    const { runId } = await stage.run(lead);
    const branch = stage.runtime.fork(runId, { agent: lead, afterTurn: 1, message: "Another way?" });
    const { status } = await stage.world.run(() => branch);
    assert.equal(status, "completed");
    const [latest] = await stage.store.list({ rootsOnly: true, limit: 1 });
    assert.notEqual(latest?.id, runId);
    await rerunBothWays(stage, latest?.id ?? "", [lead]);
  });

  test("a root that was given more to spend is run again with it", async () => {
    const stage = openStage({
      lead: [...Array.from({ length: 12 }, () => calls("look")), says("Done."), says("Done.")],
    });
    const lead = stage.lead({ tools: [look] });
    const { runId, status } = await stage.run(lead, "Go.", { budget: { tokens: 24_000 } });
    assert.equal(status, "budget_exceeded");
    const options = { agent: lead, message: "Go on.", addBudget: { tokens: 200_000 } };
    await stage.world.run(() => stage.runtime.resume(runId, options));
    const starts = (await stage.store.read(runId)).filter((event) => event.type === "run-start");
    assert.deepEqual(
      starts.map(({ budget }) => budget?.tokens),
      [24_000, 224_000],
    );
    await rerunBothWays(stage, runId, [lead]);
  });
});

test("G4: a rerun that is aborted stops, and says why", async () => {
  const stage = openStage({ lead: [calls("look"), calls("look"), says("Done.")] });
  const lead = stage.lead({ tools: [look] });
  const { runId } = await stage.run(lead);
  const events = await stage.store.read(runId);
  const stop = new AbortController();
  const reason = new UserError("Enough.");
  const stopping = rerun(runId, {
    store: storeOf(events),
    agents: [lead],
    signal: stop.signal,
    onEvent: ({ type }) => type === "tool-call-start" && stop.abort(reason),
  });
  await assert.rejects(stopping, reason);
  await assert.rejects(rerun(runId, { store: stage.store, signal: stop.signal }), reason);
});

test("G4: a rerun that is over keeps no listener on the signal it was given", async () => {
  const stage = openStage({ lead: [calls("look"), says("Done.")] });
  const lead = stage.lead({ tools: [look] });
  const { runId } = await stage.run(lead);
  const { signal } = new AbortController();
  let during = 0;
  const onEvent = () => {
    during = Math.max(during, getEventListeners(signal, "abort").length);
  };
  const { matches } = await rerun(runId, { store: stage.store, agents: [lead], signal, onEvent });
  assert.deepEqual([matches, during > 0, getEventListeners(signal, "abort").length], [true, true, 0]);
});

test("G4: a live tool that never ends is left behind when the rerun is aborted", async () => {
  let isHanging = false;
  const stubborn = simpleTool("stubborn", () => (isHanging ? new Promise(() => {}) : "Done."));
  const stage = openStage({ lead: [calls("stubborn"), says("Done.")] });
  const lead = stage.lead({ tools: [stubborn] });
  const { runId } = await stage.run(lead);
  isHanging = true;
  const stop = new AbortController();
  const stopping = rerun(runId, {
    store: stage.store,
    agents: [lead],
    liveTools: true,
    signal: stop.signal,
    onEvent: ({ type }) =>
      void (type === "tool-call-start" && setImmediate(() => stop.abort(new UserError("Enough.")))),
  });
  await assert.rejects(stopping, { message: "Enough." });
});

function task(label: string): { label: string; task_prompt: string } {
  return { label, task_prompt: `Do ${label}.` };
}

/** The id of the child that the history speaks of. */
function idIn(messages: readonly unknown[]): string {
  return /subagent_id: ([0-9A-Z]{26})/.exec(JSON.stringify(messages))?.[1] ?? "";
}
