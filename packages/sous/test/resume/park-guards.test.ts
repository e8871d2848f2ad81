/** An answer counts once, for what the person has seen, and is stored before anything follows: with planted faults. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { agent } from "../../src/core/agent.ts";
import type { StoredEvent } from "../../src/core/event.ts";
import { NO_OWNER, type Store } from "../../src/core/store.ts";
import { type Tool, tool } from "../../src/core/tool.ts";
import { createRuntime } from "../../src/runtime.ts";
import { openMemoryStore } from "../../src/store/memory.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import { calls, says } from "../../src/testing/steps.ts";
import { importWithout, type Mutation } from "../mutation.ts";
import { resultsIn } from "./parking.ts";

type Seen = { problems: string[]; events: readonly StoredEvent[]; rootId: string };

/** One process. Its tool says when it runs on what was not shown, or before the answer is stored. */
async function live(kept: readonly StoredEvent[], isAnswered: boolean, make = createRuntime): Promise<Seen> {
  const store = openMemoryStore();
  const problems: string[] = [];
  let rootId = kept[0]?.runId ?? "";
  if (rootId !== "") store.append(rootId, structuredClone([...kept]), NO_OWNER);
  const pay = tool({
    name: "pay",
    description: "Pays.",
    tier: "confirm",
    effect: "read",
    inputSchema: { type: "object", properties: { amount: { type: "number" } } },
    async execute(input: { amount?: number | undefined }) {
      const events = await store.read(rootId);
      const asked = events.findLast((event) => event.type === "approval-request");
      if (asked?.type === "approval-request" && (asked.input as typeof input).amount !== input.amount)
        problems.push("ran on an input that was not shown");
      if (!events.some(({ type }) => type === "approval-end")) problems.push("ran before the answer was stored");
      return "paid";
    },
  }) as Tool;
  const model = scriptedModel({
    lead: (request) => (resultsIn(request, "pay").length === 0 ? calls("pay", { amount: 5 }, "p1") : says("Done.")),
  });
  const lead = agent({ name: "lead", model, tools: [pay] });
  const runtime = make({ store: slowly(store), approve: () => "later" });
  const open = rootId === "" || !isAnswered ? [] : await runtime.questions(rootId);
  const answers = Object.fromEntries(open.map(({ id }) => [id, { allow: true } as const]));
  const handle = rootId === "" ? runtime.run(lead, "Go.") : runtime.resume(rootId, { agent: lead, answers });
  rootId = handle.id;
  await handle.result;
  return { problems, events: await store.read(rootId), rootId };
}

/** A store that takes its time to write. */
function slowly(store: Store): Store {
  return new Proxy(store, {
    get(target, name) {
      if (name === "append")
        return async (...given: Parameters<Store["append"]>) => {
          await setTimeout(10);
          return target.append(...given);
        };
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** As if the person had been shown another input. */
function shownOther(events: readonly StoredEvent[]): StoredEvent[] {
  return events.map((event) => (event.type === "approval-request" ? { ...event, input: { amount: 1 } } : event));
}

/** All that goes wrong: with an answer, with one to another input, and with a stored one to another input. */
async function problemsWith(make = createRuntime): Promise<string[]> {
  const { events } = await live([], false);
  const answered = await live(events, true, make);
  const other = await live(shownOther(events), true, make);
  const upToAnswer = answered.events.slice(0, answered.events.findIndex(({ type }) => type === "approval-end") + 1);
  const stored = await live(shownOther(upToAnswer), false, make);
  return [answered, other, stored].flatMap(({ problems }) => problems);
}

suite("G7: an answer", () => {
  test("is stored before the tool runs, and holds for the input that was shown", async () => {
    assert.deepEqual(await problemsWith(), []);
  });

  const mutations: [what: string, mutation: Mutation, problem: RegExp][] = [
    ["an answer that is not stored first", { guard: "store-before-answer" }, /before the answer was stored/],
    [
      "an answer that holds for another input",
      { guard: "shown-input", replace: "const isSame = true;" },
      /input that was not shown/,
    ],
    [
      "a stored answer that holds for another input",
      { guard: "answered-input", replace: "if (isAnswered) return undefined;" },
      /input that was not shown/,
    ],
  ];
  for (const [what, mutation, problem] of mutations) {
    test(`G7: the test finds ${what}`, async () => {
      const mutant = await importWithout<typeof import("../../src/runtime.ts")>(
        import.meta.resolve("../../src/runtime.ts"),
        mutation,
      );
      assert.match((await problemsWith(mutant.createRuntime)).join("\n"), problem);
    });
  }
});
