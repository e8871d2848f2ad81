/** A recording that nobody made: it may differ or be refused, but it comes to an end and says why. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { saveCassette } from "../../../src/cassette.ts";
import { agent } from "../../../src/core/agent.ts";
import { UserError } from "../../../src/core/errors.ts";
import type { StoredEvent } from "../../../src/core/event.ts";
import { type Rerun, rerun } from "../../../src/rerun.ts";
import { diffRuns } from "../../../src/storage/replay/diff-runs.ts";
import { calls, says } from "../../../src/testing/steps.ts";
import { openStage, simpleTool } from "../../support/requirements/support.ts";
import { compareRuns } from "../../support/rerun/compare-runs.ts";
import { storeOf } from "../../support/rerun/support.ts";

const look = simpleTool("look", () => "A view.");
const scout = agent({ name: "scout", tools: [look] });

async function recorded(): Promise<StoredEvent[]> {
  const stage = openStage({
    lead: [calls("look"), calls("subagent_scout", { task: "Find." }), says("Done.")],
    "lead/scout": [calls("look"), says("There.")],
  });
  const { runId } = await stage.run(stage.lead({ tools: [look], subagents: [scout] }));
  return [...(await stage.store.read(runId))];
}

/** The same events, with the starts of this path changed. */
function withStart(events: readonly StoredEvent[], path: string, changes: object): StoredEvent[] {
  return events.map((event) =>
    event.type === "run-start" && event.path === path ? ({ ...event, ...changes } as StoredEvent) : event,
  );
}

const attempts: [what: string, change: (events: StoredEvent[]) => StoredEvent[]][] = [
  ["a child that is its own parent", (events) => withStart(events, "lead/scout", { parentId: childOf(events) })],
  [
    "a run that goes on from itself",
    (events) => withStart(events, "lead/scout", { origin: { kind: "follow-up", runId: childOf(events) } }),
  ],
  [
    "a fork of itself",
    (events) => withStart(events, "lead/scout", { origin: { kind: "fork", runId: childOf(events), messages: 3 } }),
  ],
  [
    "an end in the year 9999",
    (events) => events.map((event, index) => ({ ...event, time: index < 6 ? 0 : 253_402_300_799_999 })),
  ],
  ["a name no agent can have", (events) => withStart(events, "lead", { agent: "../lead" })],
  ["turns without number", (events) => withStart(events, "lead", { maxTurns: 0 })],
  ["an agent that lists itself", (events) => withStart(events, "lead/scout", { agent: "lead" })],
  ["only beginnings", (events) => events.filter(({ type }) => type === "run-start")],
  ["only ends", (events) => events.filter(({ type }) => type === "run-start" || type === "run-end")],
  ["every event twice", (events) => events.flatMap((event) => [event, { ...event, seq: event.seq + 0.5 }])],
  ["the events of a run before its start", (events) => [events[0] as StoredEvent, ...events.slice(1).reverse()]],
];

suite("B8.2: a crafted recording comes to an end", () => {
  for (const [what, change] of attempts) {
    test(`a recording with ${what} comes to an end`, async () => {
      const events = change(await recorded()).map((event, index) => ({ ...event, seq: index + 1 }));
      const store = storeOf(events);
      const runId = events[0]?.runId ?? "";
      const outcomes: (Rerun | undefined)[] = [];
      for (const agents of [undefined, [agent({ name: "lead", tools: [look], subagents: [scout], model: "a/b" })]]) {
        outcomes.push(await rerun(runId, { store, agents }).catch(refusal));
      }
      for (const outcome of outcomes)
        assert.ok(outcome === undefined || outcome.matches === (outcome.firstDifference === undefined));
      await diffRuns(store, runId, runId).catch(refusal);
      await saveCassette(store, runId, "/dev/null/none.json").catch(refusal);
      assert.equal(typeof compareRuns(events, events).matches, "boolean");
    });
  }

  test("a store that says there is a run and has no events of it ends a rerun", async () => {
    const store = { ...storeOf([]), run: async () => ({ rootId: "x" }) as never };
    await assert.rejects(rerun("x", { store }), {
      name: "UserError",
      message: "The run x cannot be played: its beginning was not kept",
    });
  });
});

function childOf(events: readonly StoredEvent[]): string {
  return events.find(({ path }) => path === "lead/scout")?.runId ?? "";
}

/** Only a sentence for people counts as a refusal. */
function refusal(error: unknown): undefined {
  if (!(error instanceof UserError)) throw error;
}
