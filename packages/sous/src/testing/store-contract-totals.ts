/** The promises of every store about its totals: a part of `store-contract.ts`. */

import assert from "node:assert/strict";
import { UserError } from "../core/errors.ts";
import { FIRST_FENCE, NO_OWNER, type RunRecord, type Store } from "../core/store.ts";
import { refusalTally, runTally, type Tally, type Totals, type TotalsQuery } from "../core/totals.ts";
import type { Usage } from "../core/usage.ts";
import { ids, plain, type SampleTree, sampleTree } from "./sample-tree.ts";
import type { CheckStore } from "./store-contract-claims.ts";

export function totalsPromises(check: CheckStore): void {
  check("a store without runs has no totals", async (store) => {
    const { tallies, unended, isComplete } = await store.totals();
    assert.deepEqual({ tallies, unended, isComplete }, { tallies: [], unended: [], isComplete: true });
  });

  check("its totals are the ends and the refused children of the journal, in their order", async (store) => {
    const tree = everyEnding("lead");
    await store.append("lead", tree.events.slice(0, 4));
    for (const event of tree.events.slice(4, 9)) await store.append("lead", [event]);
    await store.append("lead", tree.events.slice(9));
    const { tallies, unended, isComplete } = await store.totals();
    assert.deepEqual(plain(tallies), plain(tallied(tree)));
    assert.deepEqual(unended, []);
    assert.equal(isComplete, true);
  });

  check("a mark leads to what follows it, and to nothing twice", async (store) => {
    const mark = (await store.totals()).mark;
    const first = everyEnding("first");
    const second = everyEnding("second");
    await store.append("first", first.events);
    const answers = await pages(store, { limit: 3 });
    for (const { tallies } of answers) assert.ok(tallies.length <= 3);
    assert.deepEqual(plain(answers.flatMap(({ tallies }) => tallies)), plain(tallied(first)));
    const last = answers.at(-1)?.mark;
    assert.deepEqual((await store.totals({ after: last })).tallies, []);
    await store.append("second", second.events);
    assert.deepEqual(plain((await store.totals({ after: last })).tallies), plain(tallied(second)));
    const all = [...tallied(first), ...tallied(second)];
    assert.deepEqual(plain((await store.totals({ after: mark, limit: all.length })).tallies), plain(all));
    assert.equal((await store.totals({ limit: all.length })).isComplete, true);
    assert.equal((await store.totals({ limit: all.length - 1 })).isComplete, false);
  });

  check("a mark that it did not give, and a limit of none, are refused", async (store) => {
    const ahead = "1".repeat(15);
    for (const after of ["", "x", "-1", "0.5", ahead, "1e1", `${ahead}:${ahead}:`, "' or 1=1 --", "/".repeat(9)])
      await assert.rejects(store.totals({ after }), UserError, after);
    for (const limit of [0, -1, 0.5, Number.NaN]) await assert.rejects(store.totals({ limit }), UserError);
  });

  check("the totals of what started since a time", async (store) => {
    for (const [rootId, time] of [["old", 1_000] as const, ["new", 2_000] as const]) {
      const tree = sampleTree(rootId, time);
      tree.start(rootId);
      refuse(tree, rootId);
      tree.end(rootId);
      tree.start(`${rootId}-again`);
      await store.append(rootId, tree.events);
    }
    const all = await store.totals();
    const starts = all.tallies.map(({ startedAt }) => startedAt);
    assert.deepEqual(starts, [1_002, 1_001, 2_002, 2_001]);
    const { tallies, unended, mark } = await store.totals({ since: 2_001 });
    assert.deepEqual(plain(tallies), plain(all.tallies.filter(({ startedAt }) => startedAt >= 2_001)));
    assert.deepEqual(ids(unended), ["new-again"]);
    assert.deepEqual((await store.totals({ after: mark })).tallies, []);
    assert.deepEqual(ids((await store.totals({ since: 9_000 })).unended), []);
  });

  check("runs that have not ended are told apart as in a list, and are counted when they end", async (store) => {
    const tree = unfinished("lead");
    await store.append("lead", tree.events);
    const running = await store.totals();
    assert.deepEqual(running.tallies, []);
    const listed = async () => plain(byId(await store.list({ rootId: "lead" })));
    assert.deepEqual(plain(byId(running.unended)), await listed());
    await store.release("lead", FIRST_FENCE);
    const left = await store.totals({ after: running.mark });
    const statuses = byId(left.unended).map(({ id, status }) => `${id} ${status}`);
    assert.deepEqual(statuses, ["lead interrupted", "lead-scout interrupted"]);
    assert.deepEqual(plain(byId(left.unended)), await listed());
    const { fence } = await store.claim("lead");
    const before = tree.events.length;
    tree.end("lead-scout", { usage: USAGE, costUsd: 0.5, turns: 2 });
    tree.end("lead");
    await store.append("lead", tree.events.slice(before), fence);
    const ended = await store.totals({ after: left.mark });
    assert.deepEqual(plain(ended.tallies), plain(tallied(tree)));
    assert.deepEqual(ended.unended, []);
  });

  check("deleting a tree keeps its lines, and counts what had not ended as interrupted", async (store) => {
    const whole = everyEnding("whole", 1_000);
    await store.append("whole", whole.events);
    for (const [rootId, time] of [["cut", 1_000] as const, ["pruned", 2_000] as const]) {
      await store.append(rootId, unfinished(rootId, time).events);
      await store.release(rootId, FIRST_FENCE);
    }
    const before = await store.totals();
    assert.equal(await store.delete("whole"), true);
    assert.equal(await store.delete("cut"), true);
    assert.equal(await store.prune(9_000), 1);
    const { tallies, unended } = await store.totals({ after: before.mark });
    const expected = before.unended.map((run) => {
      const { agent, model, depth, startedAt, turns, usage, costUsd } = run;
      const sums = { turns, usage, costUsd, durationMs: 0 };
      return { kind: "run", agent, model, depth, startedAt, status: "interrupted", ...sums, project: "/srv/shop" };
    });
    assert.deepEqual(plain(tallies.toSorted(byAgent)), plain(expected.toSorted(byAgent)));
    assert.deepEqual(unended, []);
    assert.deepEqual(plain((await store.totals()).tallies), plain([...tallied(whole), ...tallies]));
  });

  check("an imported tree is not counted: it was paid for elsewhere", async (store) => {
    await store.append("brought", everyEnding("brought").events, NO_OWNER);
    const tree = unfinished("left");
    await store.append("left", tree.events, NO_OWNER);
    assert.deepEqual((await store.totals()).tallies, []);
    assert.deepEqual((await store.totals()).unended, []);
    await store.delete("brought");
    assert.deepEqual((await store.totals()).tallies, []);
    const { fence } = await store.claim("left");
    assert.deepEqual(ids(byId((await store.totals()).unended)), ["left", "left-scout"]);
    tree.end("left-scout");
    await store.append("left", tree.events.slice(-1), fence);
    assert.deepEqual(plain((await store.totals()).tallies), plain(tallied(tree)));
    await store.release("left", fence);
    await store.delete("left");
    assert.deepEqual(
      (await store.totals()).tallies.map((tally) => tally.kind === "run" && tally.status),
      ["completed", "interrupted"],
    );
  });

  check("totals that are read while others write lose nothing and count nothing twice", async (store) => {
    const trees = Array.from({ length: 12 }, (_, index) => manyRuns(`root${index}`, 6));
    let isWriting = true;
    const writing = Promise.all(trees.map((tree) => appendOneByOne(store, tree))).finally(() => {
      isWriting = false;
    });
    const expected = agentsOf(trees.flatMap(tallied)).sort();
    const found: Tally[] = [];
    const begun = new Set<string>();
    let after: string | undefined;
    let late = 0;
    let limit = 3;
    for (let isLast = false; ; ) {
      // Small pages are behind the writers, large ones catch up with them.
      limit = limit === 3 ? 30 : 3;
      const { tallies, unended, mark, isComplete } = await store.totals({ after, limit });
      after = mark;
      found.push(...tallies);
      late += isWriting ? 0 : 1;
      assert.ok(found.length <= expected.length && late <= MAX_PAGES, "its pages come to an end");
      if (isComplete) {
        const ended = agentsOf(found);
        const open = new Set(unended.map(({ agent }) => agent));
        for (const agent of open) assert.equal(ended.includes(agent), false, `${agent} is counted once`);
        for (const agent of begun) assert.ok(open.has(agent) || ended.includes(agent), `${agent} is still counted`);
        for (const agent of open) begun.add(agent);
        if (isLast) break;
        isLast = !isWriting;
      }
      await nextTurn();
    }
    await writing;
    assert.deepEqual(agentsOf(found).sort(), expected);
  });
}

/** The lines that follow from a journal. */
export function tallied({ events }: SampleTree): Tally[] {
  const starts = new Map(
    events.flatMap((event) => (event.type === "run-start" ? [[event.runId, event] as const] : [])),
  );
  const project = events[0]?.type === "run-start" ? events[0].cwd : undefined;
  return events.flatMap((event): Tally[] => {
    if (event.type === "spawn-refused") return [refusalTally(event, project)];
    const start = starts.get(event.runId);
    if (event.type !== "run-end" || start === undefined) return [];
    return [runTally({ ...start, startedAt: start.time }, event, project)];
  });
}

const USAGE: Usage = {
  inputTokens: 100,
  outputTokens: 20,
  cachedInputTokens: 30,
  cacheWriteTokens: 4,
  totalTokens: 120,
  estimated: false,
};

/** A tree with a child for every ending, and with refused children. */
export function everyEnding(rootId: string, startTime?: number): SampleTree {
  const tree = sampleTree(rootId, startTime);
  tree.start(rootId, { details: { cwd: "/srv/shop", agent: "lead", model: "fake/large" } });
  const child = (name: string, outcome: Parameters<SampleTree["end"]>[1]) => {
    tree.start(`${rootId}-${name}`, { parent: rootId, details: { agent: name } });
    tree.turn(`${rootId}-${name}`, "I look.", { totalTokens: 5 });
    tree.end(`${rootId}-${name}`, outcome);
  };
  tree.start(`${rootId}-deep`, { parent: rootId });
  refuse(tree, `${rootId}-deep`);
  tree.end(`${rootId}-deep`, { usage: USAGE, costUsd: 0.25, turns: 3, durationMs: 12 });
  refuse(tree, rootId);
  child("unpriced", { usage: USAGE, costUsd: null });
  child("guessed", { usage: { ...USAGE, estimated: true }, costUsd: 0 });
  const strange = { ...USAGE, totalTokens: -5, inputTokens: 1e300, outputTokens: Number.NaN };
  child("strange", { usage: strange, costUsd: -1, durationMs: -1, turns: 1.5 });
  child("out-of-turns", { status: "incomplete", stopReason: "turns" });
  for (const status of ["budget_exceeded", "timeout", "cancelled", "refused", "failed"] as const)
    child(status, { status, costUsd: 1e-9 });
  child("no-model", { status: "failed", fault: { type: "model", message: 'a\u0000b "fault":{"type":"tool"}' } });
  child("a\u0000\\u0000'; drop table tallies; --", { status: "failed", fault: { type: "consent", message: "No." } });
  tree.end(rootId, { usage: USAGE, costUsd: 0.1 });
  return tree;
}

/** A root and a child, both at work. */
function unfinished(rootId: string, startTime?: number): SampleTree {
  const tree = sampleTree(rootId, startTime);
  tree.start(rootId, { details: { cwd: "/srv/shop" } });
  tree.start(`${rootId}-scout`, { parent: rootId });
  tree.turn(`${rootId}-scout`, "I look.", { inputTokens: 7, totalTokens: 8, estimated: true });
  return tree;
}

function manyRuns(rootId: string, count: number): SampleTree {
  const tree = sampleTree(rootId);
  tree.start(rootId);
  for (let index = 0; index < count; index++) {
    tree.start(`${rootId}-${index}`, { parent: rootId });
    if (index > 0) tree.end(`${rootId}-${index - 1}`);
  }
  tree.end(`${rootId}-${count - 1}`);
  tree.end(rootId);
  return tree;
}

function refuse(tree: SampleTree, runId: string): void {
  tree.add(runId, { type: "spawn-refused", label: "more", errorType: "depth_limit", message: "Too deep." });
}

async function appendOneByOne(store: Store, { rootId, events }: SampleTree): Promise<void> {
  for (const event of events) {
    await store.append(rootId, [event]);
    await nextTurn();
  }
}

/** Lets others take their turn, also when a store answers at once. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** More than any of these checks needs. */
const MAX_PAGES = 1_000;

async function pages(store: Store, query: TotalsQuery): Promise<Totals[]> {
  const answers: Totals[] = [];
  for (let after = query.after; ; after = answers.at(-1)?.mark) {
    const answer = await store.totals({ ...query, after });
    answers.push(answer);
    assert.ok(answers.length <= MAX_PAGES, "its pages come to an end");
    if (answer.isComplete) return answers;
    assert.deepEqual(answer.unended, []);
  }
}

function agentsOf(tallies: readonly Tally[]): string[] {
  return tallies.flatMap((tally) => (tally.kind === "run" ? [tally.agent] : []));
}

function byAgent(one: object, other: object): number {
  const agentOf = (value: object) => ("agent" in value ? String(value.agent) : "");
  return agentOf(one) < agentOf(other) ? -1 : 1;
}

function byId(records: readonly RunRecord[]): RunRecord[] {
  return records.toSorted((one, other) => (one.id < other.id ? -1 : 1));
}
