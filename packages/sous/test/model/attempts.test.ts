/** What an attempt leaves behind must not reach the next one. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { agent } from "../../src/core/agent.ts";
import { ModelError } from "../../src/core/errors.ts";
import type { SousEvent, StoredEvent } from "../../src/core/event.ts";
import type { Model, OnDelta } from "../../src/core/model.ts";
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

test("F5: an answer that comes in the moment its run is stopped is paid for, and not used", async () => {
  const stop = new AbortController();
  const usage = {
    inputTokens: 900,
    outputTokens: 12,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    totalTokens: 912,
    estimated: false,
  };
  const model: Model = {
    id: "fake/late",
    async answer() {
      stop.abort();
      return { message: { role: "assistant", content: [{ type: "text", text: "Too late." }] }, finish: "stop", usage };
    },
  };
  const result = await run(agent({ name: "lead", model }), "Go", { signal: stop.signal });
  assert.deepEqual([result.status, result.text, result.usage], ["cancelled", "", usage]);
});
