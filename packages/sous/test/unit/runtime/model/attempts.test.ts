/** Remains of an attempt must not reach the next one. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { agent } from "../../../../src/core/agent.ts";
import { ModelError, StaleOwner } from "../../../../src/core/errors.ts";
import type { SousEvent, StoredEvent } from "../../../../src/core/event.ts";
import type { Model, ModelAnswer, ModelRequest, OnDelta } from "../../../../src/core/model.ts";
import { RunError, type RunResult } from "../../../../src/core/runtime.ts";
import { noUsage } from "../../../../src/core/usage.ts";
import { run } from "../../../../src/runtime.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { fails, says } from "../../../../src/testing/steps.ts";
import { runTree } from "../../../support/requirements/run-tree.ts";
import { wrapStore } from "../../../support/testing/faults.ts";

/** The first attempt fails after some words and talks into the second. */
function talkative(onAttempt: (attempt: number) => void = () => {}): Model {
  const earlier: OnDelta[] = [];
  return {
    id: "fake/talkative",
    async answer(_request, onDelta) {
      earlier.push(onDelta);
      onAttempt(earlier.length);
      onDelta("text", earlier.length === 1 ? "Half of" : "All ");
      if (earlier.length === 1) throw new ModelError("interrupted", "cut", { retryAfterMs: 0 });
      earlier[0]?.("text", " it");
      onDelta("text", "of it.");
      return {
        message: { role: "assistant", content: [{ type: "text", text: "All of it." }] },
        finish: "stop",
        usage: undefined,
      };
    },
  };
}

test("words of an attempt that has failed are not heard in the next one", async () => {
  const shown: SousEvent[] = [];
  const { text } = await run(agent({ name: "lead", model: talkative() }), "Go", {
    onEvent: (event) => shown.push(event),
  });
  const words = shown.flatMap((event) =>
    event.type === "text-delta" ? [event.text] : event.type === "retry" ? ["|"] : [],
  );
  assert.deepEqual([text, words], ["All of it.", ["Half of", "|", "All ", "of it."]]);
});

test("F5: each attempt is charged for its own words, where the provider gives no figure", async () => {
  const { usage } = await run(agent({ name: "lead", model: talkative() }), "Go");
  assert.equal(usage.outputTokens, Math.ceil("Half of".length / 3) + Math.ceil("All of it.".length / 3));
});

test("H1: the tokens of a failed attempt may leave too little for the next one, and that is no fault of the model", async () => {
  const model: Model = {
    id: "fake/wordy",
    async answer(_request, onDelta) {
      onDelta("text", "word ".repeat(2_000));
      throw new ModelError("interrupted", "cut", { retryAfterMs: 0 });
    },
  };
  const { status } = await run(agent({ name: "lead", model }), "Go", {
    budget: { tokens: 3_000 },
    onExhausted: "stop",
  });
  assert.equal(status, "budget_exceeded");
});

test("a model is asked again only when its failure is kept", async () => {
  const kept: StoredEvent[] = [];
  const memory = openMemoryStore();
  const slow = wrapStore(memory, {
    isImmediate: false,
    async append(rootId, events) {
      await new Promise((resolve) => setImmediate(resolve));
      await memory.append(rootId, events);
      kept.push(...events);
    },
  });
  const keptAt: string[][] = [];
  const model = talkative(() => keptAt.push(kept.map(({ type }) => type)));
  await run(agent({ name: "lead", model }), "Go", { store: slow });
  assert.deepEqual(keptAt, [
    ["run-start", "turn-start"],
    ["run-start", "turn-start", "retry"],
  ]);
});

test("a store that is lost before the question is no fault of the model, which is not asked", async () => {
  const memory = openMemoryStore();
  const lost = wrapStore(memory, {
    append(rootId, events) {
      if (events.some(({ type }) => type === "turn-start")) throw new StaleOwner("Somebody else goes on with it");
      return memory.append(rootId, events);
    },
  });
  const ends: unknown[] = [];
  let asked = 0;
  const lead = agent({ name: "lead", model: talkative(() => (asked += 1)) });
  const ending = run(lead, "Go", {
    store: lost,
    requireStore: true,
    onEvent: (event) => void (event.type === "run-end" && ends.push(event.fault?.type, event.fault?.message)),
  });
  await assert.rejects(async () => ending, RunError);
  assert.deepEqual([asked, ends], [0, ["store", "Somebody else goes on with it"]]);
});

const usage = {
  inputTokens: 900,
  outputTokens: 12,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  totalTokens: 912,
  estimated: false,
};
const late: ModelAnswer = {
  message: { role: "assistant", content: [{ type: "text", text: "Too late." }] },
  finish: "stop",
  usage,
};

/** Asks the model once, in a run that is stopped while it is asked. */
async function askAndStop(answer: (request: ModelRequest, stop: () => void) => unknown): Promise<RunResult> {
  const stop = new AbortController();
  const model = { id: "fake/late", answer: (request: ModelRequest) => answer(request, () => stop.abort()) } as Model;
  return run(agent({ name: "lead", model }), "Go", { signal: stop.signal });
}

/** When the run is stopped. */
const stopped = ({ signal }: ModelRequest): Promise<void> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve()));

const whoAnswersLate: Record<string, Parameters<typeof askAndStop>[0]> = {
  "in the moment its run is stopped": async (_request, stop) => {
    stop();
    return late;
  },
  "right after that": (_request, stop) => {
    const { promise, resolve } = Promise.withResolvers<ModelAnswer>();
    setImmediate(() => {
      stop();
      resolve(late);
    });
    return promise;
  },
  "because the model heeds its signal": async (request, stop) => {
    setImmediate(stop);
    await stopped(request);
    return late;
  },
};

for (const [when, answer] of Object.entries(whoAnswersLate)) {
  test(`F5: an answer that comes ${when} is paid for, and not used`, async () => {
    const result = await askAndStop(answer);
    assert.deepEqual([result.status, result.text, result.usage], ["cancelled", "", usage]);
  });
}

test("F5: a late answer with a bill that cannot be gives no budget back", async () => {
  const result = await askAndStop(async (_request, stop) => {
    stop();
    return { ...late, usage: { ...usage, outputTokens: -5_000, totalTokens: -4_100 } };
  });
  assert.deepEqual([result.status, result.usage], ["cancelled", noUsage()]);
});

test("an attempt ends once, also when a model fails and then throws in what it returned for a promise", async () => {
  let asked = 0;
  const model = {
    id: "fake/thenable",
    answer() {
      asked += 1;
      if (asked > 1) return { ...late, finish: "stop" };
      return {
        // biome-ignore lint/suspicious/noThenProperty: what looks like a promise is what is shown.
        then(_resolve: unknown, reject: (error: unknown) => void) {
          reject(new ModelError("interrupted", "cut", { retryAfterMs: 0 }));
          throw new Error("and then this");
        },
      };
    },
  } as unknown as Model;
  const { status, text } = await run(agent({ name: "lead", model }), "Go");
  assert.deepEqual([status, text, asked], ["completed", "Too late.", 2]);
});

test("C9: a run that is stopped while its question is being kept does not ask it", async () => {
  const stop = new AbortController();
  const memory = openMemoryStore();
  const slow = wrapStore(memory, {
    isImmediate: false,
    async append(rootId, events) {
      if (events.some(({ type }) => type === "turn-start")) stop.abort();
      await memory.append(rootId, events);
    },
  });
  let asked = 0;
  const lead = agent({ name: "lead", model: talkative(() => (asked += 1)) });
  const { status } = await run(lead, "Go", { store: slow, signal: stop.signal });
  assert.deepEqual([status, asked], ["cancelled", 0]);
});

test("C9: each attempt is told when its run is stopped", async () => {
  const stop = new AbortController();
  const signals: AbortSignal[] = [];
  const model: Model = {
    id: "fake/asked-twice",
    async answer({ signal }) {
      signals.push(signal);
      if (signals.length === 1) throw new ModelError("interrupted", "cut", { retryAfterMs: 0 });
      setImmediate(() => stop.abort());
      return new Promise(() => {});
    },
  };
  await run(agent({ name: "lead", model }), "Go", { signal: stop.signal });
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [false, true],
  );
});

test("a turn lets go what its model was given and gave back when it ends", async () => {
  setFlagsFromString("--expose-gc");
  const gc: () => void = runInNewContext("gc");
  const refs: WeakRef<object>[] = [];
  let left: boolean[] = [];
  const model: Model = {
    id: "fake/turns",
    async answer({ signal }) {
      if (refs.length === 4) {
        await new Promise((resolve) => setImmediate(resolve));
        gc();
        left = refs.map((ref) => ref.deref() !== undefined);
        return late;
      }
      const answer = callOf(`call_${refs.length}`);
      refs.push(new WeakRef(signal), new WeakRef(answer));
      return answer;
    },
  };
  await run(agent({ name: "lead", model }), "Go");
  assert.deepEqual(left, [false, false, false, false]);
});

test("a run that is stopped while it waits for the next attempt leaves no timer", async () => {
  const { stage, result } = await runTree({
    script: { lead: [fails("rate_limit", { retryAfterMs: 60_000 }), says("Too late.")] },
    during: ({ handle, at }) => at(1_000, () => handle.cancel()),
  });
  assert.equal(result.status, "cancelled");
  assert.equal(stage.model.requests.length, 1);
  assert.equal(stage.world.clock.liveTimers, 0);
});

function callOf(callId: string): ModelAnswer {
  const call = { type: "tool-call", callId, toolName: "nothing", input: {} } as const;
  return { message: { role: "assistant", content: [call] }, finish: "tool-calls", usage };
}
