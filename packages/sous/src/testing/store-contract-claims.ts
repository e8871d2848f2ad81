/** The promises of every store about who may write a tree, and about deleting one: a part of `store-contract.ts`. */

import assert from "node:assert/strict";
import { StaleOwner, UserError } from "../core/errors.ts";
import type { StoredBody, StoredEvent } from "../core/event.ts";
import { FIRST_FENCE, NO_OWNER, type RunRecord, type Store } from "../core/store.ts";
import { ids, type SampleTree, sampleTree } from "./sample-tree.ts";

/** Registers a test of one promise. */
export type CheckStore = (name: string, run: (store: Store) => Promise<void>) => void;

export function claimPromises(check: CheckStore): void {
  check("the process that begins a tree may write it, and none with another number", async (store) => {
    const tree = unfinished("lead");
    await store.append("lead", tree.events.slice(0, 2));
    for (const fence of [NO_OWNER, FIRST_FENCE + 1, 7])
      await refusesAsStale(store, "lead", tree.events.slice(2), fence);
    await store.append("lead", tree.events.slice(2, 3), FIRST_FENCE);
    await store.append("lead", tree.events.slice(3));
    assert.equal((await store.read("lead")).length, tree.events.length);
    await refusesAsStale(store, "unknown", unfinished("unknown").events, FIRST_FENCE + 1);
  });

  check("a tree that a process works on cannot be claimed", async (store) => {
    await store.append("lead", unfinished("lead").events);
    await refuses(store.claim("lead"), "lead");
    assert.deepEqual(statuses(await store.tree("lead")), ["lead running", "scout running", "writer completed"]);
  });

  check("a claim that was given back can be taken over, and its earlier owner is refused", async (store) => {
    const tree = unfinished("lead");
    await store.append("lead", tree.events.slice(0, -1));
    await store.release("lead", FIRST_FENCE);
    const { fence } = await store.claim("lead");
    assert.equal(fence, FIRST_FENCE + 1);
    await refusesAsStale(store, "lead", tree.events.slice(-1), FIRST_FENCE);
    await store.append("lead", tree.events.slice(-1), fence);
    assert.equal((await store.read("lead")).length, tree.events.length);
    await refuses(store.claim("lead"), "lead");
    await store.release("lead", fence);
    assert.deepEqual(await store.claim("lead"), { fence: fence + 1 });
  });

  check("of several that claim a tree at once one gets it", async (store) => {
    await store.append("lead", unfinished("lead").events);
    await store.release("lead", FIRST_FENCE);
    const claims = await Promise.allSettled([1, 2, 3, 4].map(() => store.claim("lead")));
    const given = claims.filter(({ status }) => status === "fulfilled");
    assert.deepEqual(given, [{ status: "fulfilled", value: { fence: FIRST_FENCE + 1 } }]);
  });

  check("giving back a claim that is not the latest changes nothing", async (store) => {
    await store.append("lead", unfinished("lead").events);
    for (const fence of [NO_OWNER, FIRST_FENCE + 1]) await store.release("lead", fence);
    await store.release("unknown", FIRST_FENCE);
    await refuses(store.claim("lead"), "lead");
  });

  check("only trees that are there can be claimed, by the id of their root", async (store) => {
    await refuses(store.claim("lead"), "lead");
    const twice = unfinished("lead").events.flatMap((event) => [event, event]);
    await assert.rejects(async () => store.append("lead", twice));
    await refuses(store.claim("lead"), "lead");
    await store.append("lead", ended("lead").events);
    await refuses(store.claim("scout"), "scout");
  });

  check("a claim ends with the root", async (store) => {
    const tree = ended("lead");
    await store.append("lead", tree.events.slice(0, -1));
    await refuses(store.claim("lead"), "lead");
    await store.append("lead", tree.events.slice(-1));
    assert.deepEqual(await store.claim("lead"), { fence: FIRST_FENCE + 1 });
  });

  check("a follow-up continues under the claim of the run before it", async (store) => {
    const tree = ended("lead");
    await store.append("lead", tree.events);
    tree.start("again");
    await store.append("lead", tree.events.slice(-1));
    assert.equal((await store.run("again"))?.rootId, "lead");
    assert.equal((await store.run("again"))?.status, "running");
    await refuses(store.claim("lead"), "lead");
    tree.end("again");
    await store.append("lead", tree.events.slice(-1));
    assert.deepEqual(ids(await store.tree("lead")), ["lead", "scout", "writer", "again"]);
    assert.deepEqual(ids(await store.list({ rootsOnly: true })), ["again", "lead"]);
    assert.deepEqual(await store.tree("again"), []);
    const { fence } = await store.claim("lead");
    tree.start("late");
    await refusesAsStale(store, "lead", tree.events.slice(-1), FIRST_FENCE);
    await store.append("lead", tree.events.slice(-1), fence);
  });

  check("a tree that is imported has no owner until it is claimed", async (store) => {
    const tree = unfinished("lead");
    await store.append("lead", tree.events.slice(0, 2), NO_OWNER);
    await store.append("lead", tree.events.slice(2, -1), NO_OWNER);
    assert.equal((await store.run("lead"))?.status, "interrupted");
    await refusesAsStale(store, "lead", tree.events.slice(-1), FIRST_FENCE);
    const { fence } = await store.claim("lead");
    assert.ok(fence > NO_OWNER);
    await refusesAsStale(store, "lead", tree.events.slice(-1), NO_OWNER);
    await store.append("lead", tree.events.slice(-1), fence);
    assert.equal((await store.run("lead"))?.status, "running");
  });

  check("a run that has not ended and has no owner is interrupted", async (store) => {
    await store.append("lead", unfinished("lead", 1_000).events);
    await store.append("other", [...unfinished("other", 2_000, "other-").events]);
    await store.release("lead", FIRST_FENCE);
    const expected = ["lead interrupted", "scout interrupted", "writer completed"];
    assert.deepEqual(statuses(await store.tree("lead")), expected);
    assert.deepEqual(statuses(await store.children("lead")), expected.slice(1));
    assert.deepEqual(statuses(await store.list({ status: "interrupted" })), ["scout interrupted", "lead interrupted"]);
    assert.deepEqual(statuses(await store.list({ status: "interrupted", rootsOnly: true })), ["lead interrupted"]);
    assert.deepEqual(ids(await store.list({ status: "running" })), ["other-scout", "other"]);
    await store.claim("lead");
    assert.deepEqual(ids(await store.list({ status: "running" })), ["other-scout", "other", "scout", "lead"]);
    assert.deepEqual(await store.list({ status: "interrupted" }), []);
  });

  check("a run that has not ended and has no owner waits while its tree has an unanswered question", async (store) => {
    const tree = asking("lead", 1_000);
    await store.append("lead", tree.events);
    await store.append("other", asking("other", 2_000, "other-").events);
    assert.deepEqual(await store.list({ status: "waiting" }), []);
    for (const rootId of ["lead", "other"]) await store.release(rootId, FIRST_FENCE);
    const expected = ["lead waiting", "scout waiting", "writer completed"];
    assert.deepEqual(statuses(await store.tree("lead")), expected);
    assert.deepEqual(statuses(await store.children("lead")), expected.slice(1));
    const waiting = ["other-scout", "other", "scout", "lead"];
    assert.deepEqual(ids(await store.list({ status: "waiting" })), waiting);
    assert.deepEqual(ids(await store.list({ status: "waiting", limit: 2, offset: 1 })), waiting.slice(1, 3));
    assert.deepEqual(ids(await store.list({ status: "waiting", rootsOnly: true })), ["other", "lead"]);
    assert.deepEqual(await store.list({ status: "interrupted" }), []);
    // A resumed run asks again: still one question, and one answer.
    const { fence } = await store.claim("lead");
    assert.equal((await store.run("lead"))?.status, "running");
    const before = tree.events.length;
    tree.add("scout", QUESTION);
    await store.append("lead", tree.events.slice(before), fence);
    await store.release("lead", fence);
    assert.equal((await store.run("lead"))?.status, "waiting");
    const again = await store.claim("lead");
    tree.add("scout", ANSWER);
    await store.append("lead", tree.events.slice(-1), again.fence);
    await store.release("lead", again.fence);
    assert.deepEqual(statuses(await store.list({ status: "interrupted" })), ["scout interrupted", "lead interrupted"]);
    assert.deepEqual(ids(await store.list({ status: "waiting" })), ["other-scout", "other"]);
    assert.equal(await store.delete("other"), true);
    assert.deepEqual(await store.list({ status: "waiting" }), []);
  });

  check("a question is over with its answer, the result of its call, and the end of a run that asks", async (store) => {
    const closings: Readonly<Record<string, (tree: SampleTree) => void>> = {
      answer: (tree) => tree.add("answer-scout", ANSWER),
      result: (tree) => tree.add("result-scout", { ...RESULT, callId: "call_1" }),
      end: (tree) => tree.end("end-scout", { status: "cancelled" }),
      above: (tree) => tree.end("above", { status: "cancelled" }),
      other: (tree) => tree.add("other-scout", { ...RESULT, callId: "call_2" }),
      elsewhere: (tree) => tree.add("elsewhere", ANSWER),
    };
    for (const [rootId, close] of Object.entries(closings)) {
      const tree = asking(rootId, 1_000, `${rootId}-`);
      close(tree);
      // The tree is stored in two parts, without an owner, as an imported tree is.
      await store.append(rootId, tree.events.slice(0, -1), NO_OWNER);
      await store.append(rootId, tree.events.slice(-1), NO_OWNER);
    }
    assert.deepEqual(ids(await store.list({ status: "waiting", rootsOnly: true })), ["other", "elsewhere"]);
    const external = asking("external", 1_000, "external-", "external/claude");
    await store.append("external", external.events, NO_OWNER);
    assert.equal((await store.run("external"))?.status, "interrupted", "an external agent asks again by itself");
  });

  check("a root says when not everything in its tree was kept", async (store) => {
    await store.append("lead", unfinished("lead").events);
    await store.markLost("lead", "The disk was full");
    await store.markLost("lead", "It still is");
    await store.markLost("unknown", "It never was");
    const lost = async (records: Promise<RunRecord[]>) => (await records).map((record) => record.lost);
    assert.equal((await store.run("lead"))?.lost, "The disk was full");
    assert.deepEqual(await lost(store.tree("lead")), ["The disk was full", undefined, undefined]);
    assert.deepEqual(await lost(store.list({ rootsOnly: true })), ["The disk was full"]);
    assert.equal((await store.run("scout"))?.lost, undefined);
  });
}

export function deletePromises(check: CheckStore): void {
  check("a tree is deleted whole, and nothing else", async (store) => {
    await store.append("lead", ended("lead").events);
    await store.append("other", ended("other", undefined, "other-").events);
    for (const id of ["unknown", "", "scout"]) assert.equal(await store.delete(id), false);
    assert.equal(await store.delete("lead"), true);
    assert.equal(await store.delete("lead"), false);
    assert.deepEqual(await store.read("lead"), []);
    for (const id of ["lead", "scout", "writer"]) assert.equal(await store.run(id), undefined);
    assert.deepEqual(await store.children("lead"), []);
    assert.equal((await store.list()).length, 3);
    assert.equal((await store.read("other")).length, ended("other").events.length);
    await store.append("lead", ended("lead").events);
    assert.deepEqual(ids(await store.tree("lead")), ["lead", "scout", "writer"]);
  });

  check("a tree that a process works on is not deleted", async (store) => {
    await store.append("lead", unfinished("lead").events);
    await refuses(store.delete("lead"), "lead");
    assert.equal(await store.prune(Number.MAX_SAFE_INTEGER), 0);
    assert.equal((await store.read("lead")).length, unfinished("lead").events.length);
    await store.release("lead", FIRST_FENCE);
    assert.equal(await store.delete("lead"), true);
    assert.deepEqual(await store.list(), []);
  });

  check("trees are pruned by the age of their root", async (store) => {
    await store.append("ended", ended("ended", 1_000, "ended-").events);
    await store.append("working", unfinished("working", 1_000, "working-").events);
    await store.append("left", unfinished("left", 1_000, "left-").events);
    await store.release("left", FIRST_FENCE);
    await store.append("brought", ended("brought", 1_000, "brought-").events, NO_OWNER);
    await store.append("fresh", ended("fresh", 5_000, "fresh-").events);
    assert.equal(await store.prune(1_001), 0);
    assert.equal(await store.prune(5_001), 3);
    assert.deepEqual(ids(await store.list({ rootsOnly: true })), ["fresh", "working"]);
    assert.equal((await store.list()).length, 6);
    assert.equal(await store.prune(5_002), 1);
    assert.deepEqual(ids(await store.list({ rootsOnly: true })), ["working"]);
  });

  check("a time that is no time deletes nothing", async (store) => {
    await store.append("ended", ended("ended").events);
    const pruned = await store.prune(Number.NaN).catch(() => 0);
    assert.deepEqual([pruned, ids(await store.list({ rootsOnly: true }))], [0, ["ended"]]);
  });
}

/** A root with a child that is at work and one that has ended. The root starts one millisecond after `startTime`. */
function unfinished(rootId: string, startTime?: number, prefix = "", model = "scripted/model"): SampleTree {
  const tree = sampleTree(rootId, startTime);
  tree.start(rootId);
  tree.start(`${prefix}scout`, { parent: rootId, details: { model } });
  tree.turn(`${prefix}scout`, "I look.");
  tree.start(`${prefix}writer`, { parent: rootId });
  tree.end(`${prefix}writer`);
  return tree;
}

/** The same, with a question of the child that is at work. */
function asking(rootId: string, startTime: number, prefix = "", model?: string): SampleTree {
  const tree = unfinished(rootId, startTime, prefix, model);
  tree.add(`${prefix}scout`, QUESTION);
  return tree;
}

const QUESTION: StoredBody = { type: "approval-request", callId: "call_1/0", toolName: "terminal", input: {} };
const ANSWER: StoredBody = {
  type: "approval-end",
  callId: "call_1/0",
  allowed: true,
  by: "person",
  reason: undefined,
};
const RESULT = { type: "tool-call-end", toolName: "terminal", output: "Done.", isError: false, durationMs: 1 } as const;

function ended(rootId: string, startTime?: number, prefix?: string): SampleTree {
  const tree = unfinished(rootId, startTime, prefix);
  tree.end(`${prefix ?? ""}scout`);
  tree.end(rootId);
  return tree;
}

/** Checks that the refusal is one sentence for a person, which names the run. */
async function refuses(answer: Promise<unknown>, id: string): Promise<void> {
  await assert.rejects(answer, (error) => {
    assert.ok(error instanceof UserError, `a UserError, not ${error}`);
    assert.ok(error.message.includes(id) && !error.message.includes("\n"), error.message);
    return true;
  });
}

async function refusesAsStale(
  store: Store,
  rootId: string,
  events: readonly StoredEvent[],
  fence: number,
): Promise<void> {
  const before = await store.read(rootId);
  await assert.rejects(async () => store.append(rootId, events, fence), StaleOwner);
  assert.deepEqual(await store.read(rootId), before);
}

function statuses(records: readonly RunRecord[]): string[] {
  return records.map(({ id, status }) => `${id} ${status}`);
}
