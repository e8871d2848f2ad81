/** A tree that parks for an answer, whose tool says when the answer does not count for what the person has seen. */

import { setTimeout } from "node:timers/promises";
import { agent } from "../../../../../src/core/agent.ts";
import type { EventOf, StoredEvent } from "../../../../../src/core/event.ts";
import { NO_OWNER, type Store } from "../../../../../src/core/store.ts";
import { type Tool, tool } from "../../../../../src/core/tool.ts";
import { createRuntime } from "../../../../../src/runtime.ts";
import { openMemoryStore } from "../../../../../src/storage/store/memory.ts";
import { scriptedModel } from "../../../../../src/testing/scripted-model.ts";
import { calls, says } from "../../../../../src/testing/steps.ts";
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
    origin: { server: "bank", tool: "pay", definition: "1" },
    inputSchema: { type: "object", properties: { amount: { type: "number" } } },
    async execute(input: { amount?: number | undefined }) {
      const events = await store.read(rootId);
      const asked = events.findLast((event) => event.type === "approval-request");
      if (asked?.type === "approval-request" && (asked.input as typeof input).amount !== input.amount)
        problems.push("ran on an input that was not shown");
      if (asked?.type === "approval-request" && asked.origin?.definition !== "1")
        problems.push("ran by a definition that was not asked about");
      if (asked?.type === "approval-request" && asked.target !== undefined)
        problems.push("ran on a target that was not shown");
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

/** As if the person had been asked about something else. */
type Change = Partial<Pick<EventOf<"approval-request">, "input" | "origin" | "target">>;

const OTHERS: readonly Change[] = [
  { input: { amount: 1 } },
  { origin: { server: "bank", tool: "pay", definition: "2" } },
  { origin: undefined },
  // The tool is about no file, so it does not lead there.
  { target: { paths: ["/elsewhere"] } },
];

function askedOther(events: readonly StoredEvent[], change: Change): StoredEvent[] {
  return events.map((event) => (event.type === "approval-request" ? { ...event, ...change } : event));
}

/** All that goes wrong: with an answer, with one to another question, and with a stored one to another question. */
export async function answerProblems(make = createRuntime): Promise<string[]> {
  const { events } = await live([], false);
  const answered = await live(events, true, make);
  const upToAnswer = answered.events.slice(0, answered.events.findIndex(({ type }) => type === "approval-end") + 1);
  const others = await Promise.all(
    OTHERS.flatMap((change) => [
      live(askedOther(events, change), true, make),
      live(askedOther(upToAnswer, change), false, make),
    ]),
  );
  return [answered, ...others].flatMap(({ problems }) => problems);
}
