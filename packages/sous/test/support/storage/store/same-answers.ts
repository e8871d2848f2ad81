/** Uses two stores in the same random way and compares every answer: what memory does, every other store does too. */

import assert from "node:assert/strict";
import { messageOf } from "../../../../src/core/errors.ts";
import type { StoredBody } from "../../../../src/core/event.ts";
import { FIRST_FENCE, NO_OWNER, type RunQuery, type Store } from "../../../../src/core/store.ts";
import type { Totals } from "../../../../src/core/totals.ts";
import { type SampleTree, sampleTree } from "../../../../src/testing/sample-tree.ts";
import { between, chance, pick, seededRandom } from "../../../../src/testing/world.ts";

/** A tree as its journal knows it: what was said, how much of it is kept, and under which claim. */
type Written = { tree: SampleTree; kept: number; runs: [string, ...string[]]; live: Set<string>; fence: number };

type Change = (rootId: string) => Promise<unknown>;

export async function checkSameAnswers(expected: Store, actual: Store, seed: number, steps: number): Promise<void> {
  const random = seededRandom(seed);
  const written = new Map<string, Written>();

  async function both<Answer>(
    what: string,
    ask: (store: Store) => Answer | Promise<Answer>,
  ): Promise<Answer | undefined> {
    const [wanted, given] = [await answerOf(expected, ask), await answerOf(actual, ask)];
    assert.deepEqual(given.shown, wanted.shown, `seed ${seed}: ${what}`);
    return wanted.answer;
  }

  async function append(rootId: string): Promise<void> {
    const one = written.get(rootId) ?? begin(rootId, between(random, 0, 4) * 1_000);
    goOn(one, random);
    const events = one.tree.events.slice(one.kept);
    if (events.length === 0) return;
    const isNew = one.kept === 0;
    const fence = chance(random, 0.2) ? between(random, NO_OWNER, isNew ? FIRST_FENCE : 3) : one.fence;
    const isKept = await both(`append ${events.length} to ${rootId} as ${fence}`, async (store) => {
      await store.append(rootId, events, fence);
      return true;
    });
    if (isKept === true) written.set(rootId, { ...one, kept: one.tree.events.length, fence });
  }

  const changes: [Change, ...Change[]] = [
    append,
    append,
    append,
    append,
    async (rootId) => {
      const claim = await both(`claim ${rootId}`, (store) => store.claim(rootId));
      const one = written.get(rootId);
      if (claim !== undefined && one !== undefined) one.fence = claim.fence;
    },
    (rootId) => {
      const fence = between(random, 1, 3);
      return both(`release ${rootId} ${fence}`, (store) => store.release(rootId, fence));
    },
    (rootId) => both(`mark ${rootId}`, (store) => store.markLost(rootId, `reason ${rootId}`)),
    async (rootId) => {
      if ((await both(`delete ${rootId}`, (store) => store.delete(rootId))) === true) written.delete(rootId);
    },
    async () => {
      const before = between(random, 0, 3) * 1_000;
      await both(`prune ${before}`, (store) => store.prune(before));
      for (const rootId of written.keys()) if ((await expected.tree(rootId)).length === 0) written.delete(rootId);
    },
  ];

  for (let step = 0; step < steps; step++) {
    const rootId = `root${between(random, 0, 3)}`;
    await pick(random, changes)(rootId);
    const runId = pick(random, written.get(rootId)?.runs ?? ["nobody"]);
    const query = randomQuery(random);
    const part = {
      after: chance(random, 0.3) ? between(random, 0, 9) : undefined,
      limit: chance(random, 0.5) ? between(random, 0, 5) : undefined,
      runId: chance(random, 0.5) ? runId : undefined,
    };
    await both(`list ${JSON.stringify(query)}`, (store) => store.list(query));
    await both(`read ${rootId} ${JSON.stringify(part)}`, (store) => store.read(rootId, part));
    await both(`tree ${rootId}`, (store) => store.tree(rootId));
    await both(`run ${runId}`, (store) => store.run(runId));
    await both(`children ${runId}`, (store) => store.children(runId));
    const since = chance(random, 0.3) ? between(random, 0, 4) * 1_000 : undefined;
    await both(`totals ${since}`, async (store) => inNoOrder(await store.totals({ since })));
  }
}

function begin(rootId: string, startTime: number): Written {
  const tree = sampleTree(rootId, startTime);
  tree.start(rootId);
  return { tree, kept: 0, runs: [rootId], live: new Set([rootId]), fence: 1 };
}

/** A few more events of runs that have not ended. */
function goOn({ tree, runs, live }: Written, random: () => number): void {
  for (let count = between(random, 0, 4); count > 0; count--) {
    const runId = pick(random, runs);
    if (!live.has(runId)) continue;
    const what = between(random, 0, 4);
    if (what === 0) {
      const child = `${tree.rootId}-${runs.length}`;
      tree.start(child, { parent: runId });
      runs.push(child);
      live.add(child);
    } else if (what === 1) {
      tree.end(runId, { costUsd: random(), status: chance(random, 0.5) ? "completed" : "failed" });
      live.delete(runId);
    } else if (what === 2 && chance(random, 0.3)) {
      tree.add(runId, { type: "spawn-refused", label: "more", errorType: "quota", message: "The budget is spent." });
    } else if (what === 2) {
      tree.add(runId, { type: "tool-call-start", callId: "call_1", toolName: "grep", input: {} });
    } else if (what === 3) {
      tree.add(runId, pick(random, ABOUT_A_QUESTION));
    } else {
      tree.turn(runId, "I look.", { inputTokens: between(random, 0, 99), totalTokens: between(random, 0, 99) });
    }
  }
}

const ABOUT_A_QUESTION: readonly [StoredBody, ...StoredBody[]] = [
  { type: "approval-request", callId: "call_1", toolName: "grep", input: {} },
  { type: "approval-request", callId: "call_2/0", toolName: "grep", input: {} },
  { type: "approval-end", callId: "call_1", allowed: true, by: "person", reason: undefined },
  { type: "tool-call-end", callId: "call_2", toolName: "grep", output: "", isError: false, durationMs: 0 },
];

function randomQuery(random: () => number): RunQuery {
  const sometimes = <Value>(value: Value) => (chance(random, 0.4) ? value : undefined);
  return {
    limit: sometimes(between(random, 0, 5)),
    offset: sometimes(between(random, 0, 2)),
    rootsOnly: sometimes(true),
    status: sometimes(pick(random, ["running", "interrupted", "waiting", "completed", "failed"] as const)),
    since: sometimes(between(random, 0, 4) * 1_000),
    idPrefix: sometimes(pick(random, ["root", "root1", "root2-", "x"])),
  };
}

/** Without the mark, which is of each store's own. */
function inNoOrder({ tallies, unended, isComplete }: Totals) {
  const sorted = (values: readonly unknown[]) => values.map(sortedJson).sort();
  return { tallies: sorted(tallies), unended: sorted(unended), isComplete };
}

function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_key, part) =>
    part !== null && typeof part === "object" && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
}

/** As JSON keeps it; of a fault its name, because each store has sentences of its own. */
async function answerOf<Answer>(store: Store, ask: (store: Store) => Answer | Promise<Answer>) {
  try {
    const answer = await ask(store);
    return { answer, shown: JSON.parse(JSON.stringify({ answer })) };
  } catch (error) {
    return { answer: undefined, shown: error instanceof Error ? error.name : messageOf(error) };
  }
}
