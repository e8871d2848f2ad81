/** A stored tree that is damaged is not resumed: a call that cannot be read, or stands elsewhere, would be made again. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { StoredEvent } from "../../../../../src/core/event.ts";
import type { Store } from "../../../../../src/core/store.ts";
import { createRuntime } from "../../../../../src/index.ts";
import { EarlierTree } from "../../../../../src/runtime/tree/restore/earlier-tree.ts";
import { openMemoryStore } from "../../../../../src/storage/store/memory.ts";
import { type SampleTree, sampleTree } from "../../../../../src/testing/sample-tree.ts";

suite("B8.2: the events of a tree that is resumed", () => {
  test("a whole tree is read, wherever its process died", () => {
    const { events } = family();
    for (let last = 1; last <= events.length; last++) assert.ok(new EarlierTree("lead", events.slice(0, last)));
  });

  const damages: readonly [what: string, damage: (events: StoredEvent[]) => unknown, fault: string][] = [
    ["an event is gone", (events) => events.splice(3, 1), "Event 4 of tree lead is missing in the store"],
    ["the first event is gone", (events) => events.splice(0, 1), "Event 1 of tree lead is missing in the store"],
    [
      "two events of a call change places",
      (events) => swap(events, 3, 7),
      "Event 4 of run lead (tool-call-end) ends a call that is not open",
    ],
    [
      "a call begins before it was asked for",
      (events) => swap(events, 2, 3),
      "Event 3 of run lead (tool-call-start) begins a call that was not asked for, or begins it twice",
    ],
    [
      "a call begins twice",
      (events) => copy(events, 3, 4),
      "Event 5 of run lead (tool-call-start) begins a call that was not asked for, or begins it twice",
    ],
    [
      "an event belongs to a run that has ended",
      (events) => Object.assign(events[7] ?? {}, { runId: "scout" }),
      "Event 8 of run scout (tool-call-end) comes after the end of its run",
    ],
    [
      "an event belongs to no run",
      (events) => Object.assign(events[5] ?? {}, { runId: "other" }),
      "Event 6 of run other (turn-start) comes before the start of its run",
    ],
    [
      "a run starts twice",
      (events) => copy(events, 4, 5),
      "Event 6 of run scout (run-start) starts its run a second time",
    ],
    [
      "the root has another id",
      (events) => Object.assign(events[0] ?? {}, { runId: "other" }),
      "Event 1 of run other (run-start) is of an agent that is not there",
    ],
    [
      "a child has another parent",
      (events) => Object.assign(events[4] ?? {}, { parentId: "other" }),
      "Event 5 of run scout (run-start) comes before the start of its parent",
    ],
    [
      "the path of the root is another",
      (events) => Object.assign(events[0] ?? {}, { path: "other" }),
      "Event 5 of run scout (run-start) has a path that is not below its parent",
    ],
  ];
  for (const [what, damage, fault] of damages)
    test(`a damaged tree is not resumed: ${what}`, () => {
      const events = structuredClone([...family().events]);
      damage(events);
      assert.throws(() => new EarlierTree("lead", events), { name: "StoreError", message: fault });
    });

  test("the library refuses to resume a damaged run, without a claim on it", async () => {
    const memory = openMemoryStore();
    await memory.append("lead", family().events);
    await memory.release("lead", 1);
    const damaged: Store = Object.assign(Object.create(memory), {
      append: memory.append.bind(memory),
      run: async (id: string) => ({ ...(await memory.run(id)), damage: "Run lead is damaged in the store." }),
      claim: assert.fail,
    });
    const gone: Store = Object.assign(Object.create(memory), {
      run: memory.run.bind(memory),
      read: async () => (await memory.read("lead")).toSpliced(3, 1),
      claim: assert.fail,
    });
    const why = "Run lead cannot be resumed, because it is damaged.";
    for (const [store, reason] of [
      [damaged, "Run lead is damaged in the store."],
      [gone, "Event 4 of tree lead is missing in the store"],
    ] as const) {
      await assert.rejects(createRuntime({ store }).resume("lead").result, { message: `${why} ${reason}` });
    }
  });
});

/** A lead that asked for a child and has its report. */
function family(): SampleTree {
  const tree = sampleTree("lead");
  const call = { callId: "call_1", toolName: "subagent" };
  tree.start("lead");
  tree.add("lead", { type: "turn-start", turn: 1, promptTokens: 10, reserved: 0 });
  tree.add("lead", {
    type: "message-end",
    turn: 1,
    message: { role: "assistant", content: [{ type: "tool-call", ...call, input: {} }] },
    finish: "tool-calls",
    usage: {
      inputTokens: 1,
      outputTokens: 1,
      cachedInputTokens: 0,
      cacheWriteTokens: 0,
      totalTokens: 2,
      estimated: false,
    },
    costUsd: 0,
  });
  tree.add("lead", { type: "tool-call-start", ...call, input: {} });
  tree.start("scout", { parent: "lead" });
  tree.add("scout", { type: "turn-start", turn: 1, promptTokens: 10, reserved: 0 });
  tree.end("scout");
  tree.add("lead", { type: "tool-call-end", ...call, output: "Seen.", isError: false, durationMs: 1 });
  return tree;
}

/** Exchanges what two events say; their numbers stay in order. */
function swap(events: StoredEvent[], one: number, other: number): void {
  const [first, second] = [events[one], events[other]];
  if (first === undefined || second === undefined) throw new Error("There are no such events");
  events[one] = { ...second, seq: first.seq };
  events[other] = { ...first, seq: second.seq };
}

/** The second event says what the first does. */
function copy(events: StoredEvent[], from: number, to: number): void {
  const [first, second] = [events[from], events[to]];
  if (first === undefined || second === undefined) throw new Error("There are no such events");
  events[to] = { ...first, seq: second.seq };
}
