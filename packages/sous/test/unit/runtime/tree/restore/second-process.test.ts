/** Mistakes of a process that continues a tree: found by trees that were killed at random (`test/figures/r1-crashes.ts`). */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { EventOf, StoredEvent } from "../../../../../src/core/event.ts";
import type { ModelRequest } from "../../../../../src/core/model.ts";
import type { RunOptions } from "../../../../../src/core/runtime.ts";
import { NO_OWNER } from "../../../../../src/core/store.ts";
import { openMemoryStore } from "../../../../../src/storage/store/memory.ts";
import { checkHistory } from "../../../../../src/testing/checker.ts";
import { after, calls, hangs, says } from "../../../../../src/testing/steps.ts";
import { openStage, type Stage, type StageOptions, simpleTool } from "../../../../support/requirements/support.ts";
import { resultsOf } from "../../../../support/runtime/tree/restore/crash-points.ts";

/** What is kept of a life that was stopped behind the first event that matches. */
function cut(stage: Stage, matches: (event: StoredEvent) => boolean): StoredEvent[] {
  const events = stage.events.filter((event): event is StoredEvent => event.seq !== undefined);
  const index = events.findIndex(matches);
  assert.ok(index >= 0, "there is such an event");
  return events.slice(0, index + 1);
}

/** Another process, with a store that holds this tree. */
function nextStage(script: Parameters<typeof openStage>[0], kept: readonly StoredEvent[], options: StageOptions = {}) {
  const store = openMemoryStore();
  store.append(kept[0]?.runId ?? "", structuredClone(kept), NO_OWNER);
  return openStage(script, { seed: 2, ...options, runtime: { ...options.runtime, store } });
}

function ofType<Type extends StoredEvent["type"]>(events: readonly StoredEvent[], type: Type): EventOf<Type>[] {
  return events.filter((event) => event.type === type) as EventOf<Type>[];
}

async function lastWord(stage: Stage, kept: readonly StoredEvent[], options: Pick<RunOptions, "signal" | "onEvent">) {
  const id = kept[0]?.runId ?? "";
  const tools = [simpleTool("look"), simpleTool("write", () => "written", { tier: "confirm" })];
  const result = await stage.world.run(() => stage.runtime.resume(id, { agent: stage.lead({ tools }), ...options }));
  const all = await stage.store.read(id);
  assert.deepEqual(checkHistory(all, { resultUsage: result.usage }), []);
  return { result, all };
}

suite("G5: a process that continues", () => {
  test("H1: a process that continues counts children that had started before a new child can take their slots", async () => {
    const script = {
      lead: (request: ModelRequest) =>
        resultsOf(request, "parallel_subagent").length === 0
          ? calls("parallel_subagent", {
              tasks: ["a", "b", "c"].map((label) => ({ label, task_prompt: `Look at ${label}.` })),
            })
          : says("Done."),
      "lead/*": () => [after(10), says("Seen.")],
    };
    const first = openStage(script);
    await first.run(first.lead(), "Look.", { budget: { executions: 2 } });
    const kept = cut(first, ({ type, path }) => type === "turn-start" && path === "lead/b");
    const { all } = await lastWord(nextStage(script, kept), kept, {});
    assert.deepEqual(
      ofType(all, "run-end").map(({ path, status }) => [path, status]),
      [
        ["lead/a", "completed"],
        ["lead/b", "completed"],
        ["lead", "completed"],
      ],
    );
  });

  test("a process that continues and is stopped before it acts leaves no call without a result", async () => {
    const script = { lead: [calls("look"), says("Done.")] };
    const first = openStage(script);
    await first.run(first.lead({ tools: [simpleTool("look")] }));
    const kept = cut(first, ({ type }) => type === "tool-call-start");
    const { result, all } = await lastWord(nextStage(script, kept), kept, { signal: AbortSignal.abort() });
    assert.equal(result.status, "cancelled");
    assert.deepEqual(
      ofType(all, "tool-call-end").map(({ output }) => output),
      ["The call was cancelled"],
    );
  });

  const asksTwice = {
    lead: (request: ModelRequest) =>
      resultsOf(request, "subagent").length === 0
        ? calls("subagent", { label: "a", task_prompt: "Write." })
        : says("Done."),
    "lead/a": (request: ModelRequest) =>
      resultsOf(request, "write").length === 0
        ? [after(500), calls("write"), calls("write"), calls("look")]
        : [after(1_000), says("Written.")],
  };

  test("H4: a process that continues knows how long a child was at work when two questions waited for a person at once", async () => {
    const first = openStage(asksTwice, {
      runtime: {
        approve: () => new Promise((resolve) => first.world.clock.ownTimer(60_000, () => resolve({ allow: true }))),
      },
    });
    const write = simpleTool("write", () => "written", { tier: "confirm" });
    await first.run(first.lead({ tools: [write, simpleTool("look")] }));
    const kept = cut(first, ({ type, path, seq }) => type === "turn-start" && path === "lead/a" && seq > 10);
    const { all } = await lastWord(nextStage(asksTwice, kept), kept, {});
    assert.deepEqual(
      ofType(all, "resume").map(({ path, usedMs }) => [path, usedMs]),
      [
        ["lead", 0],
        ["lead/a", 500],
      ],
    );
  });

  test("H4: a process that continues does not count the time in which a person thought until the process ended", async () => {
    const first = openStage(asksTwice, { runtime: { approve: () => new Promise(() => {}) } });
    const waits = () => new Promise((resolve) => first.world.clock.ownTimer(9_000, () => resolve("seen")));
    const write = simpleTool("write", () => "written", { tier: "confirm" });
    first.when(
      ({ type }) => type === "tool-call-end",
      () => void handle.cancel(),
    );
    const handle = first.start(first.lead({ tools: [write, simpleTool("look", waits)] }));
    await first.end(handle);
    const kept = cut(first, ({ type }) => type === "tool-call-end");
    const stage = nextStage(asksTwice, kept, { runtime: { approve: async () => ({ allow: true }) } });
    const { all } = await lastWord(stage, kept, {});
    assert.deepEqual(
      ofType(all, "resume").map(({ path, usedMs }) => [path, usedMs]),
      [
        ["lead", 0],
        ["lead/a", 500],
      ],
    );
  });

  test("H4: a process that continues counts the time in which a person thought for the root, whose clock never stands still", async () => {
    const script = {
      lead: [
        [after(500), calls("write")],
        [after(1_000), says("Done.")],
      ],
    };
    const first = openStage(script, {
      runtime: {
        approve: () => new Promise((resolve) => first.world.clock.ownTimer(60_000, () => resolve({ allow: true }))),
      },
    });
    await first.run(first.lead({ tools: [simpleTool("write", () => "written", { tier: "confirm" })] }));
    const kept = cut(first, ({ type, seq }) => type === "turn-start" && seq > 2);
    const { all } = await lastWord(nextStage(script, kept), kept, {});
    assert.deepEqual(
      ofType(all, "resume").map(({ usedMs }) => usedMs),
      [60_500],
    );
  });

  test("B8: a process that continues ends a child in the background that is stopped before it gets its slot again", async () => {
    const script = {
      lead: (request: ModelRequest) =>
        resultsOf(request, "subagent").length === 0
          ? ["a", "b"].map((label) => calls("subagent", { label, task_prompt: `As ${label}.`, background: true }))
          : says("I wait."),
      // While it waits for its own child, the other has its place.
      "lead/a": (request: ModelRequest) =>
        resultsOf(request, "subagent").length === 0
          ? calls("subagent", { label: "c", task_prompt: "Below." })
          : hangs(),
      "lead/b": [hangs()],
    };
    const first = openStage(script);
    const handle = first.start(first.lead(), "Go.", { limits: { maxConcurrent: 1 } });
    first.when(
      ({ type, path }) => type === "turn-start" && path === "lead/b",
      () => void handle.cancel(),
    );
    await first.end(handle);
    const kept = cut(first, ({ type, path }) => type === "turn-start" && path === "lead/b");
    const stage = nextStage(script, kept);
    const stop = new AbortController();
    const { result, all } = await lastWord(stage, kept, {
      signal: stop.signal,
      onEvent: ({ type, path }) => void (type === "resume" && path === "lead/a" && stop.abort()),
    });
    assert.equal(result.status, "cancelled");
    assert.deepEqual(
      ofType(all, "run-end")
        .map(({ path, status }) => [path, status])
        .toSorted(),
      [
        ["lead", "cancelled"],
        ["lead/a", "cancelled"],
        ["lead/b", "cancelled"],
      ],
    );
  });

  test("B8: a process that continues reports the end of a child in the background that it may not continue", async () => {
    const script = {
      lead: (request: ModelRequest) =>
        resultsOf(request, "subagent").length === 0
          ? calls("subagent", { label: "a", task_prompt: "Go deeper." })
          : says(resultsOf(request, "subagent")[0] ?? ""),
      "lead/a": (request: ModelRequest) => {
        const heard = request.messages
          .filter(({ role }) => role === "user")
          .map(({ content }) => JSON.stringify(content));
        if (heard.length > 1) return says(heard[1] ?? "");
        const isBegun = resultsOf(request, "subagent").length > 0;
        return isBegun ? says("I wait.") : calls("subagent", { label: "b", task_prompt: "Help.", background: true });
      },
      "lead/a/b": [hangs()],
    };
    const first = openStage(script);
    const handle = first.start(first.lead());
    first.when(
      ({ type, path, seq = 0 }) => type === "message-end" && path === "lead/a" && seq > 10,
      () => void handle.cancel(),
    );
    await first.end(handle);
    const kept = cut(first, ({ type, path, seq }) => type === "message-end" && path === "lead/a" && seq > 10);
    // Somebody has allowed less meanwhile.
    const stage = nextStage(script, kept, { runtime: { limits: { maxDepth: 1 } } });
    const { result, all } = await lastWord(stage, kept, {});
    assert.equal(result.status, "completed");
    assert.match(result.text, /Report of the background subagent b:.*was not continued/);
    assert.equal(ofType(all, "report").length, 1);
  });

  test("H1: a process that continues counts the question of a child that is not continued as spent", async () => {
    const script = {
      lead: (request: ModelRequest) => (resultsOf(request, "crew").length === 0 ? calls("crew") : says("Alone.")),
      "lead/*": [[after(10), says("Here.")]],
    };
    const crew = simpleTool("crew", async (_input, { spawn }) => (await spawn({ label: "mate", task: "Help." })).kind, {
      effect: "unsafe",
    });
    const first = openStage(script);
    await first.run(first.lead({ tools: [crew] }), "Go.", { budget: { tokens: 50_000 } });
    const kept = cut(first, ({ type, depth }) => type === "turn-start" && depth === 1);
    const asked = ofType(kept, "turn-start").find(({ depth }) => depth === 1);
    const stage = nextStage(script, kept);
    const id = kept[0]?.runId ?? "";
    const result = await stage.world.run(() => stage.runtime.resume(id, { agent: stage.lead({ tools: [crew] }) }));
    const all = await stage.store.read(id);
    assert.deepEqual(checkHistory(all, { resultUsage: result.usage }), []);
    const end = ofType(all, "run-end").find(({ depth }) => depth === 1);
    assert.deepEqual([end?.status, end?.usage.totalTokens], ["cancelled", asked?.reserved]);
    assert.equal(result.usage.estimated, true);
  });

  test("a process that continues continues a follow-up that was interrupted, though the first run of the root had completed", async () => {
    const script = { lead: ({ messages }: ModelRequest) => says(messages.length === 1 ? "First." : "Second.") };
    const first = openStage(script);
    const handle = first.start(first.lead());
    await first.end(handle);
    await first.world.run(() => handle.followUp("And then?"));
    const kept = cut(first, ({ type, seq }) => type === "turn-start" && seq > 4);
    const { result } = await lastWord(nextStage(script, kept), kept, {});
    assert.deepEqual([result.status, result.text], ["completed", "Second."]);
    assert.notEqual(result.runId, kept[0]?.runId);
  });

  test("a process that continues refuses a tree that was not kept, by whichever of the runs of its root it is named", async () => {
    const first = openStage({ lead: [says("First."), says("Second.")] });
    const handle = first.start(first.lead());
    await first.end(handle);
    await first.world.run(() => handle.followUp("And then?"));
    const kept = cut(first, ({ type, seq }) => type === "turn-start" && seq > 4);
    const stage = nextStage({}, kept);
    const id = kept[0]?.runId ?? "";
    await stage.store.markLost(id, "The disk was full.");
    await assert.rejects(Promise.resolve(stage.runtime.resume(kept.at(-1)?.runId ?? "", { agent: stage.lead() })), {
      message: `Run ${id} cannot be resumed, because not all of it was stored. The disk was full.`,
    });
  });
});
