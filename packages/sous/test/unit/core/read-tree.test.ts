/** A tree over several journals is read as one. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { StoredEvent } from "../../../src/core/event.ts";
import { readTree, readWholeTree } from "../../../src/core/read-tree.ts";
import { checkHistory } from "../../../src/testing/checker.ts";
import { plain, type SampleTree, sampleTree } from "../../../src/testing/sample-tree.ts";
import { cutTree, type Journals, storeOfJournals, uncut } from "../../support/core/cut-tree.ts";

suite("reading a tree over several journals", () => {
  test("a tree in one journal is read as it is, also with what was placed in it", async () => {
    const { events } = family();
    assert.deepEqual(await joined(new Map([["lead", [...events]]])), events);
    const imported = await joined(cutTree(events, new Set(["scout", "digger"])));
    const store = storeOfJournals(new Map([["lead", imported]]));
    assert.deepEqual(await readWholeTree(store, "lead"), imported);
    assert.deepEqual([...new Set(store.asked)], ["lead"], "no other journal is looked for");
  });

  test("the journal of a placed run stands behind its placed event, and numbers have no gap", async () => {
    const { events } = family();
    const journals = cutTree(events, new Set(["scout", "digger", "mason"]));
    assert.deepEqual([...journals.keys()], ["lead", "scout", "digger", "mason"]);
    const found = await joined(journals);
    assert.deepEqual(
      found.map(({ seq }) => seq),
      found.map((_, index) => index + 1),
    );
    assert.deepEqual(
      found.filter(({ type }) => type === "run-start" || type === "placed" || type === "run-end").map(inShort),
      [
        "lead run-start",
        "lead placed",
        "scout run-start",
        "scout placed",
        "digger run-start",
        "digger run-end",
        "scout run-end",
        "lead placed",
        "mason run-start",
        "mason run-end",
        "lead run-end",
      ],
    );
    assert.deepEqual(checkHistory(found), []);
    for (const runId of ["lead", "scout", "digger", "mason"])
      assert.deepEqual(ofRun(uncut(found), runId), ofRun(events, runId));
  });

  test("the order does not depend on the clocks of the machines", async () => {
    const { events } = family();
    const placed = new Set(["scout", "digger", "mason"]);
    const order = (await joined(cutTree(events, placed))).map(inShort);
    for (const shift of [-5000, 5000]) {
      const clockOf = (journalId: string) => (journalId === "scout" ? shift : 0);
      assert.deepEqual((await joined(cutTree(events, placed, { clockOf }))).map(inShort), order);
    }
  });

  test("a child that was never begun, or that is at work, leaves the rest as it is", async () => {
    const journals = cutTree(family().events, new Set(["scout", "mason"]));
    journals.delete("scout");
    journals.set("mason", (journals.get("mason") ?? []).slice(0, 3));
    const found = await joined(journals);
    assert.deepEqual(
      found.map(({ seq }) => seq),
      found.map((_, index) => index + 1),
    );
    assert.deepEqual(ofRun(found, "mason").length, 3);
    assert.deepEqual(ofRun(found, "scout"), []);
    assert.equal(found.at(-1)?.type, "run-end");
  });

  test("a number that is missing in a journal is missing in the tree", async () => {
    const journals = cutTree(family().events, new Set(["scout"]));
    journals.get("scout")?.splice(3, 1);
    const found = await joined(journals);
    assert.match(checkHistory(found).join("\n"), /^7 message-end 1 of lead\/scout\/digger has number 7, expected 6$/);
  });

  test("damage in a journal is told, and the other events are read", async () => {
    const journals = cutTree(family().events, new Set(["scout"]));
    const store = storeOfJournals(journals);
    const damaged = new Error("Event 3 of run scout cannot be read");
    const read: typeof store.read = async (journalId, options) => {
      const events = await store.read(journalId, options);
      if (journalId !== "scout") return events;
      if (options?.onDamage === undefined) throw damaged;
      options.onDamage(damaged);
      return events.filter(({ seq }) => seq !== 3);
    };
    const told: string[] = [];
    const found = await readWholeTree({ read }, "lead", { onDamage: ({ message }) => told.push(message) });
    assert.deepEqual(told, [damaged.message]);
    assert.equal(found.at(-1)?.type, "run-end");
    await assert.rejects(readWholeTree({ read }, "lead"), damaged);
  });

  test("a journal of another tree is not joined, whatever a placed event says", async () => {
    const [mine, other] = [family(), family("other")];
    const journals = cutTree(other.events, new Set(["other-scout"]));
    const theirs = journals.get("other-scout") ?? [];
    mine.start("late");
    mine.add("late", placing("other-scout"));
    const store = storeOfJournals(new Map([...journals, ["lead", [...mine.events]]]));
    assert.ok(theirs.length > 0);
    assert.deepEqual(await readWholeTree(store, "lead"), mine.events);
  });

  test("journals that speak of each other or of themselves are read once", async () => {
    const tree = sampleTree("lead");
    tree.start("lead");
    const journals: Journals = new Map([["lead", [...tree.events]]]);
    for (const childRunId of ["lead", "one", "one"]) tree.add("lead", placing(childRunId));
    journals.set("lead", [...tree.events]);
    const one = sampleTree("one");
    one.start("one", { details: { placed: { rootId: "lead", budgets: [] } } });
    for (const childRunId of ["one", "lead", "one"]) one.add("one", placing(childRunId));
    journals.set("one", [...one.events]);
    assert.equal((await joined(journals)).length, 8);
  });

  test("the number of an answered turn is that of the tree, also where a restart speaks of it", async () => {
    const tree = sampleTree("lead");
    tree.start("lead");
    tree.start("scout", { parent: "lead" });
    tree.turn("scout", "Here.");
    const answeredSeq = tree.events.at(-2)?.seq ?? 0;
    tree.add("scout", { type: "resume", usedMs: 1, run: { ...RESUMED, answeredSeq } });
    const journals = cutTree(tree.events, new Set(["scout"]));
    const cut = journals.get("scout")?.at(-1);
    assert.ok(cut?.type === "resume" && cut.run !== undefined);
    // The journal has a `resume` more, and no event of the lead.
    journals.get("scout")?.splice(-1, 1, { ...cut, run: { ...cut.run, answeredSeq: 3 } });
    const found = await joined(journals);
    const [turn, last] = [found.find(({ type }) => type === "turn-start"), found.at(-1)];
    assert.equal(last?.type === "resume" && last.run?.answeredSeq, turn?.seq);
  });

  test("10,000 journals beside or below each other are read without recursion, each page once", async () => {
    for (const isDeep of [false, true]) {
      const journals: Journals = new Map();
      const size = 10_000;
      const root = sampleTree("run-0");
      root.start("run-0");
      if (!isDeep) for (let index = 1; index < size; index++) root.add("run-0", placing(`run-${index}`));
      else root.add("run-0", placing("run-1"));
      journals.set("run-0", [...root.events]);
      for (let index = 1; index < size; index++) {
        const child = sampleTree(`run-${index}`);
        child.start(`run-${index}`, { details: { placed: { rootId: "run-0", budgets: [] } } });
        if (isDeep) child.add(`run-${index}`, placing(`run-${index + 1}`));
        journals.set(`run-${index}`, [...child.events]);
      }
      const store = storeOfJournals(journals);
      let starts = 0;
      for await (const event of readTree(store, "run-0")) if (event.type === "run-start") starts += 1;
      assert.equal(starts, size);
      const reads = isDeep ? size + 1 : size + 10;
      assert.ok(store.asked.length <= reads, `${store.asked.length} reads`);
    }
  });

  test("G4: the events of a large tree are read page by page, each once and in order", async () => {
    const tree = sampleTree("large", 1000);
    tree.start("large");
    for (let index = 0; index < 2600; index++) tree.turn("large", "Yes.");
    tree.end("large");
    const store = storeOfJournals(new Map([["large", [...tree.events]]]));
    const limits = new Set<number | undefined>();
    const read: typeof store.read = (journalId, options) => {
      limits.add(options?.limit);
      return store.read(journalId, options);
    };
    assert.deepEqual(await readWholeTree({ read }, "large"), tree.events);
    assert.deepEqual([[...limits], store.asked.length], [[1000], 6]);
  });

  test("a reader that has enough stops the reading", async () => {
    const store = storeOfJournals(cutTree(family().events, new Set(["scout", "mason"])));
    for await (const event of readTree(store, "lead")) if (event.runId === "scout") break;
    assert.deepEqual(store.asked, ["lead", "scout"]);
    const signal = AbortSignal.abort(new Error("Enough"));
    await assert.rejects(readWholeTree(store, "lead", { signal }), /Enough/);
  });
});

const RESUMED = {
  ...{ agent: "scout", label: "scout", model: "scripted/model", call: undefined, startedAt: 0, turns: 1 },
  usage: {
    inputTokens: 0,
    outputTokens: 0,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    totalTokens: 0,
    estimated: false,
  },
};

function placing(childRunId: string) {
  const child = { childRunId, childAgentId: childRunId, childPath: `lead/${childRunId}` };
  return {
    type: "placed",
    ...child,
    label: childRunId,
    agent: childRunId,
    call: undefined,
    budget: undefined,
  } as const;
}

/** A lead with two children, of which the first has one, too: all at work at once. */
function family(lead = "lead"): SampleTree {
  const [scout, digger, mason] = ["scout", "digger", "mason"].map((name) =>
    lead === "lead" ? name : `${lead}-${name}`,
  );
  assert.ok(scout && digger && mason);
  const tree = sampleTree(lead);
  tree.start(lead);
  tree.start(scout, { parent: lead });
  tree.start(digger, { parent: scout });
  tree.start(mason, { parent: lead });
  for (const runId of [mason, digger]) tree.turn(runId, "Here.");
  tree.end(digger);
  tree.turn(scout, "There.");
  tree.end(mason);
  tree.end(scout);
  tree.turn(lead, "Done.");
  tree.end(lead);
  return tree;
}

async function joined(journals: Journals): Promise<StoredEvent[]> {
  const [rootId = ""] = journals.keys();
  return readWholeTree(storeOfJournals(journals), rootId);
}

function inShort({ runId, type }: StoredEvent): string {
  return `${runId} ${type}`;
}

function ofRun(events: readonly StoredEvent[], runId: string): unknown[] {
  return events.filter((event) => event.runId === runId).map(({ seq, ...event }) => plain(event));
}
