/** G5, D5: cut anywhere, no external agent gets the same prompt again, and it is told when it was interrupted. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../../../src/core/agent.ts";
import type { StoredEvent } from "../../../../../src/core/event.ts";
import type { RunOptions } from "../../../../../src/core/runtime.ts";
import { NO_OWNER } from "../../../../../src/core/store.ts";
import { createRuntime } from "../../../../../src/runtime.ts";
import { openMemoryStore } from "../../../../../src/storage/store/memory.ts";
import { checkHistory } from "../../../../../src/testing/checker.ts";
import { scriptedModel } from "../../../../../src/testing/scripted-model.ts";
import { calls, says } from "../../../../../src/testing/steps.ts";
import { createWorld } from "../../../../../src/testing/world.ts";
import { ALLOW, fakeClient, registryWith } from "../../../../support/requirements/embedding.ts";
import { resultsOf } from "../../../../support/runtime/tree/restore/crash-points.ts";

const INTERRUPTED = /^You were interrupted/;

type Life = { events: StoredEvent[]; prompts: string[]; text: string };

/** The lead delegates, asks the same agent once more, and says what it heard. */
async function live(kept: readonly StoredEvent[], sessions: Set<string>, canLoad: boolean): Promise<Life> {
  const world = createWorld({
    seed: kept.length + 1,
    lateness: 0,
    startTime: Date.UTC(2026, 0, 1) + kept.length * 60_000,
  });
  const store = openMemoryStore();
  const [first] = kept;
  if (first !== undefined) store.append(first.runId, structuredClone(kept), NO_OWNER);
  const client = fakeClient(
    async ({ task }, { host }) => {
      host.onCall({ callId: "1", phase: "start", name: "Edit", kind: "edit", title: "a.ts", input: {} });
      host.onCall({ callId: "1", phase: "end", name: "Edit", kind: "edit", title: "a.ts", input: {}, output: "done" });
      return INTERRUPTED.test(task) ? "Finished." : `Done: ${task}`;
    },
    { sessions, canLoad, maxCostUsd: 0.25, usage: { inputTokens: 100, outputTokens: 10 } },
  );
  const model = scriptedModel(
    {
      lead: (request) => {
        const first = resultsOf(request, "subagent_delegate");
        const [, id = ""] = (first[0] ?? "").match(/subagent_id: (\w+)/) ?? [];
        if (first.length === 0) return calls("subagent_delegate", { task: "Fix a.", description: "fix" });
        const sent = resultsOf(request, "subagent_send");
        if (sent.length === 0 && id !== "") return calls("subagent_send", { subagent_id: id, message: "Now b." });
        return says([...first, ...sent].map((each) => each.split("\n")[0]).join(" | "));
      },
    },
    { clock: world.clock, price: { input: 1, output: 1 } },
  );
  const lead = agent({ name: "lead", model, delegate: true, tools: [...registryWith({ client })] });
  const runtime = createRuntime({ host: world.host, ...ALLOW, store });
  const events: StoredEvent[] = [];
  const onEvent: RunOptions["onEvent"] = (event) => {
    if (event.seq !== undefined) events.push(event);
  };
  const budget = { tokens: 100_000, costUsd: 5 };
  const result = await world.run(
    () =>
      (first === undefined
        ? runtime.run(lead, "Go.", { onEvent, budget })
        : runtime.resume(first.runId, { agent: lead, onEvent })
      ).result,
  );
  assert.equal(world.clock.liveTimers, 0);
  assert.deepEqual(checkHistory([...kept, ...events], { resultUsage: result.usage }), []);
  return { events, prompts: client.prompts.map(({ task }) => task), text: result.text };
}

/** The prompts that an earlier process has sent: those whose turn was recorded. Then it may have been. */
function sentBefore(kept: readonly StoredEvent[]): string[] {
  const turns = kept.filter(({ type, depth }) => type === "turn-start" && depth === 1).length;
  return ["Fix a.", "Now b."].slice(0, turns);
}

suite("G5, D5: an external agent", () => {
  for (const canLoad of [true, false]) {
    test(`an external agent that ${canLoad ? "can" : "cannot"} continue its sessions is not told the same twice, wherever its process is cut`, async () => {
      const whole = await live([], new Set(), canLoad);
      let [interruptions, unknowns] = [0, 0];
      for (let length = 1; length < whole.events.length; length++) {
        const kept = whole.events.slice(0, length);
        if (kept.some(({ type, parentId }) => type === "run-end" && parentId === null)) break;
        const where = `cut behind ${length}: ${kept.at(-1)?.type} of ${kept.at(-1)?.path}`;
        const sessions = new Set(kept.flatMap((event) => (event.type === "outside-session" ? [event.sessionId] : [])));
        const { prompts, text, events } = await live(kept, sessions, canLoad);
        const all = [...sentBefore(kept), ...prompts.filter((each) => !INTERRUPTED.test(each))];
        assert.equal(new Set(all).size, all.length, `${where}: ${all.join(" | ")}`);
        if (prompts.some((each) => INTERRUPTED.test(each))) interruptions += 1;
        if (/Outcome unknown/.test(text)) unknowns += 1;
        // Every run has one end, and every prompt a bill.
        const ends = [...kept, ...events].filter(({ type }) => type === "run-end").length;
        assert.equal(ends, [...kept, ...events].filter(({ type }) => type === "run-start").length, where);
      }
      assert.equal(interruptions > 0, canLoad);
      assert.equal(unknowns > 0, !canLoad);
    });
  }
});
