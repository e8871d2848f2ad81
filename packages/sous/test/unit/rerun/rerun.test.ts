/** A stored run, executed again from its recorded answers. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import type { StoredEvent } from "../../../src/core/event.ts";
import { rerun } from "../../../src/rerun.ts";
import { createRuntime } from "../../../src/runtime.ts";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { after, calls, fails, hangs, says, stopsAtLength, thinks } from "../../../src/testing/steps.ts";
import { openStage, simpleTool } from "../../support/requirements/support.ts";
import { differenceOf, rerunBothWays, storeOf } from "../../support/rerun/support.ts";

const grep = simpleTool("grep", (input) => `found ${JSON.stringify(input)}`);
const scout = agent({ name: "scout", description: "Finds.", instructions: "You find.", tools: [grep], maxTurns: 7 });

suite("G4: a rerun gives the recorded stream", () => {
  test("a rerun gives the stream of a run with tools, specialists, made-up children, thoughts and failed attempts", async () => {
    const stage = openStage({
      lead: [
        [
          thinks("Hm."),
          says("I look."),
          calls("grep", { pattern: "x" }),
          calls("subagent_scout", { task: "Find it." }),
        ],
        fails("rate_limit", { retryAfterMs: 3000 }),
        [says("Half"), fails("interrupted")],
        calls("parallel_subagent", {
          tasks: [
            { label: "a", task_prompt: "A", allowed_tools: [] },
            { label: "a", task_prompt: "B", context: "fork", summary_prompt: "In one word." },
          ],
        }),
        [says("Cut"), stopsAtLength()],
        says(" and whole."),
      ],
      "lead/scout": [[after(50), calls("grep", { pattern: "z" })], says("src/a.ts:1")],
      "lead/a": [says("Nothing.")],
      "lead/*": [calls("grep", { pattern: "q" }), says("Something."), says("Word.")],
    });
    const lead = stage.lead({ tools: [grep], subagents: [scout], instructions: "You lead." });
    const { runId, text } = await stage.run(lead);
    const [given] = await rerunBothWays(stage, runId, [lead]);
    assert.equal(given.result.text, text);
    assert.notEqual(given.runId, runId);
    assert.deepEqual(paths(given.events), paths(await stage.store.read(runId)));
    assert.equal(given.endsEarly, undefined);
  });

  test("a rerun gives the stream of a call for an agent that is unknown, which is told the names of those that are known", async () => {
    const writer = agent({ name: "writer", description: "Writes." });
    const critic = agent({ name: "critic", description: "Finds faults." });
    for (const shared of [[], [critic]]) {
      const stage = openStage(
        { lead: [calls("subagent", { label: "a", task_prompt: "Do a.", agent: "nobody" }), says("Done.")] },
        { runtime: { agents: shared } },
      );
      const lead = stage.lead({ subagents: [scout, writer], delegate: true });
      const { runId } = await stage.run(lead);
      const [told] = stage.resultsOf("lead").map(({ output }) => /Unknown agent: nobody\. Known: (.*)\./.exec(output));
      assert.deepEqual(told?.[1]?.split(", ").sort(), [...shared.map(({ name }) => name), "scout", "writer"]);
      await rerunBothWays(stage, runId, [lead, ...shared]);
    }
  });

  test("a rerun gives the stream of two agents that each have a specialist of the same name, with terms of its own", async () => {
    const helper = (maxTurns: number) => agent({ name: "helper", instructions: `Up to ${maxTurns}.`, maxTurns });
    const left = agent({ name: "left", subagents: [helper(3)] });
    const right = agent({ name: "right", subagents: [helper(7)] });
    const stage = openStage({
      lead: [calls("subagent_left", { task: "Go." }), calls("subagent_right", { task: "Go." }), says("Done.")],
      "lead/*": [calls("subagent_helper", { task: "Help." }), says("Helped.")],
      "lead/*/helper": [says("There.")],
    });
    const lead = stage.lead({ subagents: [left, right] });
    const { runId } = await stage.run(lead);
    assert.deepEqual(
      stage.eventsOf("run-start").flatMap(({ agent: name, maxTurns }) => (name === "helper" ? [maxTurns] : [])),
      [3, 7],
    );
    await rerunBothWays(stage, runId, [lead]);
  });

  test("a rerun gives the stream of follow-ups of the root, in their order", async () => {
    const stage = openStage({
      lead: [calls("grep", {}), says("One."), says("Two."), calls("grep", {}), says("Three.")],
    });
    const lead = stage.lead({ tools: [grep] });
    const first = stage.start(lead, "Begin.");
    await stage.end(first);
    const second = first.followUp("And?");
    await stage.end(second);
    await stage.end(second.followUp("And then?"));
    const [given] = await rerunBothWays(stage, first.id, [lead]);
    assert.equal(given.result.text, "Three.");
    assert.equal(given.events.filter(({ type }) => type === "run-end").length, 3);
  });

  test("a rerun gives the stream of a tree that is named by any of its runs", async () => {
    const stage = openStage({
      lead: [calls("subagent_scout", { task: "Find." }), says("Done.")],
      "**": [says("There.")],
    });
    const lead = stage.lead({ subagents: [scout] });
    const { agents } = await stage.run(lead);
    const child = agents.find(({ path }) => path === "lead/scout")?.id ?? "";
    const [given] = await rerunBothWays(stage, child, [lead]);
    assert.equal(given.result.text, "Done.");
  });

  test("a rerun gives the stream of a fan-out from code", async () => {
    const stage = openStage({ "fan-out/scout": [says("One.")], "fan-out/*": [calls("grep", {}), says("Other.")] });
    const definition = scout.with({ model: stage.model });
    await stage.world.run(() => stage.runtime.fanOut(definition, ["a", "b", "c"], { concurrency: 2 }));
    const [root] = await stage.store.list({ rootsOnly: true });
    const [given] = await rerunBothWays(stage, root?.id ?? "", [definition]);
    assert.equal(given.result.status, "completed");
  });

  test("a rerun gives the stream of a fan-out whose inputs have line breaks and did not all become children", async () => {
    const stage = openStage({ "fan-out/*": [says("One.")] });
    const definition = scout.with({ model: stage.model });
    const limits = { children: { executions: 1 } };
    await stage.world.run(() => stage.runtime.fanOut(definition, ["a\nb", "c\nd"], { concurrency: 1, limits }));
    const [root] = await stage.store.list({ rootsOnly: true });
    await rerunBothWays(stage, root?.id ?? "", [definition]);
  });

  test("a rerun gives the stream of a run with an output schema, also when the answer had to be repaired", async () => {
    const outputSchema = { type: "object", properties: { hits: { type: "number" } }, required: ["hits"] };
    const stage = openStage({ lead: [says('{"hits":"many"}'), says('{"hits":3}')] });
    const lead = stage.lead({ outputSchema, delegate: false });
    const { runId, output } = await stage.run(lead);
    const [given, rebuilt] = await rerunBothWays(stage, runId, [lead]);
    assert.deepEqual(output, { hits: 3 });
    assert.deepEqual([given.result.output, rebuilt.result.output], [output, output]);
  });

  test("a rerun gives the stream of a run whose provider refused the output schema, and whose answer had to be repaired", async () => {
    const outputSchema = { type: "object", properties: { hits: { type: "number" } }, required: ["hits"] };
    const stage = openStage({
      lead: [fails("output_schema", { retryAfterMs: 0 }), says('{"hits":"many"}'), says('{"hits":3}')],
    });
    const lead = stage.lead({ outputSchema, delegate: false });
    const { runId, output, turns } = await stage.run(lead);
    assert.deepEqual(
      [output, turns, stage.eventsOf("retry").map(({ kind }) => kind)],
      [{ hits: 3 }, 2, ["output_schema"]],
    );
    const [given, rebuilt] = await rerunBothWays(stage, runId, [lead]);
    assert.deepEqual([given.result.output, rebuilt.result.output], [output, output]);
  });

  test("a rerun gives the stream of results with files, metadata, errors and cut texts", async () => {
    const long = "é".repeat(60_000);
    const picture = { type: "file", mediaType: "image/png", data: "aGk=" } as const;
    const tools = [
      simpleTool("long", () => long),
      simpleTool("picture", () => ({
        success: true,
        output: "A picture.",
        documents: [picture],
        metadata: { pages: 1 },
      })),
      simpleTool("broken", () => {
        throw new Error("It broke.");
      }),
    ];
    const stage = openStage({
      lead: [[calls("long"), calls("picture"), calls("broken"), calls("nowhere")], says("Done.")],
    });
    const lead = stage.lead({ tools });
    const { runId } = await stage.run(lead);
    const [given] = await rerunBothWays(stage, runId, [lead]);
    assert.deepEqual(
      given.events.filter(({ type }) => type === "truncation"),
      stage.eventsOf("truncation").map((event) => ({ ...event, ...headOf(given.events, event.seq) })),
    );
  });

  test("a rerun gives the stream of prunes, also of one after a prompt that was too long", async () => {
    const wide = simpleTool("wide", () => "word ".repeat(640));
    const stage = openStage(
      {
        lead: [
          calls("wide"),
          calls("wide"),
          fails("context_length"),
          calls("wide"),
          calls("wide"),
          calls("wide"),
          says("Done."),
        ],
      },
      { model: { contextWindow: 3000 } },
    );
    const lead = stage.lead({ tools: [wide], delegate: false });
    const { runId } = await stage.run(lead, "Go.", { conversation: { maxTokens: 9000, minRetainTurns: 1 } });
    assert.ok(stage.eventsOf("prune").length > 1);
    await rerunBothWays(stage, runId, [lead]);
  });

  test("a rerun gives the stream of a conversation that was too long and could not be shortened", async () => {
    const stage = openStage({ lead: [fails("context_length", { message: "200,001 tokens are too many" })] });
    const lead = stage.lead();
    const { runId, status } = await stage.run(lead);
    assert.equal(status, "failed");
    const [given, rebuilt] = await rerunBothWays(stage, runId, [lead]);
    for (const { result, endsEarly } of [given, rebuilt]) {
      assert.deepEqual([result.status, result.turns, endsEarly], ["failed", 1, undefined]);
      assert.match(result.error?.message ?? "", /cannot be shortened: 200,001 tokens are too many$/);
    }
  });

  test("a rerun gives the recorded bills, whatever the prices are now", async () => {
    const price = { input: 3, output: 15, cachedInput: 0.3 };
    const stage = openStage({ lead: [calls("grep"), calls("grep"), says("Done.")] }, { model: { price } });
    const lead = stage.lead({ tools: [grep] });
    const { runId, costUsd } = await stage.run(lead);
    const [given, rebuilt] = await rerunBothWays(stage, runId, [lead]);
    for (const found of [given.result.costUsd, rebuilt.result.costUsd]) {
      assert.ok(Math.abs((found ?? 0) - (costUsd ?? 1)) < 1e-12, `${found} is not ${costUsd}`);
    }
  });

  test("a rerun gives the stream of a budget that ran out", async () => {
    const stage = openStage({ lead: Array.from({ length: 20 }, () => calls("grep")), "**": [says("x")] });
    const lead = stage.lead({ tools: [grep] });
    const { runId, status } = await stage.run(lead, "Go.", { budget: { tokens: 30_000 } });
    assert.equal(status, "budget_exceeded");
    await rerunBothWays(stage, runId, [lead]);
  });

  test("a rerun gives the stream of a child that a tool of the user started", async () => {
    const ask = simpleTool("ask_helper", async (_input, context) => {
      const reply = await context.spawn({ label: "helper", task: "Help me." });
      return reply.kind === "ended" ? reply.report.text : "none";
    });
    const stage = openStage({
      lead: [calls("ask_helper"), says("Done.")],
      "lead/helper": [calls("grep"), says("Here.")],
    });
    const lead = stage.lead({ tools: [ask, grep] });
    const { runId } = await stage.run(lead);
    await rerunBothWays(stage, runId, [lead]);
  });
});

suite("G4: a rerun touches nothing", () => {
  test("a rerun does not run its tools, and leaves the store as it is", async () => {
    let runs = 0;
    const count = simpleTool("count", () => `${++runs}`);
    const stage = openStage({ lead: [calls("count"), calls("count"), says("Done.")] });
    const lead = stage.lead({ tools: [count] });
    const { runId } = await stage.run(lead);
    const before = [...(await stage.store.read(runId))];
    const [given] = await rerunBothWays(stage, runId, [lead]);
    assert.equal(runs, 2);
    assert.deepEqual(await stage.store.read(runId), before);
    assert.equal(await stage.store.run(given.runId), undefined);
    assert.equal((await stage.store.list()).length, 1);
  });

  test("live tools run in a rerun, and a result that differs is the first difference", async () => {
    let runs = 0;
    const count = simpleTool("count", async () => `${++runs}`);
    const stage = openStage({ lead: [[calls("grep"), calls("count")], says("Done.")] });
    const lead = stage.lead({ tools: [grep, count] });
    const { runId } = await stage.run(lead);
    const expected = { path: "lead", step: "turn 1, the result of count", at: "output", expected: "1", found: "2" };
    const given = await differenceOf(runId, { store: stage.store, agents: [lead], liveTools: true });
    assert.deepEqual({ ...given, sentence: "" }, { ...expected, sentence: "" });
    const rebuilt = await differenceOf(runId, { store: stage.store, tools: [grep, count], liveTools: true });
    assert.equal(rebuilt.found, "3");
    assert.equal(rebuilt.sentence, 'lead, turn 1, the result of count (output): expected "1", found "3"');
  });

  test("live tools that give the same results match the recording", async () => {
    const stage = openStage({ lead: [[calls("grep", { at: 1 }), calls("grep", { at: 2 })], says("Done.")] });
    const lead = stage.lead({ tools: [grep] });
    const { runId } = await stage.run(lead);
    const { matches } = await rerun(runId, { store: stage.store, agents: [lead], liveTools: true });
    assert.equal(matches, true);
  });

  test("live tools that were not given are named", async () => {
    const stage = openStage({ lead: [calls("grep"), says("Done.")] });
    const { runId } = await stage.run(stage.lead({ tools: [grep] }));
    await assert.rejects(rerun(runId, { store: stage.store, liveTools: true }), {
      name: "UserError",
      message: "To run its tools again the rerun needs the tool grep: give it in tools",
    });
  });
});

suite("G4: a rerun names the first step that differs", () => {
  async function recorded() {
    const stage = openStage({
      lead: [calls("grep", { pattern: "x" }), calls("subagent_scout", { task: "Find it." }), says("Done.")],
      "lead/scout": [says("There.")],
    });
    const lead = stage.lead({ tools: [grep], subagents: [scout], instructions: "You lead." });
    const { runId } = await stage.run(lead);
    return { stage, lead, runId, store: stage.store };
  }

  test("a rerun names a changed prompt", async () => {
    const { lead, runId, store } = await recorded();
    const changed = lead.with({ instructions: "You lead well." });
    const { sentence, ...rest } = await differenceOf(runId, { store, agents: [changed] });
    assert.deepEqual(rest, {
      path: "lead",
      step: "the start",
      at: "instructions",
      expected: "You lead.",
      found: "You lead well.",
    });
    assert.equal(sentence, 'lead, the start (instructions): expected "You lead.", found "You lead well."');
  });

  test("a rerun names a changed prompt of a child", async () => {
    const { lead, runId, store } = await recorded();
    const changed = lead.with({ subagents: [scout.with({ instructions: "You seek." })] });
    const { path, at } = await differenceOf(runId, { store, agents: [changed] });
    assert.deepEqual([path, at], ["lead/scout", "instructions"]);
  });

  test("a rerun names a changed limit", async () => {
    const { lead, runId, store } = await recorded();
    const { at, expected, found } = await differenceOf(runId, { store, agents: [lead.with({ maxTurns: 3 })] });
    assert.deepEqual([at, expected, found], ["maxTurns", 50, 3]);
  });

  test("a rerun names a changed description of a tool", async () => {
    const { lead, runId, store } = await recorded();
    const changed = lead.with({ tools: [{ ...grep, description: "Searches everywhere, and says where." }] });
    const { step, at } = await differenceOf(runId, { store, agents: [changed] });
    assert.deepEqual([step, at], ["the start", "tools.shown[0].description"]);
  });

  test("a rerun names an answer that the recording does not have", async () => {
    const { lead, runId, store, stage } = await recorded();
    const events = await store.read(runId);
    const cut = events.filter((event) => !(event.path === "lead" && event.type === "message-end" && event.turn === 3));
    const { sentence } = await differenceOf(runId, { store: storeOf(cut), agents: [lead] });
    assert.equal(
      sentence,
      "lead, turn 3, the end: expected run-end (completed), found run-end (failed: The recorded answer failed)",
    );
    assert.equal(stage.events.at(-1)?.type, "run-end");
  });

  test("a rerun names an agent that is not among those given", async () => {
    const { runId, store } = await recorded();
    await assert.rejects(rerun(runId, { store, agents: [scout] }), {
      name: "UserError",
      message: "The recorded agent lead is not among those given: scout",
    });
  });

  test("a rerun names an unknown run", async () => {
    await assert.rejects(rerun("01ARZ3NDEKTSV4RRFFQ69G5FAV", { store: openMemoryStore() }), {
      name: "UserError",
      message: "No run with the id 01ARZ3NDEKTSV4RRFFQ69G5FAV",
    });
  });
});

suite("G4: a recording that stops early is played to where it stops", () => {
  test("a recording that was cancelled is played to where it stops", async () => {
    const stage = openStage({
      lead: [calls("grep"), calls("subagent_scout", { task: "Find." })],
      "lead/scout": [hangs()],
    });
    const lead = stage.lead({ tools: [grep], subagents: [scout] });
    const handle = stage.start(lead);
    stage.when(
      (event) => event.type === "turn-start" && event.path === "lead/scout",
      () => handle.cancel(),
    );
    const { status } = await stage.end(handle);
    assert.equal(status, "cancelled");
    const [given] = await rerunBothWays(stage, handle.id, [lead]);
    assert.equal(given.endsEarly, "The recording ends here: it was cancelled");
    assert.equal(given.result.status, "cancelled");
  });

  test("a recording that ran out of time is played to where it stops", async () => {
    const stage = openStage({
      lead: [calls("subagent_scout", { task: "Find." }), says("No.")],
      "lead/scout": [hangs()],
    });
    const lead = stage.lead({ subagents: [scout.with({ timeoutMs: 4000 })], timeoutMs: 3000 });
    const { runId, status } = await stage.run(lead);
    assert.equal(status, "timeout");
    const [given] = await rerunBothWays(stage, runId, [lead]);
    assert.equal(given.endsEarly, "The recording ends here: its time was over");
  });

  test("a failed recording stops early only for a fault of the program or of the store", async () => {
    const stage = openStage({ lead: [fails("invalid_request")] });
    const { runId } = await stage.run(stage.lead());
    const endsEarly = async (type: "store" | "crash" | "model") => {
      const events = (await stage.store.read(runId)).map((event) =>
        event.type === "run-end" ? { ...event, fault: { type, message: "No room." } } : event,
      );
      return (await rerun(runId, { store: storeOf(events) })).endsEarly;
    };
    assert.equal(await endsEarly("store"), "The recording ends here: it failed: No room.");
    assert.equal(await endsEarly("crash"), "The recording ends here: it failed: No room.");
    assert.equal(await endsEarly("model"), undefined);
  });

  test("a recording that crashed at any of its events is played to where it stops", async () => {
    const stage = openStage({
      lead: [[calls("grep"), calls("subagent_scout", { task: "Find." })], fails("overloaded"), says("Done.")],
      "lead/scout": [calls("grep"), says("There.")],
    });
    const lead = stage.lead({ tools: [grep], subagents: [scout] });
    const { runId } = await stage.run(lead);
    const events = await stage.store.read(runId);
    for (let kept = 1; kept < events.length; kept++) {
      const store = storeOf(events.slice(0, kept));
      for (const agents of [[lead], undefined]) {
        const { matches, firstDifference, endsEarly } = await rerun(runId, { store, agents });
        assert.equal(firstDifference?.sentence, undefined, `after ${kept} events`);
        assert.equal(matches, true);
        assert.equal(endsEarly, "The recording ends here: its process ended before it did");
      }
    }
  });
});

function paths(events: readonly StoredEvent[]): Record<string, string[]> {
  const byPath = Map.groupBy(events, ({ path }) => path);
  return Object.fromEntries([...byPath].map(([path, own]) => [path, own.map(({ type }) => type)]));
}

/** Who and when of the event with this number. */
function headOf(events: readonly StoredEvent[], seq: number): object {
  const { time, runId, agentId, parentId } = events.find((event) => event.seq === seq) ?? {};
  return { time, runId, agentId, parentId };
}

test("G4: a rerun refuses the models that calls could not name then, and takes those that ran", async () => {
  const store = openMemoryStore();
  const price = { input: 1, output: 2 };
  const named = (label: string, model: string) => calls("subagent", { label, task_prompt: `Part ${label}.`, model });
  const model = scriptedModel({
    lead: [named("a", "openai/gpt-5"), named("b", "ollama/x"), named("c", "../x"), says("Done.")],
  });
  const models = { prices: { "scripted/model": price } };
  const { runId } = await createRuntime({ store, models }).run(agent({ name: "lead", model, delegate: true }), "Go.", {
    budget: { costUsd: 1 },
  });
  const again = await rerun(runId, { store });
  assert.deepEqual([again.matches, again.firstDifference], [true, undefined]);
});
