/** The promises of every store about trees with more than one journal: a part of `store-contract.ts`. */

import assert from "node:assert/strict";
import { StaleOwner, StoreError, UserError } from "../core/errors.ts";
import type { EventOf, StoredBody } from "../core/event.ts";
import { FIRST_FENCE, NO_OWNER, type RunRecord, type Store } from "../core/store.ts";
import { ids, plain, type SampleTree, samplePlaced, sampleTree } from "./sample-tree.ts";
import type { CheckStore } from "./store-contract-claims.ts";

export function journalPromises(check: CheckStore): void {
  check("each journal of a tree has its own numbers, claim and end", async (store) => {
    const { lead, scout } = await begunFamily(store);
    assert.deepEqual(plain(await store.read("lead")), plain(lead.events));
    assert.deepEqual(plain(await store.read("scout")), plain(scout.events));
    assert.deepEqual(plain(await store.read("scout", { runId: "grepper" })), plain(scout.events.slice(1, 2)));
    await store.release("scout", FIRST_FENCE);
    assert.deepEqual(await store.claim("scout"), { fence: FIRST_FENCE + 1 });
    await assert.rejects(store.claim("lead"), UserError);
    scout.end("grepper");
    await assert.rejects(async () => store.append("scout", scout.events.slice(-1)), StaleOwner);
    await store.append("scout", scout.events.slice(-1), FIRST_FENCE + 1);
    await assert.rejects(store.claim("scout"), UserError, "the end of a run below does not end the claim");
    lead.end("lead");
    await store.append("lead", lead.events.slice(-1));
    await assert.rejects(
      store.claim("scout"),
      UserError,
      "the end of the root does not end the claim of another journal",
    );
    assert.equal((await store.claim("lead")).fence, FIRST_FENCE + 1);
    scout.end("scout");
    await store.append("scout", scout.events.slice(-1), FIRST_FENCE + 1);
    assert.equal((await store.claim("scout")).fence, FIRST_FENCE + 2);
  });

  check("questions about a tree are answered over all of its journals", async (store) => {
    await begunFamily(store);
    const other = sampleTree("other", 1_000);
    other.start("other");
    await store.append("other", other.events);
    const tree = await store.tree("lead");
    assert.deepEqual(ids(tree), ["lead", "writer", "scout", "grepper", "deep"]);
    assert.deepEqual(new Set(tree.map(({ rootId }) => rootId)), new Set(["lead"]));
    assert.deepEqual(
      tree.map(({ journalId }) => journalId),
      ["lead", "lead", "scout", "scout", "deep"],
    );
    assert.deepEqual(ids(await store.children("lead")), ["scout", "writer"]);
    assert.deepEqual(ids(await store.children("scout")), ["grepper"]);
    assert.deepEqual(ids(await store.children("grepper")), ["deep"]);
    assert.equal((await store.run("deep"))?.parentId, "grepper");
    assert.equal((await store.run("grepper"))?.rootId, "lead");
    assert.deepEqual(ids(await store.list({ rootId: "lead" })).sort(), ["deep", "grepper", "lead", "scout", "writer"]);
    assert.deepEqual(ids(await store.list({ rootsOnly: true })).sort(), ["lead", "other"]);
    for (const id of ["scout", "deep"]) {
      assert.deepEqual(await store.tree(id), []);
      assert.deepEqual(await store.list({ rootId: id }), []);
      assert.equal(await store.delete(id), false);
    }
  });

  check("a run is running while a process works on its own journal", async (store) => {
    const { deep } = await begunFamily(store);
    await store.release("scout", FIRST_FENCE);
    const statuses = async () => (await store.tree("lead")).map(({ id, status }) => `${id} ${status}`);
    const others = ["lead running", "writer running", "scout interrupted", "grepper interrupted"];
    assert.deepEqual(await statuses(), [...others, "deep running"]);
    deep.add("deep", QUESTION);
    await store.append("deep", deep.events.slice(-1));
    await store.release("deep", FIRST_FENCE);
    assert.deepEqual(await statuses(), [...others, "deep waiting"]);
    assert.deepEqual(ids(await store.list({ status: "waiting" })), ["deep"]);
    assert.deepEqual(ids(await store.list({ status: "interrupted" })).sort(), ["grepper", "scout"]);
    assert.deepEqual(ids(await store.list({ status: "running" })).sort(), ["lead", "writer"]);
    await store.markLost("scout", "The disk was full");
    const lost = (await store.tree("lead")).map(({ id, lost }) => lost && `${id}: ${lost}`);
    assert.deepEqual(lost.filter(Boolean), ["scout: The disk was full"]);
  });

  check("a tree is deleted with all of its journals, once no process works on any of them", async (store) => {
    await begunFamily(store, 1_000);
    for (const journalId of ["lead", "scout", "deep"]) {
      await assert.rejects(store.delete("lead"), UserError);
      assert.equal(await store.prune(9_000), 0);
      assert.equal((await store.tree("lead")).length, 5);
      await store.release(journalId, FIRST_FENCE);
    }
    assert.equal(await store.delete("lead"), true);
    assert.deepEqual(await store.list(), []);
    for (const journalId of ["lead", "scout", "deep"]) assert.deepEqual(await store.read(journalId), []);
    await begunFamily(store, 1_000);
    for (const journalId of ["lead", "scout", "deep"]) await store.release(journalId, FIRST_FENCE);
    assert.equal(await store.prune(1_001), 0);
    assert.equal(await store.prune(9_000), 1);
    assert.deepEqual(await store.list(), []);
  });

  check("the totals of a tree are those of all of its journals, in the folder of its root", async (store) => {
    const { deep, scout } = await begunFamily(store);
    assert.deepEqual(unendedIds(await store.totals()), ["deep", "grepper", "lead", "scout", "writer"]);
    deep.add("deep", REFUSAL);
    deep.end("deep", { costUsd: 0.5 });
    await store.append("deep", deep.events.slice(1));
    const elsewhere = samplePlaced(startOf(scout), "lead", "elsewhere");
    const start = { ...startOf(elsewhere), cwd: "/srv/other" };
    await store.append("elsewhere", [start], NO_OWNER);
    assert.deepEqual(unendedIds(await store.totals()), ["grepper", "lead", "scout", "writer"]);
    const { fence } = await store.claim("elsewhere");
    elsewhere.end("elsewhere");
    await store.append("elsewhere", elsewhere.events.slice(1), fence);
    const { tallies } = await store.totals();
    assert.deepEqual(
      tallies.map(({ kind, depth, project }) => [kind, depth, project]),
      [
        ["refusal", 4, "/srv/shop"],
        ["run", 3, "/srv/shop"],
        ["run", 2, "/srv/other"],
      ],
    );
    for (const journalId of ["lead", "scout"]) await store.release(journalId, FIRST_FENCE);
    await store.delete("lead");
    const after = await store.totals();
    assert.equal(after.tallies.length, 7);
    const left = after.tallies
      .slice(3)
      .map((tally) => tally.kind === "run" && [tally.agent, tally.status, tally.project]);
    assert.deepEqual(
      left.sort(),
      ["grepper", "lead", "scout", "writer"].map((agent) => [agent, "interrupted", "/srv/shop"]),
    );
  });

  check("a journal begins below a run of its tree, and nowhere else", async (store) => {
    const { lead } = await begunFamily(store);
    const stranger = sampleTree("stranger");
    const foreign = stranger.start("stranger");
    await store.append("stranger", stranger.events);
    const refused = [
      samplePlaced({ ...startOf(lead), runId: "unknown" }, "lead", "late"),
      samplePlaced(foreign, "lead", "late"),
      samplePlaced(startOf(lead), "unknown", "late"),
      samplePlaced(startOf(lead), "scout", "late"),
    ];
    for (const { events } of refused)
      await assert.rejects(async () => store.append("late", events), StoreError, JSON.stringify(events));
    assert.equal(await store.run("late"), undefined);
    assert.deepEqual(await store.read("late"), []);
    await store.append("late", samplePlaced(startOf(lead), "lead", "late").events);
    assert.deepEqual(ids(await store.children("lead")).sort(), ["late", "scout", "writer"]);
  });

  check("a placed run is not listed by its folder, and one that follows its root is a root", async (store) => {
    const { lead } = await begunFamily(store);
    const below = samplePlaced(startOf(lead), "lead", "below");
    await store.append("below", [{ ...startOf(below), cwd: "/srv/shop" }]);
    const again = sampleTree("again", 5_000);
    again.start("again", { details: { placed: { rootId: "lead", budgets: [] } } });
    await store.append("again", again.events);
    assert.deepEqual(ids(await store.list({ cwd: "/srv/shop" })), ["lead"]);
    assert.deepEqual(ids(await store.list({ rootsOnly: true })).sort(), ["again", "lead"]);
    assert.equal((await store.run("again"))?.rootId, "lead");
    assert.equal(await store.delete("again"), false);
    for (const journalId of ["lead", "scout", "deep", "below"]) await store.release(journalId, FIRST_FENCE);
    assert.equal(await store.prune(Number.MAX_SAFE_INTEGER), 0, "the one that follows is at work");
    again.end("again");
    await store.append("again", again.events.slice(1));
    assert.equal(await store.prune(Number.MAX_SAFE_INTEGER), 1);
    assert.deepEqual(await store.list(), []);
  });

  check("the journals of a tree that is imported have no owner, and count once they are claimed", async (store) => {
    await begunFamily(store, 1_000, NO_OWNER);
    assert.deepEqual(new Set((await store.tree("lead")).map(({ status }) => status)), new Set(["interrupted"]));
    assert.deepEqual((await store.totals()).unended, []);
    await store.claim("scout");
    assert.deepEqual(unendedIds(await store.totals()), ["grepper", "scout"]);
  });
}

const QUESTION: StoredBody = { type: "approval-request", callId: "call_1", toolName: "terminal", input: {} };
const REFUSAL: StoredBody = { type: "spawn-refused", label: "more", errorType: "depth_limit", message: "Too deep." };

type Family = { readonly lead: SampleTree; readonly scout: SampleTree; readonly deep: SampleTree };

/** A lead and its writer in one journal; its scout with a grepper in a second; and below the grepper one in a third. */
async function begunFamily(store: Store, startTime?: number, fence?: number): Promise<Family> {
  const lead = sampleTree("lead", startTime);
  const root = lead.start("lead", { details: { cwd: "/srv/shop" } });
  await store.append("lead", lead.events, fence);
  const scout = samplePlaced(root, "lead", "scout");
  const grepper = scout.start("grepper", { parent: "scout" });
  await store.append("scout", scout.events, fence);
  const deep = samplePlaced(grepper, "lead", "deep");
  await store.append("deep", deep.events, fence);
  lead.start("writer", { parent: "lead", time: deep.events[0]?.time ?? 0 });
  await store.append("lead", lead.events.slice(1), fence);
  return { lead, scout, deep };
}

function startOf({ events }: SampleTree): EventOf<"run-start"> {
  const [start] = events;
  assert.ok(start?.type === "run-start");
  return start;
}

function unendedIds({ unended }: { readonly unended: readonly RunRecord[] }): string[] {
  return ids(unended).sort();
}
