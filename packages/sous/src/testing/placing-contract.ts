/** The promises of every store that can place runs, as tests. Two openings of one store stand for two processes. */

import assert from "node:assert/strict";
import type { PlacingStore } from "../core/engine.ts";
import { StaleOwner, StoreError, UserError } from "../core/errors.ts";
import { FIRST_FENCE, type Store } from "../core/store.ts";
import { lookingPromises } from "./placing-contract-looks.ts";
import { mailPromises } from "./placing-contract-mail.ts";
import { begunRoot, parked, placeScouts, startOf, worker } from "./placing-samples.ts";
import { ids, plain, samplePlaced, sampleTree } from "./sample-tree.ts";
import type { RegisterTest } from "./store-contract.ts";
import { journalPromises } from "./store-contract-journals.ts";

export type PlacingStores = { readonly store: Store & PlacingStore; readonly other: Store & PlacingStore };

/** Registers a test of one promise. `store` places, and `other` is another opening of the same store, or the same one. */
export type CheckPlacing = (name: string, run: (stores: PlacingStores) => Promise<void>) => void;

/**
 * Registers one test per promise of the `Placing` port. Each opens stores of its own, which must be empty. `tellsWhat`: news of
 * another process says what happened; else only that something may have.
 */
export function placingContract(test: RegisterTest, open: () => Promise<PlacingStores>, tellsWhat = true): void {
  const check: CheckPlacing = (name, run) =>
    void test(`placing: ${name}`, async () => {
      const stores = await open();
      try {
        await run(stores);
      } finally {
        for (const store of new Set([stores.store, stores.other])) await store[Symbol.asyncDispose]();
      }
    });

  journalPromises((name, run) => check(name, ({ store }) => run(store)));
  takingPromises(check);
  claimPromises(check);
  lookingPromises(check);
  mailPromises(check, tellsWhat);
}

function takingPromises(check: CheckPlacing): void {
  check("placed runs are taken in their order, each once, by workers that know their agents", async (stores) => {
    const { store, other } = stores;
    const root = await begunRoot(store);
    const journals = ["b", "a", "c"].map((runId) => samplePlaced(root, "lead", runId, "scout"));
    const strange = samplePlaced(root, "lead", "d", "writer");
    await store.placing.place([...journals, strange].map(startOf));
    assert.deepEqual(ids(await store.children("lead")), ["b", "a", "c", "d"]);
    assert.deepEqual(plain(await store.read("a")), plain(journals[1]?.events));
    assert.deepEqual(await other.placing.take(worker(), 2), [taken("b"), taken("a")]);
    assert.deepEqual(await other.placing.take(worker("writer"), 0), []);
    assert.deepEqual(await other.placing.take(worker("writer", "scout"), 9), [taken("c"), taken("d")]);
    assert.deepEqual(await store.placing.take(worker("writer", "scout"), 9), []);
  });

  check("a worker of a folder takes only runs that were made there", async ({ store, other }) => {
    const root = await begunRoot(store);
    const folders = [undefined, "/srv/here", "/srv/there", "/srv/here"];
    const starts = folders.map((cwd, index) => ({
      ...startOf(samplePlaced(root, "lead", `run${index}`, "scout")),
      cwd,
    }));
    await store.placing.place(starts);
    const here = { ...worker(), folder: "/srv/here" };
    assert.deepEqual(await other.placing.take(here, 9), [taken("run1"), taken("run3")]);
    assert.deepEqual(await other.placing.take({ ...here, folder: "/work" }, 9), []);
    assert.deepEqual(await other.placing.take(worker(), 9), [taken("run0"), taken("run2")]);
  });

  check("two that take at once from 200 placed runs get each of them once", async ({ store, other }) => {
    const placed = await placeScouts(store, 200);
    const both = [store, other].map(async ({ placing }) => {
      const taken: string[] = [];
      for (let rest = 1; rest > 0; ) {
        const found = await placing.take(worker(), 7);
        taken.push(...found.map(({ journalId }) => journalId));
        rest = found.length;
      }
      return taken;
    });
    const found = (await Promise.all(both)).flat();
    assert.deepEqual(found.sort(), placed.sort());
  });

  check("a run that was placed already stays as it is", async ({ store, other }) => {
    const root = await begunRoot(store);
    const journals = ["one", "two"].map((runId) => samplePlaced(root, "lead", runId, "scout"));
    const [one, two] = journals.map(startOf);
    assert.ok(one !== undefined && two !== undefined);
    await store.placing.place([one]);
    await other.placing.take(worker(), 1);
    journals[0]?.end("one");
    await other.append("one", journals[0]?.events.slice(1) ?? [], FIRST_FENCE);
    await store.placing.place([one, two, two]);
    await store.placing.place([]);
    assert.equal((await store.read("one")).length, 2);
    assert.equal((await store.read("two")).length, 1);
    assert.deepEqual(await other.placing.take(worker(), 9), [taken("two")]);
  });

  check("runs are placed all together or not at all", async ({ store }) => {
    const root = await begunRoot(store);
    const good = startOf(samplePlaced(root, "lead", "good"));
    const plainStart = sampleTree("lead-2").start("lead-2");
    const bad = [
      startOf(samplePlaced({ ...root, runId: "unknown" }, "lead", "bad")),
      startOf(samplePlaced(root, "unknown", "bad")),
      startOf(samplePlaced(root, "bad", "bad")),
      { ...startOf(samplePlaced(root, "lead", "bad")), seq: 2 },
      plainStart,
    ];
    for (const start of bad) await assert.rejects(store.placing.place([good, start]), StoreError, start.runId);
    assert.deepEqual(ids(await store.tree("lead")), ["lead"]);
    assert.deepEqual(await store.list({ status: "queued" }), []);
  });

  check("a root is placed as any other run is, with all that its start says", async ({ store, other }) => {
    const tree = sampleTree("lead");
    const long = "a\0b\ud800 €".repeat(20_000);
    const task = { role: "user", content: [{ type: "text", text: long }] } as const;
    tree.start("lead", { details: { agent: "scout", task, placed: { rootId: "lead", budgets: [] } } });
    await store.placing.place([startOf(tree)]);
    assert.deepEqual(plain(await store.read("lead")), plain(tree.events));
    assert.equal((await store.run("lead"))?.task, long);
    assert.deepEqual(ids(await store.list({ rootsOnly: true, status: "queued" })), ["lead"]);
    assert.deepEqual(await other.placing.take(worker(), 1), [taken("lead")]);
    tree.end("lead");
    await other.append("lead", tree.events.slice(1));
    assert.deepEqual(ids(await store.list({ rootsOnly: true, status: "completed" })), ["lead"]);
    assert.deepEqual(await store.placing.journals("lead"), []);
    assert.equal(await store.delete("lead"), true);
  });
}

function claimPromises(check: CheckPlacing): void {
  check("who took a run before is refused once it was taken again", async ({ store, other }) => {
    const { placing } = store;
    const root = await begunRoot(store);
    const scout = samplePlaced(root, "lead", "scout");
    await placing.place([startOf(scout)]);
    assert.deepEqual(await placing.take(worker(), 1), [taken("scout")]);
    await store.release("scout", FIRST_FENCE);
    assert.deepEqual(await other.placing.take(worker(), 1), [taken("scout", 2, 2)]);
    scout.turn("scout", "I am late.");
    await assert.rejects(async () => store.append("scout", scout.events.slice(1), FIRST_FENCE), StaleOwner);
    await store.release("scout", FIRST_FENCE);
    await assert.rejects(store.claim("scout"), UserError);
    await other.append("scout", scout.events.slice(1), 2);
    assert.deepEqual(plain(await store.read("scout")), plain(scout.events));
  });

  check("claims are counted until the run gets ahead", async ({ store, other }) => {
    const root = await begunRoot(store);
    const scout = samplePlaced(root, "lead", "scout");
    await store.placing.place([startOf(scout)]);
    let written = 1;
    const takes = async (fence: number, claims: number) => {
      assert.deepEqual(await other.placing.take(worker(), 1), [taken("scout", fence, claims)]);
      assert.equal((await store.placing.journals("lead"))[0]?.claims, claims);
      for (const event of scout.events.slice(written)) await other.append("scout", [event], fence);
      written = scout.events.length;
      await other.release("scout", fence);
    };
    scout.add("scout", { type: "resume", usedMs: 0, worker: "one" });
    scout.add("scout", { type: "turn-start", turn: 1, promptTokens: 10, reserved: 0 });
    await takes(1, 1);
    scout.add("scout", { ...RETRY, kind: "interrupted" });
    await takes(2, 2);
    scout.add("scout", { type: "resume", usedMs: 0, worker: "one" });
    scout.add("scout", { ...RETRY, kind: "overloaded" });
    await takes(3, 3);
    scout.turn("scout", "I look.");
    await takes(4, 1);
    await takes(5, 1);
    await takes(6, 2);
  });

  check("a placed run can be claimed by its id, and is then not taken", async ({ store, other }) => {
    await placeScouts(store, 1);
    assert.deepEqual(await other.claim("scout0"), { fence: FIRST_FENCE });
    assert.deepEqual(await store.placing.take(worker(), 9), []);
    await other.release("scout0", FIRST_FENCE);
    assert.deepEqual(await store.placing.take(worker(), 9), [taken("scout0", 2, 2)]);
  });

  check("a run that has ended, was imported, or is marked as lost is not taken", async ({ store, other }) => {
    const root = await begunRoot(store);
    const [ended, lost, queued] = ["ended", "lost", "queued"].map((id) => samplePlaced(root, "lead", id, "scout"));
    assert.ok(ended && lost && queued);
    await store.placing.place([ended, lost].map(startOf));
    await store.append("imported", samplePlaced(root, "lead", "imported", "scout").events, 0);
    await store.markLost("lost", "The disk was full");
    assert.deepEqual(await other.placing.take(worker(), 1), [taken("ended")]);
    ended.end("ended");
    await other.append("ended", ended.events.slice(1));
    await store.placing.place([startOf(queued)]);
    assert.deepEqual(await other.placing.take(worker(), 9), [taken("queued")]);
  });

  check("a placed run that waits for an answer is not taken before there is one", async (stores) => {
    const { other } = stores;
    await parked(stores);
    assert.deepEqual(await other.placing.take(worker(), 9), []);
    assert.equal((await other.run("scout"))?.status, "waiting");
    assert.equal((await other.placing.journals("lead"))[0]?.state, "parked");
  });
}

const RETRY = {
  type: "retry",
  attempt: 1,
  delayMs: 1,
  message: "Again.",
  spent: {
    inputTokens: 0,
    outputTokens: 0,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    totalTokens: 0,
    estimated: false,
  },
  costUsd: 0,
} as const;

function taken(journalId: string, fence: number = FIRST_FENCE, claims = 1) {
  return { journalId, fence, claims };
}
