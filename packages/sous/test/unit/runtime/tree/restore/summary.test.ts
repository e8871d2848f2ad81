/** A run that sums a conversation up: what follows it begins with the summary alone, also in another process or a copy. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../../../src/core/agent.ts";
import { textOf } from "../../../../../src/core/message.ts";
import { SUMMARY_HEAD } from "../../../../../src/core/read-history.ts";
import { rerun } from "../../../../../src/rerun.ts";
import { createRuntime } from "../../../../../src/runtime.ts";
import { openMemoryStore } from "../../../../../src/storage/store/memory.ts";
import { type ScriptedModel, scriptedModel } from "../../../../../src/testing/scripted-model.ts";
import { fails, says } from "../../../../../src/testing/steps.ts";

const SUM_UP = "Sum up.";
const summarizes = { summarizes: true };

function parts(model: ScriptedModel) {
  const store = openMemoryStore();
  return { store, runtime: createRuntime({ store }), lead: agent({ name: "lead", model }) };
}

const said = (model: ScriptedModel, index: number): string[] | undefined =>
  model.requests[index]?.messages.map((message) => textOf(message));

suite("a summary of a conversation", () => {
  const script = () => scriptedModel(says("One."), says("Two."), says("All of it."), says("Four."), says("Five."));

  test("a summary of a conversation is all that later messages remember, however the conversation continues", async () => {
    const model = script();
    const { store, runtime, lead } = parts(model);
    const first = runtime.run(lead, "one");
    await first;
    const second = first.followUp("two");
    await second;
    const summary = second.followUp(SUM_UP, summarizes);
    await summary;
    assert.deepEqual(said(model, 2), ["one", "One.", "two", "Two.", SUM_UP]);
    const next = summary.followUp("three");
    await next;
    assert.deepEqual(said(model, 3), [`${SUMMARY_HEAD}All of it.`, "three"]);
    await runtime.resume(next.id, { agent: lead, message: "four" });
    assert.deepEqual(said(model, 4), [`${SUMMARY_HEAD}All of it.`, "three", "Four.", "four"]);
    await runtime.fork(summary.id, { agent: lead, message: "in a copy" });
    assert.deepEqual(said(model, 5), [`${SUMMARY_HEAD}All of it.`, "in a copy"]);
    await runtime.fork(second.id, { agent: lead, message: "before it" });
    assert.deepEqual(said(model, 6), ["one", "One.", "two", "Two.", "before it"]);
    const again = await rerun(first.id, { store });
    assert.deepEqual([again.matches, again.firstDifference], [true, undefined]);
  });

  test("a summary of a conversation can be asked for when a stored conversation continues, and in a copy", async () => {
    const model = script();
    const { runtime, lead } = parts(model);
    const first = runtime.run(lead, "one");
    await first;
    await runtime.resume(first.id, { agent: lead, message: SUM_UP, summarizes: true });
    await runtime.resume(first.id, { agent: lead, message: "two" });
    assert.deepEqual(said(model, 2), [`${SUMMARY_HEAD}Two.`, "two"]);
    const copy = runtime.fork(first.id, { agent: lead, message: SUM_UP, summarizes: true });
    await copy;
    await copy.followUp("three");
    assert.deepEqual(said(model, 4), [`${SUMMARY_HEAD}One.`, "three"]);
  });

  test("a summary of a conversation that was not given leaves the conversation as it was, without the question for it", async () => {
    const model = scriptedModel(says("One."), fails("auth"), says("Two."));
    const { runtime, lead } = parts(model);
    const first = runtime.run(lead, "one");
    await first;
    const summary = first.followUp(SUM_UP, summarizes);
    await assert.rejects(async () => summary);
    await summary.followUp("two");
    assert.deepEqual(said(model, 2), ["one", "One.", "two"]);
  });
});
