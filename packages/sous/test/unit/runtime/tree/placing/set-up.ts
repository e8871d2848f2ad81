/** A runtime and workers on one store in memory, each with models of the same script. */

import { agent } from "../../../../../src/core/agent.ts";
import type { EventOf, StoredEvent } from "../../../../../src/core/event.ts";
import type { RuntimeOptions } from "../../../../../src/core/runtime.ts";
import { storeEngine } from "../../../../../src/runtime/tree/placing/store-engine.ts";
import { runtimeOn } from "../../../../../src/runtime.ts";
import { openMemoryStore } from "../../../../../src/storage/store/memory.ts";
import { scriptedModel } from "../../../../../src/testing/scripted-model.ts";
import type { Script } from "../../../../../src/testing/steps.ts";

const model = "scripted/one";
const deep = agent({ name: "deep", description: "Digs.", model, tools: [], place: "worker" });
export const scout = agent({
  name: "scout",
  description: "Looks.",
  model,
  tools: [],
  subagents: [deep],
  place: "worker",
});
export const lead = agent({ name: "lead", model, tools: [], subagents: [scout], delegate: true });

export function setUp(script: Script, options: Partial<RuntimeOptions> = {}) {
  const store = openMemoryStore();
  const asked = new Map<string, number>();
  const models = () => {
    const scripted = scriptedModel(script);
    return { ...scripted, answer: count(scripted.answer.bind(scripted), asked) };
  };
  const shared = { store, engine: storeEngine(store), agents: [deep, scout, lead], ...options };
  const another = (own: Partial<RuntimeOptions> = {}) => runtimeOn(models, { ...shared, ...own });
  return { store, asked, models, root: another(), another };
}

type Answer = ReturnType<typeof scriptedModel>["answer"];

/** Counts the questions of each run by its path. */
function count(answer: Answer, asked: Map<string, number>): Answer {
  return (request, ...rest) => {
    const { path } = request.caller;
    asked.set(path, (asked.get(path) ?? 0) + 1);
    return answer(request, ...rest);
  };
}

export async function eventsOf(
  store: ReturnType<typeof openMemoryStore>,
  rootId: string,
  path: string,
): Promise<StoredEvent[]> {
  const record = (await store.tree(rootId)).find((each) => each.path === path);
  return record === undefined ? [] : [...(await store.read(record.journalId, { runId: record.id }))];
}

export function endOf(events: readonly StoredEvent[]): EventOf<"run-end"> | undefined {
  return events.find((event) => event.type === "run-end");
}
