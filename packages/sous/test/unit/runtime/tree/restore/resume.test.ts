/** A resumed tree: what it keeps, what it refuses, and what it says. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../../../src/core/agent.ts";
import { UserError } from "../../../../../src/core/errors.ts";
import type { EventOf, SousEvent, StoredEvent } from "../../../../../src/core/event.ts";
import type { ModelRequest } from "../../../../../src/core/model.ts";
import { NO_OWNER } from "../../../../../src/core/store.ts";
import { openLedger } from "../../../../../src/runtime/budget/ledger.ts";
import { Slots } from "../../../../../src/runtime/budget/run-slots.ts";
import { AgentBook } from "../../../../../src/runtime/subagents/agent-book.ts";
import { EarlierRuns } from "../../../../../src/runtime/tree/restore/earlier-runs.ts";
import { EarlierTree } from "../../../../../src/runtime/tree/restore/earlier-tree.ts";
import { GO_ON } from "../../../../../src/runtime/tree/restore/resume.ts";
import { createRuntime } from "../../../../../src/runtime.ts";
import { openMemoryStore } from "../../../../../src/storage/store/memory.ts";
import { checkHistory } from "../../../../../src/testing/checker.ts";
import { after, calls, hangs, type Script, says, uses } from "../../../../../src/testing/steps.ts";
import { openStage, type Stage, simpleTool } from "../../../../support/requirements/support.ts";
import { goOn, live, resultsOf, type Scenario } from "../../../../support/runtime/tree/restore/crash-points.ts";

/** The events up to and including the first that matches. */
function upTo(events: readonly StoredEvent[], matches: (event: StoredEvent) => boolean): StoredEvent[] {
  const index = events.findIndex(matches);
  assert.ok(index >= 0, "there is such an event");
  return events.slice(0, index + 1);
}

function ofType<Type extends StoredEvent["type"]>(events: readonly StoredEvent[], type: Type): EventOf<Type>[] {
  return events.filter((event) => event.type === type) as EventOf<Type>[];
}

const transfer = (effect: "read" | "idempotent" | "unsafe"): Scenario => ({
  script: { lead: (request) => (resultsOf(request, "transfer").length === 0 ? calls("transfer") : says("Good.")) },
  tools: (note) => [simpleTool("transfer", (_input, { callId }) => note(callId) ?? "sent", { effect })],
});

suite("G5: a call that had begun and has no result", () => {
  test("a call that had begun and has no result is given to the model as unknown when its effect is unsafe", async () => {
    const scenario = transfer("unsafe");
    const kept = upTo((await live(scenario)).events, ({ type }) => type === "tool-call-start");
    const { ran, events, result } = await goOn(scenario, kept);
    assert.deepEqual(ran, []);
    const [end] = ofType(events, "tool-call-end");
    assert.deepEqual(
      [end?.isError, end?.output],
      [
        true,
        "The outcome of this call is unknown: the run was interrupted before it was recorded. Look before you make it again.",
      ],
    );
    assert.equal(result.status, "completed");
  });

  for (const effect of ["read", "idempotent"] as const) {
    test(`a call that had begun and has no result is made again when its effect is ${effect}`, async () => {
      const scenario = transfer(effect);
      const kept = upTo((await live(scenario)).events, ({ type }) => type === "tool-call-start");
      const { ran, events } = await goOn(scenario, kept);
      assert.equal(ran.length, 1);
      assert.deepEqual(ofType(events, "tool-call-start"), [], "it was intended once");
    });
  }

  test("a call that had begun and has no result and was still waiting for approval is asked about again, and not called unknown", async () => {
    const scenario: Scenario = {
      ...transfer("unsafe"),
      tools: (note) => [
        simpleTool("transfer", (_input, { callId }) => note(callId) ?? "sent", { effect: "unsafe", tier: "confirm" }),
      ],
      runtime: { approve: async () => ({ allow: true }) },
    };
    const kept = upTo((await live(scenario)).events, ({ type }) => type === "approval-request");
    const { ran, events } = await goOn(scenario, kept);
    assert.equal(ran.length, 1);
    assert.equal(ofType(events, "approval-request").length, 1);
  });

  test("a call that had begun and has no result and was denied stays denied, without another question", async () => {
    const scenario: Scenario = {
      ...transfer("idempotent"),
      tools: (note) => [simpleTool("transfer", (_input, { callId }) => note(callId) ?? "sent", { tier: "confirm" })],
      runtime: { approve: async () => ({ allow: false, reason: "not today" }) },
    };
    const kept = upTo((await live(scenario)).events, ({ type }) => type === "approval-end");
    const { ran, events } = await goOn(scenario, kept);
    assert.deepEqual(ran, []);
    assert.equal(ofType(events, "tool-call-end")[0]?.output, "The user did not allow transfer: not today");
  });
});

suite("G5: a question whose answer was lost", () => {
  test("a question whose answer was lost is asked again, counts as spent, and shows as an attempt that failed", async () => {
    const scenario: Scenario = { script: { lead: () => says("Here.") }, run: { budget: { tokens: 10_000 } } };
    const whole = await live(scenario);
    const kept = upTo(whole.events, ({ type }) => type === "turn-start");
    const [asked] = ofType(kept, "turn-start");
    const { events, result, model } = await goOn(scenario, kept);
    const [retry] = ofType(events, "retry");
    assert.deepEqual(
      [retry?.kind, retry?.spent.totalTokens, retry?.spent.estimated],
      ["interrupted", asked?.reserved, true],
    );
    assert.equal(result.usage.totalTokens, model.reported.totalTokens + (asked?.reserved ?? 0));
  });

  test("a question whose answer was lost is not paid for twice when the process dies again before it is repeated", async () => {
    const scenario: Scenario = { script: { lead: () => says("Here.") }, run: { budget: { tokens: 20_000 } } };
    const whole = await live(scenario);
    const kept = upTo(whole.events, ({ type }) => type === "turn-start");
    const second = await goOn(scenario, kept);
    const again = [...kept, ...upTo(second.events, ({ type }) => type === "resume")];
    const third = await goOn(scenario, again);
    assert.deepEqual(ofType(third.events, "retry"), []);
    assert.deepEqual(checkHistory([...again, ...third.events]), []);
  });
});

const NO_RIGHTS = { use: new Set(), delegate: new Set(), deny: new Set(), spawn: true };

/** A store that holds this tree, whose process is no more. */
function storeOf(events: readonly StoredEvent[]) {
  const store = openMemoryStore();
  store.append(events[0]?.runId ?? "", structuredClone(events), NO_OWNER);
  return store;
}

async function cutRun(stage: Stage, matches: (event: StoredEvent) => boolean): Promise<StoredEvent[]> {
  await stage.run(stage.lead({ tools: [simpleTool("look")] }));
  return upTo(
    stage.events.filter((event): event is StoredEvent => event.seq !== undefined),
    matches,
  );
}

suite("resume", () => {
  test("G5: one of two that want the same run wins, and the other is told so", async () => {
    const kept = await cutRun(openStage({ lead: [calls("look"), says("Done.")] }), ({ type }) => type === "turn-start");
    const store = storeOf(kept);
    const stage = openStage({ lead: () => says("Done.") }, { runtime: { store } });
    const lead = stage.lead({ tools: [simpleTool("look")] });
    const id = kept[0]?.runId ?? "";
    const [one, other] = await stage.world.run(() =>
      Promise.allSettled([stage.runtime.resume(id, { agent: lead }), stage.runtime.resume(id, { agent: lead })]),
    );
    assert.equal(one.status, "fulfilled");
    assert.ok(other.status === "rejected" && other.reason instanceof UserError);
    assert.match(other.reason.message, /is at work/);
  });

  test("a process that was thought dead and wakes up writes nothing more, and its run fails", async () => {
    const store = openMemoryStore();
    const stage = openStage({ lead: [calls("look"), says("Too late.")] }, { runtime: { store } });
    const handle = stage.start(
      stage.lead({
        tools: [
          simpleTool("look", async () => {
            // While it slept, somebody took over.
            await store.release(handle.id, 1);
            await store.claim(handle.id);
            return "seen";
          }),
        ],
      }),
    );
    await assert.rejects(
      stage.world.run(() => handle),
      /was taken over/,
    );
    const kept = await store.read(handle.id);
    assert.deepEqual(
      kept.map(({ type }) => type),
      ["run-start", "turn-start", "message-end", "tool-call-start"],
    );
  });

  test("an unknown id, a child, a completed run and an agent of another name are each refused with a sentence", async () => {
    const stage = openStage({
      lead: [calls("subagent", { label: "a", task_prompt: "Look." }), says("Done."), says("And that is all.")],
      "lead/a": [says("Seen.")],
    });
    const lead = stage.lead();
    const { runId, agents } = await stage.run(lead);
    const child = agents[1]?.id ?? "";
    const refused = async (id: string, options: Parameters<typeof stage.runtime.resume>[1]) =>
      assert.rejects(Promise.resolve(stage.runtime.resume(id, options)), (error: unknown) => {
        assert.ok(error instanceof UserError);
        sentences.push(error.message);
        return true;
      });
    const sentences: string[] = [];
    await refused("nobody", {});
    await refused(child, {});
    await refused(runId, { agent: lead });
    await refused(runId, { agent: agent({ name: "other", model: stage.model }), message: "And?" });
    assert.deepEqual(sentences, [
      "No run with the id nobody in this store",
      `Run ${child} is a child: a tree is continued as a whole, so name its root, ${runId}`,
      `Run ${runId} has completed. Give it a message to continue with, or fork it.`,
      `Run ${runId} was made by the agent lead, not by other`,
    ]);
    // None of them has kept the claim.
    const again = await stage.world.run(() => stage.runtime.resume(runId, { agent: lead, message: "And?" }));
    assert.deepEqual([again.status, again.text], ["completed", "And that is all."]);
  });

  test("a run needs its definition only for what is not stored: its tools", async () => {
    const kept = await cutRun(openStage({ lead: [calls("look"), says("Done.")] }), ({ type }) => type === "turn-start");
    const stage = openStage({}, { runtime: { store: storeOf(kept) } });
    const id = kept[0]?.runId ?? "";
    await assert.rejects(Promise.resolve(stage.runtime.resume(id)), {
      message: `Run ${id} needs the definition of its agent lead, because functions are not stored (its tools: look). Pass it as agent, or in agents.`,
    });
    const known = openStage({ lead: () => says("Done.") }, { runtime: { store: storeOf(kept) } });
    const lead = known.lead({ tools: [simpleTool("look")] });
    const runtime = createRuntime({ store: known.store, host: known.world.host, agents: [lead] });
    assert.equal((await known.world.run(() => runtime.resume(id))).status, "completed");
  });

  test("a run that was stopped continues with a word, in the same conversation and under the same budget", async () => {
    const isLast = ({ messages }: ModelRequest) => messages.at(-1)?.role === "user" && messages.length > 1;
    const stage = openStage({
      lead: (request) =>
        isLast(request)
          ? says("All of it.")
          : resultsOf(request, "look").length === 0
            ? [says("Half of it."), calls("look")]
            : hangs(),
    });
    const lead = stage.lead({ tools: [simpleTool("look")] });
    const handle = stage.start(lead, "Tell me everything.", { budget: { tokens: 50_000 } });
    stage.when(
      (event) => event.type === "turn-start" && event.turn === 2,
      () => void handle.cancel(),
    );
    const stopped = await stage.end(handle);
    assert.equal(stopped.status, "cancelled");
    const result = await stage.world.run(() => stage.runtime.resume(stopped.runId, { agent: lead }));
    assert.deepEqual([result.status, result.text], ["completed", "All of it."]);
    const last = stage.model.requests.at(-1)?.messages ?? [];
    assert.deepEqual(last.at(-1), { role: "user", content: [{ type: "text", text: GO_ON }] });
    assert.deepEqual(last[0], { role: "user", content: [{ type: "text", text: "Tell me everything." }] });
    const starts = ofType(await stage.store.read(stopped.runId), "run-start");
    assert.deepEqual(
      starts.map(({ budget }) => budget),
      [{ tokens: 50_000 }, { tokens: 50_000 }],
    );
  });

  test("H1: tokens that were spent before a resume stay spent, and more can be given", async () => {
    const spend = { input: 3_000, output: 100 };
    const stage = openStage({
      lead: (request) =>
        request.mayCallTools
          ? resultsOf(request, "look").length < 3
            ? [calls("look"), uses(spend)]
            : [says("All three."), uses(spend)]
          : [says("Out of money."), uses({ input: 10, output: 5 })],
    });
    const lead = stage.lead({ tools: [simpleTool("look")] });
    const first = await stage.run(lead, "Look thrice.", { budget: { tokens: 9_000 } });
    assert.equal(first.status, "budget_exceeded");
    const second = await stage.world.run(() => stage.runtime.resume(first.runId, { agent: lead }));
    assert.equal(second.status, "budget_exceeded", "nothing is left, also after a restart");
    const third = await stage.world.run(() =>
      stage.runtime.resume(first.runId, { agent: lead, addBudget: { tokens: 40_000 } }),
    );
    assert.deepEqual([third.status, third.text], ["completed", "All three."]);
  });

  test("H1: money that a stopped call took stays spent, too", async () => {
    // The second question is stopped after it has begun to answer: its bill is in the end of the run alone.
    const price = { input: 1_000, output: 1_000 };
    const script = {
      lead: (request: ModelRequest) =>
        request.messages.at(-1)?.role === "user" && request.messages.length > 1
          ? [says("More."), uses({ input: 10, output: 10 })]
          : resultsOf(request, "look").length === 0
            ? [calls("look"), uses({ input: 1_000, output: 100 })]
            : [says("I begin"), hangs()],
    };
    const stage = openStage(script, { model: { price } });
    const lead = stage.lead({ tools: [simpleTool("look")] });
    const handle = stage.start(lead, "Look.", { budget: { costUsd: 20 } });
    stage.when(
      (event) => event.type === "text-delta",
      () => void handle.cancel(),
    );
    const stopped = await stage.end(handle);
    assert.equal(stopped.status, "cancelled");
    const kept = await stage.store.read(stopped.runId);
    const inEvents = ofType(kept, "message-end").reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0);
    assert.ok((stopped.costUsd ?? 0) > inEvents, "the stopped call cost something");
    const left = 20 - (stopped.costUsd ?? 0);
    const earlier = new EarlierTree(stopped.runId, kept);
    const root = openLedger({ costUsd: 20 }, { slots: new Slots(1, "queue") });
    const parts = { spending: { root, children: root, budget: {}, childTime: { restore: () => {} } } };
    new EarlierRuns(earlier, new AgentBook(), parts as never).rootEntry({ rights: NO_RIGHTS } as never);
    assert.ok(Math.abs((root.left().costUsd ?? 0) - left) < 1e-6, `${root.left().costUsd} is left of ${left}`);
  });

  test("a call that is made again for its child in the background is over: its signal does not hear of the end", async () => {
    const signals: AbortSignal[] = [];
    const sends = simpleTool(
      "sends",
      async (_input, { signal, spawn }) => {
        signals.push(signal);
        return (await spawn({ label: "kid", task: "Look.", options: { background: true } })).kind;
      },
      { category: "subagent" },
    );
    const script = { lead: [calls("sends"), hangs()], "lead/kid": [hangs()] };
    const first = openStage(script);
    const handle = first.start(first.lead({ tools: [sends] }));
    first.when(
      (event) => event.type === "turn-start" && event.turn === 2,
      () => void handle.cancel(),
    );
    const { runId } = await first.end(handle);
    const kept = upTo(await first.store.read(runId), (event) => event.type === "turn-start" && event.turn === 2);
    const stage = openStage({ lead: () => hangs(), "lead/kid": () => hangs() }, { runtime: { store: storeOf(kept) } });
    await stage.world.run(() => {
      const resumed = stage.runtime.resume(runId, { agent: stage.lead({ tools: [sends] }) });
      stage.world.clock.ownTimer(1_000, () => resumed.cancel());
      return resumed.catch(() => {});
    });
    assert.deepEqual([signals.length, signals[1]?.aborted], [2, false]);
  });

  test("H3: a resumed run has nothing it did not have, though its definition has more by now", async () => {
    const kept = await cutRun(openStage({ lead: [calls("look"), says("Done.")] }), ({ type }) => type === "turn-start");
    const stage = openStage(
      { lead: (request) => (resultsOf(request, "erase").length === 0 ? calls("erase") : says("Done.")) },
      { runtime: { store: storeOf(kept) } },
    );
    let erased = 0;
    const lead = stage.lead({ tools: [simpleTool("look"), simpleTool("erase", () => ++erased)] });
    await stage.world.run(() => stage.runtime.resume(kept[0]?.runId ?? "", { agent: lead }));
    assert.equal(erased, 0);
    assert.match(stage.resultsOf("lead").at(-1)?.output ?? "", /^Unknown tool: erase. Your tools: look,/);
    assert.equal(stage.requestsOf("lead")[0]?.tools.includes("erase"), false);
  });

  for (const [now, shown, told] of [
    [["look", "erase"], ["look"], "Unknown tool: erase. Your tools: look."],
    [["erase"], [], "Unknown tool: erase. You have no tools."],
  ] as const) {
    test(`H3: a child is shown exactly what it has, when its definition has ${now.join(" and ")} by now`, async () => {
      const script = (last: string): Script => ({
        lead: [calls("subagent", { agent: "scout", label: "look", task_prompt: "Look." }), says("Done.")],
        "lead/look": [calls(last), says("Done.")],
      });
      const all = { look: simpleTool("look"), erase: simpleTool("erase") };
      const withScout = (names: readonly ("look" | "erase")[]) => ({
        tools: [all.look, all.erase],
        subagents: [agent({ name: "scout", tools: names.map((name) => all[name]) })],
      });
      const first = openStage(script("look"));
      await first.run(first.lead(withScout(["look"])));
      const kept = upTo(
        first.events.filter((event): event is StoredEvent => event.seq !== undefined),
        ({ type, depth }) => type === "turn-start" && depth === 1,
      );
      const stage = openStage(script("erase"), { runtime: { store: storeOf(kept) } });
      const lead = stage.lead(withScout(now));
      await stage.world.run(() => stage.runtime.resume(kept[0]?.runId ?? "", { agent: lead }));
      assert.deepEqual(stage.requestsOf("lead/look")[0]?.tools, shown);
      assert.equal(stage.resultsOf("lead/look")[0]?.output, told);
    });
  }

  test("G5: a child that is continued has the prompt it had, and a new one what holds now", async () => {
    const labels = ["first", "second"];
    const script: Script = {
      lead: (request) => {
        const label = labels[resultsOf(request, "subagent").length];
        return label === undefined ? says("Done.") : calls("subagent", { label, task_prompt: `Look ${label}.` });
      },
      "**": () => says("Done."),
    };
    const first = openStage(script);
    await first.run(first.lead({ notes: "Today is Monday." }));
    const kept = upTo(
      first.events.filter((event): event is StoredEvent => event.seq !== undefined),
      ({ type, depth }) => type === "turn-start" && depth === 1,
    );
    const stage = openStage(script, { runtime: { store: storeOf(kept) } });
    const lead = stage.lead({ notes: "Today is Tuesday." });
    await stage.world.run(() => stage.runtime.resume(kept[0]?.runId ?? "", { agent: lead }));
    const notes = labels.map((label) => stage.requestsOf(`lead/${label}`)[0]?.instructions?.split("\n\n").at(-1));
    assert.deepEqual(notes, ["Today is Monday.", "Today is Tuesday."]);
  });

  test("B3: depth and the limits of the tree hold after a restart", async () => {
    const script = {
      "**": (request: ModelRequest) =>
        resultsOf(request, "subagent").length === 0
          ? calls("subagent", { label: "deeper", task_prompt: `Below ${request.caller.path}.` })
          : says(resultsOf(request, "subagent")[0] ?? ""),
    };
    const first = openStage(script);
    await first.run(first.lead(), "Dig.", { limits: { maxDepth: 2 } });
    const kept = upTo(
      first.events.filter((event): event is StoredEvent => event.seq !== undefined),
      ({ type, depth }) => type === "run-start" && depth === 2,
    );
    // The runtime that goes on would allow more by itself.
    const stage = openStage(script, { runtime: { store: storeOf(kept), limits: { maxDepth: 9 } } });
    const result = await stage.world.run(() => stage.runtime.resume(kept[0]?.runId ?? "", { agent: stage.lead() }));
    assert.match(result.text, /Maximum subagent recursion depth \(2\) exceeded. Current depth: 2/);
    assert.deepEqual(
      result.agents.map(({ depth }) => depth),
      [0, 1, 2],
    );
    // One that was told less keeps to that, whatever the tree says of itself.
    const fresh = kept.slice(0, 1);
    const narrow = openStage(script, { runtime: { store: storeOf(fresh), limits: { maxDepth: 1 } } });
    const flat = await narrow.world.run(() => narrow.runtime.resume(kept[0]?.runId ?? "", { agent: narrow.lead() }));
    assert.match(flat.text, /Maximum subagent recursion depth \(1\) exceeded. Current depth: 1/);
  });

  test("a deadline continues where it stood: the time before counts, the time in between does not", async () => {
    const script = {
      lead: [
        [after(4_000), calls("look")],
        [after(4_000), says("In time.")],
      ],
    };
    const first = openStage({ lead: [[after(4_000), calls("look")], hangs()] });
    const definition = { tools: [simpleTool("look")], timeoutMs: 10_000 };
    await first.run(first.lead(definition));
    const kept = upTo(
      first.events.filter((event): event is StoredEvent => event.seq !== undefined),
      ({ type }) => type === "tool-call-end",
    );
    const resumed = async (model: Script) => {
      const stage = openStage(model, { runtime: { store: storeOf(kept) } });
      stage.world.clock.jump?.(3_600_000);
      return stage.world.run(() => stage.runtime.resume(kept[0]?.runId ?? "", { agent: stage.lead(definition) }));
    };
    assert.equal((await resumed(script)).status, "completed");
    const late = await resumed({
      lead: [
        [after(4_000), calls("look")],
        [after(7_000), says("Too late.")],
      ],
    });
    assert.deepEqual([late.status, late.error?.message], ["timeout", "The run timed out after 10000 ms"]);
  });

  test("a child that is not asked for again is brought to an end, so that every run has one", async () => {
    const script = {
      lead: (request: ModelRequest) => (resultsOf(request, "crew").length === 0 ? calls("crew") : says("Alone.")),
      "lead/*": [says("Here.")],
    };
    const crew = simpleTool(
      "crew",
      async (_input, { spawn }) => {
        await spawn({ label: "mate", task: "Help." });
        return "helped";
      },
      { effect: "unsafe" },
    );
    const first = openStage(script);
    await first.run(first.lead({ tools: [crew] }));
    const kept = upTo(
      first.events.filter((event): event is StoredEvent => event.seq !== undefined),
      ({ type, depth }) => type === "message-end" && depth === 1,
    );
    const stage = openStage(script, { runtime: { store: storeOf(kept) } });
    const id = kept[0]?.runId ?? "";
    const result = await stage.world.run(() => stage.runtime.resume(id, { agent: stage.lead({ tools: [crew] }) }));
    assert.equal(result.status, "completed");
    const all = await stage.store.read(id);
    assert.deepEqual(checkHistory(all, { resultUsage: result.usage }), []);
    assert.deepEqual(
      ofType(all, "run-end").map(({ path, status, fault }) => [path, status, fault?.message]),
      [
        ["lead/mate", "cancelled", "Subagent cancelled: it was interrupted, and was not continued"],
        ["lead", "completed", undefined],
      ],
    );
  });

  test("a tree whose events were not all kept is refused, with the reason", async () => {
    const kept = await cutRun(openStage({ lead: [calls("look"), says("Done.")] }), ({ type }) => type === "turn-start");
    const store = storeOf(kept);
    const id = kept[0]?.runId ?? "";
    await store.markLost(id, "The disk was full.");
    const stage = openStage({}, { runtime: { store } });
    await assert.rejects(Promise.resolve(stage.runtime.resume(id, { agent: stage.lead() })), {
      message: `Run ${id} cannot be resumed, because not all of it was stored. The disk was full.`,
    });
  });

  test("the handle of a resume can be iterated, steered and cancelled before the tree is open", async () => {
    const kept = await cutRun(openStage({ lead: [calls("look"), says("Done.")] }), ({ type }) => type === "turn-start");
    const stage = openStage({ lead: () => says("Done.") }, { runtime: { store: storeOf(kept) } });
    const lead = stage.lead({ tools: [simpleTool("look")] });
    const handle = stage.runtime.resume(kept[0]?.runId ?? "", { agent: lead });
    assert.equal(handle.steer("lead", "Faster."), false);
    const seen: string[] = [];
    const reading = (async () => {
      for await (const event of handle) seen.push(event.type);
    })();
    await stage.world.run(() => Promise.all([handle, reading]));
    assert.deepEqual(seen, ["resume", "retry", "turn-start", "text-delta", "message-end", "run-end"]);
    const cancelled = openStage({ lead: () => says("Done.") }, { runtime: { store: storeOf(kept) } });
    const second = cancelled.runtime.resume(kept[0]?.runId ?? "", {
      agent: cancelled.lead({ tools: [simpleTool("look")] }),
    });
    assert.equal(second.cancel(), true);
    assert.equal((await cancelled.world.run(() => second)).status, "cancelled");
    assert.equal(cancelled.model.requestCount, 0);
  });
});

suite("I4: a fan-out from code that was interrupted", () => {
  test("a fan-out that was interrupted continues: done results are taken, live children continue, the rest start", async () => {
    const script = {
      "fan-out/*": (request: ModelRequest) =>
        resultsOf(request, "look").length === 0 ? calls("look") : says(`Done: ${request.caller.path}`),
    };
    const inputs = ["a", "b", "c"];
    const first = openStage(script);
    const scout = agent({ name: "scout", model: first.model, tools: [simpleTool("look")] });
    const events: StoredEvent[] = [];
    const onEvent = (event: SousEvent) => void (event.seq === undefined || events.push(event));
    const whole = await first.world.run(() => first.runtime.fanOut(scout, inputs, { concurrency: 2, onEvent }));
    for (let length = 1; length < events.length; length++) {
      const kept = events.slice(0, length);
      const stage = openStage(script, { runtime: { store: storeOf(kept) }, seed: length + 100 });
      const again = agent({ name: "scout", model: stage.model, tools: [simpleTool("look")] });
      const resumes = kept[0]?.runId ?? "";
      const results = await stage.world.run(() => stage.runtime.fanOut(again, inputs, { concurrency: 2, resumes }));
      assert.deepEqual(
        results.map(({ status, text, error }) => [status, text, error]),
        whole.map(({ status, text, error }) => [status, text, error]),
        `cut behind ${length}`,
      );
      assert.deepEqual(checkHistory(await stage.store.read(resumes)), [], `cut behind ${length}`);
    }
  });
});

suite("G6: a fork of a stored run", () => {
  test("a fork of a stored run is a new tree that remembers the old one up to a turn, and goes another way", async () => {
    const stage = openStage({
      lead: (request) => {
        const seen = resultsOf(request, "look").length;
        const isFork = request.messages.at(-1)?.role === "user" && request.messages.length > 1;
        return isFork ? says(`From ${seen}.`) : seen < 3 ? calls("look") : says("The end.");
      },
    });
    const lead = stage.lead({ tools: [simpleTool("look")] });
    const first = await stage.run(lead, "Look thrice.");
    const before = await stage.store.read(first.runId);
    for (const [at, text] of [
      [0, "From 0."],
      [2, "From 2."],
      [undefined, "From 3."],
    ] as const) {
      const fork = await stage.world.run(() =>
        stage.runtime.fork(first.runId, { agent: lead, afterTurn: at, message: "Another way, please." }),
      );
      assert.deepEqual([fork.status, fork.text, fork.agents.length], ["completed", text, 1]);
      assert.notEqual(fork.runId, first.runId);
      const [start] = ofType(await stage.store.read(fork.runId), "run-start");
      assert.ok(start?.origin?.kind === "branch");
      assert.deepEqual([start.origin.runId, start.origin.turn], [first.runId, at ?? 4]);
    }
    assert.deepEqual(await stage.store.read(first.runId), before, "the old one stays as it is");
    await assert.rejects(Promise.resolve(stage.runtime.fork(first.runId, { agent: lead, afterTurn: 9 })), {
      message: "The run has 4 turns, so a fork can begin after turn 0 to 4; found 9",
    });
    const short = openStage({ lead: [says("Done.")] });
    const { runId } = await short.run(short.lead());
    await assert.rejects(Promise.resolve(short.runtime.fork(runId, { agent: short.lead(), afterTurn: 2 })), {
      message: "The run has 1 turn, so a fork can begin after turn 0 to 1; found 2",
    });
  });

  test("a fork of a stored run can be followed up and resumed like any other tree", async () => {
    const stage = openStage({ lead: () => says("Yes.") });
    const lead = stage.lead();
    const first = await stage.run(lead);
    const fork = await stage.world.run(() => stage.runtime.fork(first.runId, { agent: lead }));
    await stage.world.run(() => stage.runtime.resume(fork.runId, { agent: lead, message: "Really?" }));
    assert.deepEqual(
      stage.model.requests.at(-1)?.messages.map(({ role }) => role),
      ["user", "assistant", "user", "assistant", "user"],
    );
  });
});

suite("H1, G5: a call of a child whose answer was lost", () => {
  const child = (label: string) => calls("subagent", { label, task_prompt: `Do ${label}.` });
  const scenario: Scenario = {
    script: {
      lead: ({ messages }) => (messages.length > 2 ? says("Good.") : [child("a"), child("b")]),
      "lead/*": () => [after(10), says("Done."), uses({ input: 200, output: 3_000 })],
    },
    run: { budget: { tokens: 9_000 }, onExhausted: "stop", limits: { summary: "never" } },
  };

  test("a call of a child whose answer was lost is counted before any other run continues or starts", async () => {
    const whole = await live(scenario);
    const kept = upTo(whole.events, ({ type, path }) => type === "turn-start" && path === "lead/a");
    const { events, result } = await goOn(scenario, kept);
    const [unheard] = ofType(events, "retry");
    assert.ok(unheard !== undefined && unheard.spent.totalTokens > 4_096, "what was reserved for it counts as spent");
    assert.ok(result.usage.totalTokens <= 9_000, `${result.usage.totalTokens} of 9000 tokens`);
  });
});

suite("H1, G5: the reserve for the last words of a run", () => {
  test("the reserve for the last words of a run holds after a restart too", async () => {
    const task = { label: "a", task_prompt: "p".repeat(3_000), allowed_tools: [] };
    const scenario: Scenario = {
      script: {
        lead: ({ messages, mayCallTools }) => {
          if (!mayCallTools) return [says("Last words."), uses({ input: 2_000, output: 100 })];
          return messages.length > 2 ? says("Good.") : [calls("subagent", task), uses({ input: 2_000, output: 100 })];
        },
        "lead/a": [[says("Done."), uses({ input: 1_000, output: 1_500 })]],
      },
      run: { budget: { tokens: 6_000 }, limits: { summary: "never" } },
      agent: { maxOutputTokens: 3_000 },
    };
    const whole = await live(scenario);
    assert.equal(ofType(whole.events, "spawn-refused").length, 1, "the child would take what is kept");
    const kept = upTo(whole.events, ({ type }) => type === "tool-call-start");
    const { result } = await goOn(scenario, kept);
    assert.equal(result.text, whole.result.text);
  });
});
