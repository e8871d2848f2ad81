/** The promises of every store, as tests. Give it a way to register a test and a way to open an empty store. */

import assert from "node:assert/strict";
import type { StoredEvent } from "../core/event.ts";
import { foldRunRecord, type RunRecord, type Store } from "../core/store.ts";
import { ids, plain, type SampleTree, sampleTree } from "./sample-tree.ts";
import { claimPromises, deletePromises } from "./store-contract-claims.ts";
import { totalsPromises } from "./store-contract-totals.ts";

/** The `test` of `node:test`, vitest, jest or the like. */
export type RegisterTest = (name: string, run: () => Promise<void>) => unknown;

/** Registers one test per promise of the `Store` port. Each opens a store of its own, which must be empty. */
export function storeContract(test: RegisterTest, open: () => Promise<Store>): void {
  const check = (name: string, run: (store: Store) => Promise<void>) =>
    test(`a store: ${name}`, async () => {
      await using store = await open();
      await run(store);
    });

  check("what was appended is read back as it was, in the same order", async (store) => {
    const tree = family();
    await store.append(tree.rootId, tree.events.slice(0, 3));
    await store.append(tree.rootId, tree.events.slice(3));
    assert.deepEqual(plain(await store.read(tree.rootId)), plain(tree.events));
  });

  check("appending nothing changes nothing", async (store) => {
    await store.append("root", []);
    assert.deepEqual(await store.read("root"), []);
    assert.deepEqual(await store.list(), []);
  });

  check("a part can be read: after a number, of one run, a few at a time", async (store) => {
    const tree = family();
    await store.append(tree.rootId, tree.events);
    const ofScout = tree.events.filter(({ runId }) => runId === "scout");
    const read = async (options: Parameters<Store["read"]>[1]) => numbers(await store.read(tree.rootId, options));
    assert.deepEqual(await read({ after: 3 }), numbers(tree.events.slice(3)));
    assert.deepEqual(await read({ after: tree.events.length }), []);
    assert.deepEqual(await read({ limit: 2 }), [1, 2]);
    assert.deepEqual(await read({ after: 2, limit: 2 }), [3, 4]);
    assert.deepEqual(await read({ runId: "scout" }), numbers(ofScout));
    assert.deepEqual(
      await read({ runId: "scout", after: 4, limit: 1 }),
      numbers(ofScout.filter(({ seq }) => seq > 4)).slice(0, 1),
    );
    assert.deepEqual(await read({ runId: "unknown" }), []);
    assert.deepEqual(await read({ onDamage: assert.fail }), numbers(tree.events));
  });

  check("an append is kept whole or not at all", async (store) => {
    const tree = family();
    const [first, second, third] = tree.events;
    assert.ok(first && second && third);
    await store.append(tree.rootId, [first, second]);
    // The second event is there already, so the third must not be kept either.
    await assert.rejects(async () => store.append(tree.rootId, [third, second]));
    assert.deepEqual(numbers(await store.read(tree.rootId)), [1, 2]);
    await store.append(tree.rootId, [third]);
    assert.deepEqual(numbers(await store.read(tree.rootId)), [1, 2, 3]);
  });

  check("trees that are written at the same time do not mix", async (store) => {
    const trees = ["one", "two", "three"].map((rootId) => singleRun(rootId));
    await Promise.all(trees.map((tree) => store.append(tree.rootId, tree.events)));
    for (const tree of trees) assert.deepEqual(plain(await store.read(tree.rootId)), plain(tree.events));
    assert.deepEqual(ids(await store.tree("two")), ["two"]);
  });

  check("a run is the fold of its events, while it runs and afterwards", async (store) => {
    const tree = family();
    const half = tree.events.slice(0, 5);
    await store.append(tree.rootId, half);
    assert.deepEqual(plain(await store.run("scout")), plain(recordOf(tree, "scout", half)));
    assert.equal((await store.run("scout"))?.status, "running");
    await store.append(tree.rootId, tree.events.slice(5));
    for (const id of ["lead", "scout", "grepper", "writer"]) {
      assert.deepEqual(plain(await store.run(id)), plain(recordOf(tree, id)));
    }
  });

  check("unknown ids are nothing, not an error", async (store) => {
    const tree = family();
    await store.append(tree.rootId, tree.events);
    for (const id of ["unknown", "", "__proto__", "constructor", "' or 1=1 --", "%"]) {
      assert.equal(await store.run(id), undefined);
      assert.deepEqual(await store.read(id), []);
      assert.deepEqual(await store.children(id), []);
      assert.deepEqual(await store.tree(id), []);
    }
  });

  check("children are listed by their parent, in the order they started", async (store) => {
    const tree = family();
    await store.append(tree.rootId, tree.events);
    assert.deepEqual(ids(await store.children("lead")), ["scout", "writer"]);
    assert.deepEqual(ids(await store.children("scout")), ["grepper"]);
    assert.deepEqual(await store.children("grepper"), []);
  });

  check("a tree is its root and everything below it, parents before children", async (store) => {
    const tree = family();
    await store.append(tree.rootId, tree.events);
    const expected = ["lead", "scout", "grepper", "writer"].map((id) => recordOf(tree, id));
    assert.deepEqual(plain(await store.tree("lead")), plain(expected));
  });

  check("runs are listed newest first, by pages and by filters", async (store) => {
    const old = singleRun("old", 1_000);
    const middle = family(2_000);
    const fresh = singleRun("fresh", 3_000, false);
    for (const tree of [middle, old, fresh]) await store.append(tree.rootId, tree.events);
    const list = async (query?: Parameters<Store["list"]>[0]) => ids(await store.list(query));
    const all = ["fresh", "writer", "grepper", "scout", "lead", "old"];
    assert.deepEqual(await list(), all);
    assert.deepEqual(await list({ limit: 2 }), all.slice(0, 2));
    assert.deepEqual(await list({ limit: 2, offset: 2 }), all.slice(2, 4));
    assert.deepEqual(await list({ offset: 6 }), []);
    assert.deepEqual(await list({ limit: 0 }), []);
    assert.deepEqual(await list({ rootsOnly: true }), ["fresh", "lead", "old"]);
    assert.deepEqual(await list({ status: "running" }), ["fresh"]);
    assert.deepEqual(await list({ status: "failed" }), ["writer"]);
    assert.deepEqual(await list({ status: "refused" }), []);
    assert.deepEqual(await list({ since: 3_001 }), ["fresh"]);
    assert.deepEqual(await list({ since: 3_002 }), []);
    assert.deepEqual(await list({ status: "completed", rootsOnly: true, limit: 1 }), ["lead"]);
  });

  check("runs are found by the beginning of their id, letter for letter", async (store) => {
    const trees = ["01AB", "01AC", "01ab", "01_%", "1"].map((rootId, index) => singleRun(rootId, 1_000 + index));
    for (const tree of trees) await store.append(tree.rootId, tree.events);
    const list = async (idPrefix: string, limit?: number) => ids(await store.list({ idPrefix, limit }));
    assert.deepEqual(await list("01A"), ["01AC", "01AB"]);
    assert.deepEqual(await list("01", 2), ["01_%", "01ab"]);
    assert.deepEqual(await list("01_"), ["01_%"]);
    assert.deepEqual(await list("%"), []);
    assert.deepEqual(await list("01ABC"), []);
  });

  check("runs are listed by the folder they were made in, and by their tree", async (store) => {
    const shop = sampleTree("shop", 500);
    shop.start("shop", { details: { cwd: "/srv/shop" } });
    shop.start("clerk", { parent: "shop" });
    shop.end("clerk");
    shop.end("shop");
    await store.append(shop.rootId, [...shop.events]);
    const before = shop.events.length;
    shop.start("shop-2", { details: { cwd: "/srv/shop" } });
    const bakery = singleRun("bakery", 1000, true, "/srv/shop/bakery");
    const nowhere = singleRun("nowhere", 2000);
    const strange = singleRun("strange", 3000, true, "/srv/\u0000\\u0000'; drop table runs; --");
    await store.append(shop.rootId, shop.events.slice(before));
    for (const tree of [bakery, nowhere, strange]) await store.append(tree.rootId, tree.events);
    const list = async (query?: Parameters<Store["list"]>[0]) => ids(await store.list(query));
    assert.deepEqual(await list({ cwd: "/srv/shop" }), ["shop-2", "shop"]);
    assert.deepEqual(await list({ cwd: "/srv/shop", rootsOnly: true, limit: 1 }), ["shop-2"]);
    assert.deepEqual(await list({ cwd: "/srv/shop", status: "completed" }), ["shop"]);
    assert.deepEqual(await list({ cwd: "/srv/shop", status: "running" }), ["shop-2"]);
    assert.deepEqual(await list({ cwd: "/srv/SHOP" }), []);
    assert.deepEqual(await list({ cwd: "" }), []);
    assert.deepEqual(await list({ cwd: "/srv/\u0000\\u0000'; drop table runs; --" }), ["strange"]);
    assert.deepEqual(await list({ rootId: "shop" }), ["shop-2", "clerk", "shop"]);
    assert.deepEqual(await list({ rootId: "shop", rootsOnly: true, cwd: "/srv/shop" }), ["shop-2", "shop"]);
    assert.deepEqual(await list({ rootId: "shop", idPrefix: "shop-" }), ["shop-2"]);
    assert.deepEqual(await list({ rootId: "clerk" }), []);
    const folders = (await store.tree("shop")).map(({ id, cwd }) => [id, cwd]);
    assert.deepEqual(folders, [
      ["shop", "/srv/shop"],
      ["clerk", undefined],
      ["shop-2", "/srv/shop"],
    ]);
  });

  check("hostile labels and texts are kept as they are and do nothing", async (store) => {
    const tree = sampleTree("lead");
    tree.start("lead");
    for (const [index, label] of HOSTILE.entries()) {
      tree.start(`child${index}`, { parent: "lead", label });
      tree.turn(`child${index}`, label);
    }
    await store.append(tree.rootId, tree.events);
    assert.deepEqual(plain(await store.read("lead")), plain(tree.events));
    assert.deepEqual(
      (await store.children("lead")).map(({ label }) => label),
      HOSTILE,
    );
    assert.equal(Object.hasOwn(Object.prototype, "polluted"), false);
  });

  check("a large tree is kept whole", async (store) => {
    const tree = sampleTree("lead");
    tree.start("lead");
    for (let index = 0; index < 1_000; index++) {
      tree.start(`child${index}`, { parent: index === 0 ? "lead" : `child${(index - 1) >> 1}` });
      tree.turn(`child${index}`, "x".repeat(index));
      tree.end(`child${index}`);
    }
    await store.append(tree.rootId, tree.events);
    assert.equal((await store.read("lead")).length, tree.events.length);
    assert.deepEqual(numbers(await store.read("lead", { after: 2_500, limit: 3 })), [2_501, 2_502, 2_503]);
    const records = await store.tree("lead");
    assert.equal(records.length, 1_001);
    const seen = new Set<string | null>([null]);
    for (const { id, parentId } of records) {
      assert.ok(seen.has(parentId), `${parentId} comes before its children`);
      seen.add(id);
    }
  });

  claimPromises(check);
  deletePromises(check);
  totalsPromises(check);
}

const HOSTILE: readonly string[] = [
  "'; drop table runs; --",
  "../../etc/passwd",
  "\u001b]52;c;aGk=\u0007\u001b[2J",
  "two\nlines\r\n",
  "\u202eright to left",
  "__proto__",
  'a "quoted" \\ label',
  "a\u0000b",
  "😀".repeat(2_500),
  "",
];

/** A lead with two children, one of which has a child; their events are mixed as those of parallel runs are. */
function family(startTime?: number): SampleTree {
  const tree = sampleTree("lead", startTime);
  tree.start("lead", { details: { summaryPrompt: "In one word." } });
  tree.turn("lead", "I ask two.", { inputTokens: 10, outputTokens: 2, totalTokens: 12 });
  tree.start("scout", { parent: "lead" });
  tree.turn("scout", "I look.", { inputTokens: 7, outputTokens: 1, totalTokens: 8 });
  tree.start("grepper", { parent: "scout" });
  tree.add("scout", { type: "tool-call-start", callId: "call_1", toolName: "grep", input: { pattern: "\u00e9" } });
  tree.start("writer", { parent: "lead" });
  tree.end("grepper");
  tree.end("writer", { status: "failed", fault: { type: "model", message: "The provider is down" } });
  tree.end("scout", { turns: 1, toolCount: 1, costUsd: 0.25 });
  tree.end("lead", { text: "Two have looked." });
  return tree;
}

function singleRun(runId: string, startTime?: number, isEnded = true, cwd?: string): SampleTree {
  const tree = sampleTree(runId, startTime);
  tree.start(runId, { details: { cwd } });
  if (isEnded) tree.end(runId);
  return tree;
}

function recordOf(tree: SampleTree, runId: string, events = tree.events): RunRecord | undefined {
  return foldRunRecord(
    tree.rootId,
    events.filter((event) => event.runId === runId),
  );
}

function numbers(events: readonly StoredEvent[]): number[] {
  return events.map(({ seq }) => seq);
}
