/** The conversations of a store: what G1 says is kept, and the verbs of G2. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../src/core/store.ts";
import { conversations } from "../../src/store/conversations.ts";
import { openMemoryStore } from "../../src/store/memory.ts";
import { sampleTree } from "../../src/testing/sample-tree.ts";
import { EVERY_EVENT } from "../core/every-event.ts";
import { CHILD, exportedText, FOLLOW_UP, ROOT, wholeTree } from "./exported-tree.ts";

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 0, 31);

function threeTrees(): Store {
  const store = openMemoryStore();
  for (const [rootId, time, isEnded] of [
    ["old", NOW - 40 * 24 * HOUR, true],
    ["middle", NOW - 10 * HOUR, true],
    ["fresh", NOW - 60_000, false],
  ] as const) {
    const tree = sampleTree(rootId, time);
    tree.start(rootId);
    tree.start(`${rootId}-child`, { parent: rootId, label: "scout" });
    tree.start(`${rootId}-grandchild`, { parent: `${rootId}-child`, label: "grepper" });
    tree.start(`${rootId}-sibling`, { parent: rootId, label: "writer" });
    tree.turn(`${rootId}-child`, "Seen.", { inputTokens: 5, outputTokens: 2, totalTokens: 7 });
    tree.end(`${rootId}-grandchild`);
    if (isEnded)
      for (const run of ["child", "sibling"])
        tree.end(`${rootId}-${run}`, { stopReason: "turns", status: "incomplete" });
    if (isEnded) tree.end(rootId);
    store.append(rootId, tree.events);
  }
  return store;
}

const ids = (found: readonly { id: string }[]) => found.map(({ id }) => id);

test("G1: a run is kept with its place, its times, its messages and everything that was counted", async () => {
  const store = openMemoryStore();
  const tree = sampleTree("lead", Date.UTC(2026, 0, 1));
  tree.start("lead");
  tree.start("scout", {
    parent: "lead",
    details: { summaryPrompt: "In one word.", task: { role: "user", content: [{ type: "text", text: "Look." }] } },
  });
  tree.turn("scout", "A wall.", { inputTokens: 10, outputTokens: 2, totalTokens: 12 });
  tree.add("scout", { type: "notice", reason: "summary", text: "In one word." });
  const tokens = {
    inputTokens: 10,
    outputTokens: 2,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    totalTokens: 12,
    estimated: false,
  };
  tree.end("scout", {
    status: "incomplete",
    stopReason: "turns",
    turns: 1,
    toolCount: 2,
    costUsd: 0.25,
    usage: tokens,
  });
  store.append("lead", tree.events);
  assert.deepEqual(await conversations(store).get("scout"), {
    id: "scout",
    parentId: "lead",
    rootId: "lead",
    agentId: "scout",
    path: "lead/scout",
    label: "scout",
    depth: 1,
    cwd: undefined,
    startedAt: "2026-01-01T00:00:00.002Z",
    endedAt: "2026-01-01T00:00:00.006Z",
    metadata: {
      status: "incomplete",
      stopReason: "turns",
      maxTurnsReached: true,
      turns: 1,
      toolCount: 2,
      tokens,
      costUsd: 0.25,
      durationMs: 4,
      model: "scripted/model",
      task: "Look.",
      summaryPrompt: "In one word.",
      allowedTools: ["grep"],
      lost: undefined,
    },
    messages: [
      { role: "user", content: [{ type: "text", text: "Look." }] },
      { role: "assistant", content: [{ type: "text", text: "A wall." }] },
      { role: "user", content: [{ type: "text", text: "In one word." }] },
    ],
  });
  const running = await conversations(store).get("lead");
  assert.deepEqual(
    [running?.endedAt, running?.metadata.durationMs, running?.metadata.status],
    [undefined, undefined, "running"],
  );
  assert.equal(await conversations(store).get("nobody"), undefined);
});

test("G1: the messages of a follow-up and of a fork begin with what they went on from", async () => {
  const store = openMemoryStore();
  store.append(ROOT, wholeTree());
  const roles = async (id: string) => (await conversations(store).get(id))?.messages.map(({ role }) => role);
  // The answer and its result were pruned.
  assert.deepEqual(await roles(ROOT), ["user", "user", "user", "user"]);
  assert.deepEqual(await roles(FOLLOW_UP), ["user", "user", "user", "user", "user"]);
  assert.deepEqual(await roles(CHILD), ["user", "user", "assistant", "tool"]);
  const branch = openMemoryStore();
  const { "run-start": start } = EVERY_EVENT;
  branch.append(start.runId, [{ ...start, seq: 1 }]);
  const { messages } = (await conversations(branch).get(start.runId)) ?? {};
  assert.deepEqual(messages, [...(start.origin?.kind === "branch" ? start.origin.history : []), start.task]);
});

test("runs that continue one another in a circle, or an unknown run, still have an end", async () => {
  const store = openMemoryStore();
  const tree = sampleTree("one");
  tree.start("one", { details: { origin: { kind: "follow-up", runId: "two" } } });
  tree.start("two", { details: { origin: { kind: "follow-up", runId: "one" } } });
  tree.start("three", { details: { origin: { kind: "fork", runId: "three", messages: 9 } } });
  tree.start("four", { details: { origin: { kind: "follow-up", runId: "nobody" } } });
  store.append("one", tree.events);
  const lengths = await Promise.all(
    ["one", "two", "three", "four"].map(async (id) => (await conversations(store).get(id))?.messages.length),
  );
  assert.deepEqual(lengths, [1, 2, 1, 1]);
});

test("G2: runs are listed newest first, by pages and filters, without their messages", async () => {
  const { list } = conversations(threeTrees());
  assert.deepEqual(ids(await list({ rootsOnly: true })), ["fresh", "middle", "old"]);
  assert.deepEqual(ids(await list({ rootsOnly: true, limit: 1, offset: 1 })), ["middle"]);
  assert.deepEqual(ids(await list({ status: "running" })), ["fresh-sibling", "fresh-child", "fresh"]);
  assert.deepEqual(ids(await list({ rootsOnly: true, since: NOW - HOUR })), ["fresh"]);
  assert.deepEqual(ids(await list({ rootsOnly: true, since: "2026-01-30T00:00:00Z" })), ["fresh", "middle"]);
  const [first] = await list();
  assert.equal(first !== undefined && "messages" in first, false);
});

test("a question that makes no sense is refused in words", async () => {
  const { list, prune } = conversations(threeTrees());
  const refused: [Promise<unknown>, string][] = [
    [list({ limit: -1 }), "limit must be a whole number of at least 0; found -1"],
    [list({ offset: 0.5 }), "offset must be a whole number of at least 0; found 0.5"],
    [list({ since: "soon" }), 'since must be a time such as 2026-11-15T12:00:00Z; found "soon"'],
    [prune({ olderThan: "soon" }), 'olderThan must be milliseconds or a time such as 12h or 30d; found "soon"'],
    [prune({ olderThan: -1 }), "olderThan must be milliseconds or a time such as 12h or 30d; found -1"],
    [prune({ olderThan: "" }), 'olderThan must be milliseconds or a time such as 12h or 30d; found ""'],
  ];
  for (const [asked, message] of refused) await assert.rejects(asked, { name: "UserError", message });
  await assert.rejects(list({ status: "done" as "failed" }), {
    name: "UserError",
    message: /^status must be "running" or/,
  });
});

test("G2: children are those a run has started itself, a tree is everything at and below a run", async () => {
  const { children, tree } = conversations(threeTrees());
  assert.deepEqual(ids(await children("old")), ["old-child", "old-sibling"]);
  assert.deepEqual(ids(await tree("old")), ["old", "old-child", "old-grandchild", "old-sibling"]);
  assert.deepEqual(ids(await tree("old-child")), ["old-child", "old-grandchild"]);
  assert.deepEqual(await tree("nobody"), []);
});

test("G2: a tree is deleted whole, by its root", async () => {
  const { delete: forget, list } = conversations(threeTrees());
  const message = "Run old-child is a part of tree old, which can only be deleted whole";
  await assert.rejects(forget("old-child"), { name: "UserError", message });
  assert.equal(await forget("old"), true);
  assert.equal(await forget("old"), false);
  assert.deepEqual(ids(await list({ rootsOnly: true })), ["fresh", "middle"]);
});

test("G2: old trees are pruned by age, in milliseconds or in words, and never while a process works on them", async () => {
  const left = async (olderThan: number | string) => {
    const store = threeTrees();
    const { prune, list } = conversations(store, () => NOW);
    return [await prune({ olderThan }), ids(await list({ rootsOnly: true }))];
  };
  assert.deepEqual(await left("30d"), [1, ["fresh", "middle"]]);
  assert.deepEqual(await left("6w"), [0, ["fresh", "middle", "old"]]);
  assert.deepEqual(await left("9h"), [2, ["fresh"]]);
  assert.deepEqual(await left("90s"), [2, ["fresh"]]);
  assert.deepEqual(await left(11 * HOUR), [1, ["fresh", "middle"]]);
  assert.deepEqual(await left(0), [2, ["fresh"]]);
});

test("G2: what was exported elsewhere is saved, and found like any other", async () => {
  const { save, get } = conversations(openMemoryStore());
  assert.deepEqual(await save(await exportedText()), { rootId: ROOT, runs: 3, events: wholeTree().length });
  assert.equal((await get(CHILD))?.path, "lead/scout");
});
