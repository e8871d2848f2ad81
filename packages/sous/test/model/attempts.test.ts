/** What an attempt leaves behind must not reach the next one. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { agent } from "../../src/core/agent.ts";
import { ModelError } from "../../src/core/errors.ts";
import type { SousEvent, StoredEvent } from "../../src/core/event.ts";
import type { Model, ModelAnswer, ModelRequest, OnDelta } from "../../src/core/model.ts";
import type { RunResult } from "../../src/core/runtime.ts";
import { noUsage } from "../../src/core/usage.ts";
import { run } from "../../src/runtime.ts";
import { openMemoryStore } from "../../src/store/memory.ts";
import { wrapStore } from "../../src/testing/wrap-store.ts";

/** The first attempt fails after some words and goes on talking into the second. */
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
