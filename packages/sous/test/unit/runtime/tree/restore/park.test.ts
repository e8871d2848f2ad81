/** A question whose answer comes later: the tree stops, and any process resumes it with the answer. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { ApprovalPolicy } from "../../../../../src/core/approval.ts";
import type { SousEvent, StoredEvent } from "../../../../../src/core/event.ts";
import { checkHistory } from "../../../../../src/testing/checker.ts";
import { after, calls, hangs, type Script, says } from "../../../../../src/testing/steps.ts";
import { openTown, resultsIn } from "../../../../support/runtime/tree/restore/parking.ts";

/** Pays once, and says what came of it. */
const pays: Script = {
  lead: (request) => {
    const [result] = resultsIn(request, "pay");
    return result === undefined ? [says("I pay."), calls("pay", { amount: 5 }, "p1")] : says(`Result: ${result}`);
  },
};

function typesOf(events: readonly SousEvent[], path = "lead"): string[] {
  return events.filter((event) => event.path === path && event.seq !== undefined).map(({ type }) => type);
}

function ends(events: readonly StoredEvent[]): string[] {
  return events.flatMap((event) => (event.type === "run-end" ? [`${event.path} ${event.status}`] : []));
}

suite("G7: a question whose answer comes later", () => {
  test("a question whose answer comes later leaves the run open in its store, and the result lists it", async () => {
    const town = openTown({ script: pays });
    const { result, events, handle } = await town.process().run();
    const { status, stopReason, text, questions, denied, error, turns } = result;
    assert.deepEqual(
      { status, stopReason, text, denied, error, turns },
      { status: "incomplete", stopReason: "consent", text: "I pay.", denied: [], error: undefined, turns: 1 },
    );
    assert.deepEqual(questions, [
      {
        id: "5",
        digest: "5b2cc179",
        path: "lead",
        toolName: "pay",
        input: { amount: 5 },
        action: "lead wants to use pay: amount = 5",
      },
    ]);
    assert.deepEqual(town.ran, []);
    assert.deepEqual(typesOf(events), [
      "run-start",
      "turn-start",
      "message-end",
      "tool-call-start",
      "approval-request",
    ]);
    assert.equal((await town.store.run(handle.id))?.status, "waiting");
    assert.deepEqual(await town.process().runtime.questions(handle.id), questions);
    assert.equal(events.at(-1)?.type, "park");
    assert.deepEqual(
      [result.agents[0]?.status, result.agents[0]?.turns, result.usage.totalTokens > 0],
      ["incomplete", 1, true],
    );
  });

  test("a question whose answer comes later is answered in another process, which runs the call once", async () => {
    const town = openTown({ script: pays });
    const { handle } = await town.process().run();
    const { result, events } = await town.process().resume(handle.id, { answers: { 5: { allow: true } } });
    assert.deepEqual([result.status, result.text, result.questions], ["completed", "Result: pay done", []]);
    assert.deepEqual(town.ran, ["lead pay"]);
    assert.deepEqual(typesOf(events).slice(0, 3), ["resume", "approval-end", "tool-call-end"]);
    const stored = await town.events(handle.id);
    assert.deepEqual(checkHistory(stored, { resultUsage: result.usage }), []);
    const [answer] = stored.filter(({ type }) => type === "approval-end");
    assert.deepEqual(answer?.type === "approval-end" && [answer.allowed, answer.by, answer.reason], [
      true,
      "person",
      undefined,
    ]);
  });

  test("a question whose answer comes later is denied in another process, and the model reads the reason", async () => {
    const town = openTown({ script: pays });
    const { handle } = await town.process().run();
    const answers = { 5: { allow: false, reason: "too much" } } as const;
    const { result } = await town.process().resume(handle.id, { answers });
    assert.deepEqual([result.status, result.text], ["completed", "Result: The user did not allow pay: too much"]);
    assert.deepEqual(town.ran, []);
  });

  test("a question whose answer comes later is answered once: an answer to a question that is gone is refused before anything is done", async () => {
    const town = openTown({ script: pays });
    const { handle } = await town.process().run();
    const before = (await town.events(handle.id)).length;
    for (const [answers, message] of [
      [{ 7: { allow: true } }, "No open question has the id 7. Open: 5 (lead wants to use pay: amount = 5)."],
      [{ 5: "later" }, "The answer to 5 must be { allow: true } or { allow: false, reason }"],
    ] as const) {
      await assert.rejects(town.process().resume(handle.id, { answers: answers as never }), {
        name: "UserError",
        message,
      });
    }
    assert.equal((await town.events(handle.id)).length, before);
    await town.process().resume(handle.id, { answers: { 5: { allow: true } } });
    await assert.rejects(town.process().resume(handle.id, { message: "More.", answers: { 5: { allow: true } } }), {
      message: "No open question has the id 5. The run has no open questions.",
    });
    assert.deepEqual(town.ran, ["lead pay"]);
  });

  test("a question without an answer is asked again, keeps its id while it stays open, and can be answered then", async () => {
    const town = openTown({ script: pays });
    const { handle, result: first } = await town.process().run();
    const second = await town.process().resume(handle.id);
    assert.deepEqual(second.result.questions, first.questions);
    assert.equal(second.handle.id, handle.id);
    const third = await town.process({ approve: () => ({ allow: true }) }).resume(handle.id);
    assert.equal(third.result.text, "Result: pay done");
    assert.deepEqual(town.ran, ["lead pay"]);
    assert.deepEqual(checkHistory(await town.events(handle.id), { resultUsage: third.result.usage }), []);
  });

  test("a question whose answer comes later ends the iteration of its handle, for an early reader and for a late one", async () => {
    const town = openTown({ script: pays });
    const read: SousEvent["type"][][] = [[], []];
    let early: Promise<void> | undefined;
    const readAll = async (handle: AsyncIterable<SousEvent>, into: SousEvent["type"][]) => {
      for await (const { type } of handle) into.push(type);
    };
    const { handle } = await town.process().run({
      during(live) {
        early ??= readAll(live, read[0] ?? []);
      },
    });
    await early;
    assert.equal(read[0]?.at(-1), "park");
    const late = openTown({ script: pays });
    const parked = await late.process().run();
    await readAll(parked.handle, read[1] ?? []);
    assert.deepEqual(read[1], ["run-start", "turn-start", "message-end", "tool-call-start", "approval-request"]);
    assert.equal(handle.cancel(), false);
    assert.equal(handle.steer("lead", "Hurry."), false);
  });

  test("a question whose answer comes later cannot be passed over by a follow-up", async () => {
    const { handle } = await openTown({ script: pays }).process().run();
    await assert.rejects(Promise.resolve(handle.followUp("And now?")), {
      name: "UserError",
      message: `Run ${handle.id} waits for an answer: continue it with resume(), and give the answer in answers`,
    });
  });

  test("a question whose answer comes later loses to a rule that denies the call by then, also when the answer allows it", async () => {
    const town = openTown({ script: pays });
    const { handle } = await town.process().run();
    const rules: ApprovalPolicy = { decide: () => ({ effect: "deny", reason: "no payments" }) };
    const { result } = await town
      .process({ runtime: { approve: rules } })
      .resume(handle.id, { answers: { 5: { allow: true } } });
    assert.match(result.text, /A rule of the user does not allow this call of pay: no payments/);
    assert.deepEqual(town.ran, []);
    assert.deepEqual(checkHistory(await town.events(handle.id), { resultUsage: result.usage }), []);
  });

  test("a question that was denied stays denied, also when a rule allows the call by then", async () => {
    const town = openTown({ script: pays });
    const { handle } = await town.process().run();
    const rules: ApprovalPolicy = { decide: () => ({ effect: "allow" }) };
    const { result } = await town
      .process({ runtime: { approve: rules } })
      .resume(handle.id, { answers: { 5: { allow: false } } });
    assert.equal(result.text, "Result: The user did not allow pay");
    assert.deepEqual(town.ran, []);
  });
});

suite("G7: while a question waits for later", () => {
  /** The lead pays and looks in one turn; looking takes a second. */
  const looksToo: Script = {
    lead: (request) =>
      resultsIn(request, "pay").length === 0
        ? [calls("pay", {}, "p1"), calls("look", {}, "l1")]
        : says(`${resultsIn(request, "pay")} and ${resultsIn(request, "look")}`),
  };

  test("other calls of the same turn work to their end, and are not made again", async () => {
    const town = openTown({ script: looksToo });
    const { handle } = await town.process().run();
    assert.deepEqual(town.ran, ["lead look"]);
    const { result } = await town
      .process()
      .resume(handle.id, { answers: { [handle0(await town.events(handle.id))]: { allow: true } } });
    assert.deepEqual([result.text, town.ran], ["pay done and look done", ["lead look", "lead pay"]]);
  });

  /** Five children, three of which ask; two at once. */
  const fans: Script = {
    lead: (request) =>
      resultsIn(request, "parallel_subagent").length === 0
        ? calls("parallel_subagent", {
            max_concurrent: 2,
            tasks: ["a", "b", "c", "d", "e"].map((label) => ({ label, task_prompt: `Do ${label}.` })),
          })
        : says(resultsIn(request, "parallel_subagent").join()),
    "lead/*": (request) => {
      const task = JSON.stringify(request.messages);
      if (/Do [bd]/.test(task)) return says("Nothing to pay.");
      const [result] = resultsIn(request, "pay");
      return result === undefined ? calls("pay") : says(`Result: ${result}`);
    },
  };

  test("all other children work, also those that waited for a slot, and all questions are collected", async () => {
    const town = openTown({ script: fans });
    const { result, handle } = await town.process().run();
    assert.deepEqual(
      result.questions.map(({ path }) => path),
      ["lead/a", "lead/c", "lead/e"],
    );
    const stored = await town.events(handle.id);
    assert.deepEqual(ends(stored), ["lead/b completed", "lead/d completed"]);
    const [a, c, e] = result.questions.map(({ id }) => id);
    const answers = { [a ?? ""]: { allow: true }, [c ?? ""]: { allow: false } } as const;
    const second = await town.process().resume(handle.id, { answers });
    assert.deepEqual(
      second.result.questions.map(({ id }) => id),
      [e],
    );
    assert.deepEqual(town.ran, ["lead/a pay"]);
    const third = await town.process().resume(handle.id, { answers: { [e ?? ""]: { allow: true } } });
    assert.equal(third.result.status, "completed");
    assert.deepEqual(town.ran, ["lead/a pay", "lead/e pay"]);
    const all = await town.events(handle.id);
    assert.deepEqual(
      ends(all).sort(),
      [..."abcde"]
        .map((label) => `lead/${label} completed`)
        .concat("lead completed")
        .sort(),
    );
    assert.deepEqual(checkHistory(all, { resultUsage: third.result.usage }), []);
  });

  for (const mode of ["stop", "wrap-up", "last-words"] as const) {
    test(`a cancel (${mode}) ends everything in the ordinary way`, async () => {
      const town = openTown({
        script: {
          lead: (request) =>
            /You must stop now/.test(JSON.stringify(request.messages))
              ? says("I had to stop.")
              : [
                  calls("subagent", { label: "a", task_prompt: "Do a." }),
                  calls("subagent", { label: "b", task_prompt: "Do b." }),
                  calls("pay", {}, "p1"),
                ],
          "lead/a": () => calls("pay"),
          "lead/b": (request) =>
            /You must stop now/.test(JSON.stringify(request.messages))
              ? says("I stop.")
              : [after(1000), mode === "wrap-up" ? calls("look") : hangs()],
        },
      });
      let asked = 0;
      const { result, handle } = await town.process().run({
        during(live, event) {
          if (event.type === "approval-request") asked += 1;
          if (asked === 2 && event.path === "lead/b" && event.type === "turn-start") live.cancel(undefined, { mode });
          if (event.type === "approval-request" && asked === 2)
            setImmediate(() => setImmediate(() => live.cancel(undefined, { mode })));
        },
      });
      assert.equal(result.status, "cancelled");
      assert.deepEqual(result.questions, []);
      const stored = await town.events(handle.id);
      assert.deepEqual(ends(stored).sort(), ["lead cancelled", "lead/a cancelled", "lead/b cancelled"]);
      assert.deepEqual(checkHistory(stored, { resultUsage: result.usage }), []);
      assert.deepEqual(
        town.ran.filter((each) => each.endsWith("pay")),
        [],
      );
    });
  }

  test("a background child that asks is waited for only where its parent has nothing else to do", async () => {
    const script: Script = {
      lead: (request) => {
        if (resultsIn(request, "subagent").length === 0)
          return calls("subagent", { label: "a", task_prompt: "Do a.", background: true });
        if (resultsIn(request, "look").length === 0) return calls("look");
        return /Report of the background/.test(JSON.stringify(request.messages))
          ? says("It reported.")
          : says("I wait.");
      },
      "lead/a": (request) => (resultsIn(request, "pay").length === 0 ? calls("pay") : says("Paid.")),
    };
    const town = openTown({ script });
    const { result, handle } = await town.process().run();
    assert.deepEqual([result.text, result.questions.map(({ path }) => path)], ["I wait.", ["lead/a"]]);
    assert.deepEqual(town.ran, ["lead look"]);
    const [question] = result.questions;
    const second = await town.process().resume(handle.id, { answers: { [question?.id ?? ""]: { allow: true } } });
    assert.deepEqual([second.result.status, second.result.text], ["completed", "It reported."]);
    assert.deepEqual(town.ran, ["lead look", "lead/a pay"]);
    assert.deepEqual(checkHistory(await town.events(handle.id), { resultUsage: second.result.usage }), []);
  });
});

/** The id of the only open question. */
function handle0(events: readonly StoredEvent[]): string {
  return String(events.find(({ type }) => type === "approval-request")?.seq);
}
