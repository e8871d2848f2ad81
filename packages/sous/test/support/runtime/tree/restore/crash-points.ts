/** Kills a run in its thoughts: cuts its journal behind every event in turn, and lets another process go on from there. */

import assert from "node:assert/strict";
import { type AgentDefinition, type AgentOptions, agent } from "../../../../../src/core/agent.ts";
import type { EventOf, StoredEvent } from "../../../../../src/core/event.ts";
import type { ModelRequest } from "../../../../../src/core/model.ts";
import type { RunHandle, RunOptions, RunResult, RuntimeOptions } from "../../../../../src/core/runtime.ts";
import { NO_OWNER } from "../../../../../src/core/store.ts";
import type { Tool } from "../../../../../src/core/tool.ts";
import { createRuntime, type Runtime } from "../../../../../src/runtime.ts";
import { openMemoryStore } from "../../../../../src/storage/store/memory.ts";
import { checkHistory } from "../../../../../src/testing/checker.ts";
import { type ScriptedModel, scriptedModel } from "../../../../../src/testing/scripted-model.ts";
import type { Script } from "../../../../../src/testing/steps.ts";
import { createWorld } from "../../../../../src/testing/world.ts";
import { spansOf, traceProblems } from "../../../bridges/telemetry/traced.ts";
import { checkRequests } from "../../../testing/check-messages.ts";

/** Answers must follow from the request alone: the process that goes on knows nothing else. */
export type Scenario = {
  script: Script | (() => Script);
  tools?: (note: (callId: string) => void) => Tool[];
  agent?: Partial<AgentOptions>;
  run?: RunOptions;
  runtime?: RuntimeOptions;
  /** An unheard answer counts as spent, so there may be nothing left for last words. */
  mayLoseText?: boolean;
};

export type Life = {
  result: RunResult;
  events: readonly StoredEvent[];
  model: ScriptedModel;
  /** Calls whose tool really ran, in this process. */
  ran: readonly string[];
};

/** Lives once from beginning to end. */
export function live(scenario: Scenario): Promise<Life> {
  return inProcess(scenario, (runtime, lead, given) => runtime.run(lead, "Look around.", given), []);
}

/** Goes on where the journal was cut. */
export function goOn(scenario: Scenario, kept: readonly StoredEvent[]): Promise<Life> {
  const rootId = kept[0]?.runId ?? "";
  return inProcess(scenario, (runtime, lead, { onEvent }) => runtime.resume(rootId, { agent: lead, onEvent }), kept);
}

/** Cuts behind every event and compares what comes out with a life that was never cut. */
export async function cutEverywhere(scenario: Scenario): Promise<{ whole: Life; cuts: number }> {
  const whole = await live(scenario);
  let cuts = 0;
  for (let length = 1; length < whole.events.length; length++) {
    const kept = whole.events.slice(0, length);
    if (kept.some((event) => event.type === "run-end" && event.parentId === null)) break;
    const second = await goOn(scenario, kept);
    const where = `cut behind ${length}: ${whole.events[length - 1]?.type} of ${whole.events[length - 1]?.path}`;
    compare(whole, kept, second, where, scenario.mayLoseText === true && second.result.text === "");
    cuts += 1;
  }
  return { whole, cuts };
}

/** How every child ended, and with what words. */
function endsOf(events: readonly StoredEvent[]): string[] {
  return eventsOf(events, "run-end")
    .filter(({ parentId }) => parentId !== null)
    .map(({ path, status, text }) => `${path} ${status}: ${withoutIds(text, events)}`)
    .sort();
}

function compare(whole: Life, kept: readonly StoredEvent[], second: Life, where: string, isSilent: boolean): void {
  const journal = [...kept, ...second.events];
  assert.deepEqual(checkHistory(journal, { resultUsage: second.result.usage }), [], where);
  assert.deepEqual(checkRequests(second.model.requests), [], where);
  const processes = [kept, second.events].flatMap((events) => spansOf(events));
  assert.deepEqual(traceProblems(processes, journal), [], `F2: ${where}`);
  const { status, stopReason, output, error } = whole.result;
  const found = second.result;
  assert.deepEqual(
    { status: found.status, stopReason: found.stopReason, output: found.output, error: found.error?.type },
    { status, stopReason, output, error: error?.type },
    where,
  );
  if (!isSilent) assert.equal(withoutIds(found.text, journal), withoutIds(whole.result.text, whole.events), where);
  assert.deepEqual(pathsOf(journal), pathsOf(whole.events), `${where}: the same agents ran, each as often`);
  if (!isSilent) assert.deepEqual(endsOf(journal), endsOf(whole.events), `${where}: each child ended as it did`);
  // A question whose answer was kept is never asked again.
  const askedAgain = countBy(second.model.requests, ({ runId }) => runId);
  // Without a wait: an attempt of the process before, or a schema that was refused.
  const failed = eventsOf(second.events, "retry").filter(
    ({ delayMs, kind }) => delayMs > 0 || kind === "output_schema",
  );
  const answers = countBy([...eventsOf(second.events, "message-end"), ...failed], ({ runId }) => runId);
  assert.deepEqual(askedAgain, answers, `${where}: questions by run`);
  // A call whose result was kept is never made again, and no call is made twice in one process.
  const done = new Set(eventsOf(kept, "tool-call-end").map(({ callId }) => callId));
  assert.deepEqual(
    second.ran.filter((callId) => done.has(callId)),
    [],
    where,
  );
  assert.equal(new Set(second.ran).size, second.ran.length, where);
}

async function inProcess(
  scenario: Scenario,
  start: (runtime: Runtime, lead: AgentDefinition, given: RunOptions) => RunHandle,
  kept: readonly StoredEvent[],
): Promise<Life> {
  // Another process has other random numbers, and a clock that has gone on.
  const world = createWorld({
    seed: kept.length + 1,
    lateness: 0,
    startTime: Date.UTC(2026, 0, 1) + kept.length * 60_000,
  });
  const store = openMemoryStore();
  const [first] = kept;
  if (first !== undefined) store.append(first.runId, structuredClone(kept), NO_OWNER);
  const ran: string[] = [];
  const model = scriptedModel(typeof scenario.script === "function" ? scenario.script() : scenario.script, {
    clock: world.clock,
  });
  const lead = agent({
    name: "lead",
    model,
    delegate: true,
    tools: scenario.tools?.((callId) => ran.push(callId)) ?? [],
    ...scenario.agent,
  });
  const runtime = createRuntime({ host: world.host, ...scenario.runtime, store });
  const events: StoredEvent[] = [];
  const onEvent: RunOptions["onEvent"] = (event) => {
    if (event.seq !== undefined) events.push(event);
  };
  const result = await world.run(() => start(runtime, lead, { ...scenario.run, onEvent }).result);
  assert.equal(world.clock.liveTimers, 0, "a timer is left");
  return { result, events, model, ran };
}

/** How many results of this tool the asking run has read. */
export function resultsOf({ messages }: ModelRequest, toolName: string): string[] {
  return messages.flatMap((message) =>
    message.role === "tool"
      ? message.content.filter((part) => part.toolName === toolName).map(({ output }) => output)
      : [],
  );
}

function eventsOf<Type extends StoredEvent["type"]>(events: readonly StoredEvent[], type: Type) {
  return events.filter((event): event is Extract<StoredEvent, EventOf<Type>> => event.type === type);
}

function pathsOf(events: readonly StoredEvent[]): string[] {
  return eventsOf(events, "run-start")
    .map(({ path }) => path)
    .sort();
}

function countBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return counts;
}

/** Ids differ from life to life; paths do not. */
function withoutIds(text: string, events: readonly StoredEvent[]): string {
  let plain = text;
  for (const { agentId, path } of eventsOf(events, "run-start")) plain = plain.replaceAll(agentId, path);
  return plain;
}
