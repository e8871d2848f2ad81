/** Runs that wait for a later answer, under everything else that may be done to a run. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../../../src/core/agent.ts";
import type { StoredEvent } from "../../../../../src/core/event.ts";
import type { ModelRequest } from "../../../../../src/core/model.ts";
import type { Usage } from "../../../../../src/core/usage.ts";
import { rerun } from "../../../../../src/rerun.ts";
import { fanOut, run } from "../../../../../src/runtime.ts";
import { checkHistory } from "../../../../../src/testing/checker.ts";
import { scriptedModel } from "../../../../../src/testing/scripted-model.ts";
import { after, calls, type Script, says } from "../../../../../src/testing/steps.ts";
import { openTown, resultsIn, type Town } from "../../../../support/runtime/tree/restore/parking.ts";

const pays: Script[string] = (request) => (resultsIn(request, "pay").length === 0 ? calls("pay") : says("Paid."));

function ends(events: readonly StoredEvent[]): string[] {
  return events.flatMap((event) => (event.type === "run-end" ? [`${event.path} ${event.status}`] : []));
}

const idOf = (text = ""): string => /subagent_id: (\w+)/.exec(text)?.[1] ?? "";

/** Checks the journal, its rerun included, and says how its runs ended. */
async function endsOf(town: Town, rootId: string, resultUsage: Usage): Promise<string[]> {
  const events = await town.events(rootId);
  assert.deepEqual(checkHistory(events, { resultUsage }), []);
  const played = await rerun(rootId, { store: town.store });
  assert.deepEqual(played.firstDifference, undefined);
  return ends(events);
}

suite("G7: a parked child in the background", () => {
  /** The lead starts it, works on until it is parked, and then does something with it. */
  const lead = (toolName: string, input: (id: string) => object): Script => ({
    lead: (request) => {
      const [started] = resultsIn(request, "subagent");
      if (started === undefined) return calls("subagent", { label: "a", task_prompt: "Do a.", background: true });
      if (resultsIn(request, "look").length === 0) return [after(1000), calls("look")];
      const done = resultsIn(request, toolName);
      if (done.length === 0) return calls(toolName, input(idOf(started)), "c1");
      const reports = JSON.stringify(request.messages).match(/Report of the background subagent \w+/g)?.length ?? 0;
      return says(`${done[0]?.split("\n")[0]} (${reports})`);
    },
    "lead/a": pays,
  });

  test("a parked child in the background is ended by subagent_cancel", async () => {
    const town = openTown({ script: lead("subagent_cancel", (subagent_id) => ({ subagent_id })) });
    const { result, handle } = await town.process().run();
    assert.deepEqual([result.status, result.text, result.questions], ["completed", "a: cancelled (1)", []]);
    assert.deepEqual(await endsOf(town, handle.id, result.usage), ["lead/a cancelled", "lead completed"]);
  });

  test("a parked child in the background is waited for by subagent_wait, in the next process too", async () => {
    const town = openTown({ script: lead("subagent_wait", (id) => ({ subagent_ids: [id] })) });
    const { result, handle } = await town.process().run();
    assert.deepEqual([result.status, result.questions.length], ["incomplete", 1]);
    const answers = { [result.questions[0]?.id ?? ""]: { allow: true } } as const;
    const second = await town.process().resume(handle.id, { answers });
    assert.deepEqual([second.result.text, town.ran], ["a: Paid. (0)", ["lead look", "lead/a pay"]]);
    assert.deepEqual(await endsOf(town, handle.id, second.result.usage), ["lead/a completed", "lead completed"]);
  });

  test("a parked child in the background takes no message, and says so", async () => {
    const town = openTown({ script: lead("subagent_send", (subagent_id) => ({ subagent_id, message: "Hurry." })) });
    const { result } = await town.process().run();
    assert.match(result.text, /^a waits until the user has answered a question, and reads no messages before\. \(0\)/);
    assert.equal(result.questions.length, 1);
  });

  test("a parked child in the background is ended with its parent when live children are cancelled", async () => {
    const town = openTown({
      script: {
        lead: (request) =>
          resultsIn(request, "subagent").length === 0
            ? calls("subagent", { label: "a", task_prompt: "Do a.", background: true })
            : [after(1000), says("I end.")],
        "lead/a": pays,
      },
    });
    const { result, handle } = await town.process().run({ onLiveChildren: "cancel" });
    assert.deepEqual([result.status, result.text, result.questions], ["completed", "I end.", []]);
    assert.deepEqual(await endsOf(town, handle.id, result.usage), ["lead/a cancelled", "lead completed"]);
  });

  test("a parked child in the background that the handle cancels reports so to its parent", async () => {
    const town = openTown({
      script: {
        lead: (request) => {
          if (resultsIn(request, "subagent").length === 0)
            return calls("subagent", { label: "a", task_prompt: "Do a.", background: true });
          if (resultsIn(request, "look").length === 0) return [after(5000), calls("look")];
          const [report] = /Report of the background subagent a:[^"]*/.exec(JSON.stringify(request.messages)) ?? [];
          return says(report ?? "No report.");
        },
        "lead/a": pays,
      },
    });
    const { result, handle } = await town.process().run({
      during(live, event) {
        if (event.type === "tool-call-start" && event.toolName === "look") assert.equal(live.cancel("lead/a"), true);
      },
    });
    assert.match(result.text, /^Report of the background subagent a:\\nSubagent cancelled/);
    assert.deepEqual(await endsOf(town, handle.id, result.usage), ["lead/a cancelled", "lead completed"]);
  });
});

suite("G7: a parked child that its parent waits for", () => {
  const both: Script = {
    lead: (request) =>
      resultsIn(request, "subagent").length < 2
        ? ["a", "b"].map((label) => calls("subagent", { label, task_prompt: `Do ${label}.` }))
        : says(resultsIn(request, "subagent").join(" | ")),
    "lead/a": pays,
    "lead/b": [[after(50_000), calls("look")], says("Seen.")],
  };

  test("a parked child that its parent waits for may be cancelled by the handle: the tree is resumed without an answer", async () => {
    const town = openTown({ script: both });
    const { result, handle } = await town.process().run({
      during(live, event) {
        if (event.type === "tool-call-start" && event.toolName === "look") assert.equal(live.cancel("lead/a"), true);
      },
    });
    assert.deepEqual([result.status, result.stopReason, result.questions], ["incomplete", "consent", []]);
    const second = await town.process().resume(handle.id);
    assert.match(second.result.text, /^Subagent cancelled \(a\)\n.* \| Seen\./s);
    assert.deepEqual(await endsOf(town, handle.id, second.result.usage), [
      "lead/a cancelled",
      "lead/b completed",
      "lead completed",
    ]);
  });

  test("a parked child that its parent waits for ends with the tree when its time is over while another child works", async () => {
    const town = openTown({ script: both });
    const { result, handle } = await town.process().run({ budget: { durationMs: 10_000 } });
    assert.deepEqual([result.status, result.questions], ["timeout", []]);
    const events = await town.events(handle.id);
    assert.deepEqual(checkHistory(events, { resultUsage: result.usage }), []);
    assert.deepEqual(ends(events).sort(), ["lead timeout", "lead/a cancelled", "lead/b cancelled"]);
  });

  test("a copy of the run begins without the question, which stays open", async () => {
    const town = openTown({ script: { lead: pays } });
    const { handle } = await town.process().run();
    const { runtime, lead } = town.process();
    const copy = await runtime.fork(handle.id, { agent: lead, message: "Go on." }).result;
    assert.equal(copy.status, "completed");
    assert.equal((await runtime.questions(handle.id)).length, 1);
    assert.deepEqual(town.ran, []);
  });
});

suite("G7: answers that are none", () => {
  test("answers that are none are refused in words, whatever they are", async () => {
    const town = openTown({ script: { lead: pays } });
    const { handle } = await town.process().run();
    const allow = { allow: true };
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [index + 5, allow]));
    const given: unknown[] = [
      JSON.parse('{"__proto__":{"allow":true}}'),
      ...[{ constructor: allow }, { toString: allow }, { "5 ": allow }, { "05": allow }, many],
      ...[{ 5: { allow: "yes" } }, { 5: null }, { 5: true }, { 5: Object.create(null) }],
      ...[null, [allow], "5", 5],
    ];
    for (const answers of given) {
      await assert.rejects(town.process().resume(handle.id, { answers: answers as never }), {
        name: "UserError",
        message: /^(No open question has the id|The answer to 5 must be|resume\(\): answers must be an object)/,
      });
    }
    assert.deepEqual(town.ran, []);
  });

  test("answers that are none name some of many open questions", async () => {
    const pay = (index: number) => calls("pay", { amount: index }, `p${index}`);
    const town = openTown({ script: { lead: [Array.from({ length: 300 }, (_, index) => pay(index))] } });
    const { handle } = await town.process().run();
    await assert.rejects(
      town.process().resume(handle.id, { answers: { 1: { allow: true } } }),
      ({ message }: Error) =>
        /^No open question has the id 1\. Open: .* and 280 more\.$/.test(message) && message.length < 5000,
    );
  });

  test("answers leave it to one of several processes to continue", async () => {
    const town = openTown({ script: { lead: pays } });
    const { handle } = await town.process().run();
    const answers = { 5: { allow: true } } as const;
    const all = await Promise.allSettled([1, 2, 3].map(() => town.process().resume(handle.id, { answers })));
    assert.equal(all.filter(({ status }) => status === "fulfilled").length, 1);
    assert.deepEqual(town.ran, ["lead pay"]);
  });
});

suite("G7: a question of the bare functions without a store", () => {
  test("a question of the bare functions cannot wait without a store, and says what it would need", async () => {
    const { lead } = openTown({ script: {} }).process();
    const said = (request: ModelRequest) => {
      const [result] = resultsIn(request, "pay");
      return result === undefined ? calls("pay") : says(result);
    };
    const model = scriptedModel({ "*": said, "*/*": said });
    const own = agent({ name: "own", model, tools: lead.tools ?? [] });
    for (const approve of [() => "later" as const, { decide: () => undefined, ask: () => "later" as const }]) {
      const one = await run(own, "Pay.", { approve }).result;
      const [other] = await fanOut(own, ["Pay."], { approve });
      for (const result of [one, other]) {
        assert.deepEqual([result?.status, result?.stopReason, result?.questions], ["incomplete", "consent", []]);
        assert.match(result?.text ?? "", /the answer comes later, and this run is in no store: give it a store/);
      }
    }
  });
});
