/** Places, takes and writes runs in two stores in the same random way and compares every answer: what memory does, every other store does too. */

import assert from "node:assert/strict";
import type { MailBody, PlacingStore, TakenJournal } from "../../../../src/core/engine.ts";
import { messageOf } from "../../../../src/core/errors.ts";
import type { StoredBody } from "../../../../src/core/event.ts";
import { FIRST_FENCE, type Store } from "../../../../src/core/store.ts";
import { answerTo, startOf } from "../../../../src/testing/placing-samples.ts";
import { type SampleTree, samplePlaced, sampleTree } from "../../../../src/testing/sample-tree.ts";
import { between, chance, pick, seededRandom } from "../../../../src/testing/world.ts";

type Placer = Store & PlacingStore;
type Written = { tree: SampleTree; kept: number; fence: number; rootId: string };

const ROOTS = ["root0", "root1"] as const;
const AGENTS = ["scout", "writer"] as const;

export async function checkSamePlacing(expected: Placer, actual: Placer, seed: number, steps: number): Promise<void> {
  const random = seededRandom(seed);
  const journals = new Map<string, Written>();
  let made = 0;

  async function both<Answer>(what: string, ask: (store: Placer) => Promise<Answer>): Promise<Answer | undefined> {
    const [wanted, given] = [await answerOf(expected, ask), await answerOf(actual, ask)];
    assert.deepEqual(given.shown, wanted.shown, `seed ${seed}: ${what}`);
    return wanted.answer;
  }

  const anyJournal = (): string => pick(random, ["nobody", ...journals.keys()]);

  async function begin(): Promise<void> {
    const rootId = pick(random, ROOTS);
    if (journals.has(rootId)) return;
    const tree = sampleTree(rootId, between(random, 1, 4) * 1_000);
    tree.start(rootId, { details: { cwd: `/srv/${rootId}` } });
    await both(`begin ${rootId}`, async (store) => store.append(rootId, tree.events));
    journals.set(rootId, { tree, kept: 1, fence: FIRST_FENCE, rootId });
  }

  async function place(): Promise<void> {
    const above = journals.get(anyJournal());
    if (above === undefined) return;
    const placed = Array.from({ length: between(random, 1, 3) }, () => {
      made += 1;
      const rootId = chance(random, 0.9) ? above.rootId : pick(random, ROOTS);
      return samplePlaced(startOf(above.tree), rootId, `${above.rootId}-${made}`, pick(random, AGENTS));
    });
    const again = [...journals.values()].filter(({ tree, rootId }) => tree.rootId !== rootId && chance(random, 0.1));
    const starts = [...placed, ...again.map(({ tree }) => tree)].map(startOf);
    const isPlaced = await both(`place ${starts.map(({ runId }) => runId)}`, async (store) => {
      await store.placing.place(starts);
      return true;
    });
    if (isPlaced !== true) return;
    for (const tree of placed) journals.set(tree.rootId, { tree, kept: 1, fence: 0, rootId: above.rootId });
  }

  async function take(): Promise<void> {
    const facts = { name: "one", agents: chance(random, 0.5) ? [...AGENTS] : [pick(random, AGENTS)], places: 9 };
    const limit = between(random, 0, 3);
    const taken = await both(`take ${limit}`, (store) => store.placing.take(facts, limit));
    for (const { journalId, fence } of taken ?? ([] as TakenJournal[])) {
      const one = journals.get(journalId);
      if (one !== undefined) one.fence = fence;
    }
  }

  async function write(): Promise<void> {
    const one = journals.get(anyJournal());
    if (one === undefined) return;
    const { tree } = one;
    const isOver = tree.events.some(({ type, runId }) => type === "run-end" && runId === tree.rootId);
    if (isOver) return;
    for (let count = between(random, 1, 2); count > 0; count--) tree.add(tree.rootId, pick(random, BODIES));
    if (chance(random, 0.2)) tree.end(tree.rootId, { costUsd: random() });
    const events = tree.events.slice(one.kept);
    const fence = chance(random, 0.1) ? between(random, 1, 3) : one.fence;
    await both(`append ${events.map(({ type }) => type)} to ${tree.rootId} as ${fence}`, async (store) =>
      store.append(tree.rootId, events, fence),
    );
    one.kept = (await expected.read(tree.rootId)).length;
    // What was refused is written with the next attempt.
  }

  async function post(): Promise<void> {
    const mail = Array.from({ length: between(random, 1, 2) }, () => {
      const to = anyJournal();
      return { to, isForTree: chance(random, 0.3), body: bodyFor(to, random) };
    });
    await both(`post ${JSON.stringify(mail)}`, (store) => store.placing.post(mail));
  }

  const changes: [() => Promise<unknown>, ...(() => Promise<unknown>)[]] = [
    begin,
    place,
    place,
    take,
    take,
    write,
    write,
    write,
    post,
    async () => {
      const one = journals.get(anyJournal());
      if (one === undefined) return;
      await both(`release ${one.tree.rootId}`, (store) => store.release(one.tree.rootId, one.fence));
    },
    async () => {
      const one = journals.get(anyJournal());
      const claim = one && (await both(`claim ${one.tree.rootId}`, (store) => store.claim(one.tree.rootId)));
      if (one !== undefined && claim !== undefined) one.fence = claim.fence;
    },
    async () => {
      if (chance(random, 0.7)) return;
      const rootId = anyJournal();
      const isDeleted = await both(`delete ${rootId}`, (store) => store.delete(rootId));
      if (isDeleted !== true) return;
      for (const [id, one] of journals) if (one.rootId === rootId) journals.delete(id);
    },
    async () => {
      if (chance(random, 0.8)) return;
      const pruned = between(random, 1, 4) * 1_000;
      await both(`prune ${pruned}`, (store) => store.prune(pruned));
      for (const [id, { rootId }] of journals) if ((await expected.run(rootId)) === undefined) journals.delete(id);
    },
  ];

  for (let step = 0; step < steps; step++) {
    await pick(random, changes)();
    const rootId = pick(random, ROOTS);
    const journalId = anyJournal();
    const status = pick(random, ["running", "queued", "interrupted", "waiting", "completed"] as const);
    await both(`journals of ${rootId}`, (store) => store.placing.journals(rootId));
    await both(`tree ${rootId}`, (store) => store.tree(rootId));
    await both(`run ${journalId}`, (store) => store.run(journalId));
    await both(`children of ${journalId}`, async (store) =>
      (await store.children(journalId)).map(({ id }) => id).sort(),
    );
    await both(`list ${status}`, async (store) => (await store.list({ status })).map(({ id }) => id).sort());
    await both(`list ${rootId}`, async (store) => (await store.list({ rootId })).map(({ id }) => id).sort());
    await both("ends", async (store) => {
      const ends = await store.placing.ends([...journals.keys()]);
      return ends.map(({ runId, costUsd }) => `${runId} ${costUsd}`).sort();
    });
    await both("mail", async (store) => {
      const mail = await store.placing.mail([...journals.keys()], 0);
      const last = mail.at(-1)?.id ?? 0;
      assert.deepEqual(await store.placing.mail([...journals.keys()], last), []);
      return Object.fromEntries(
        Map.groupBy(mail, (each) => each.journalId)
          .entries()
          .map(([to, all]) => [to, all.map(({ body }) => body)]),
      );
    });
    await both("totals", async (store) => {
      const { tallies, unended } = await store.totals();
      const lines = tallies.map((each) => (each.kind === "run" ? `${each.agent} ${each.status} ${each.project}` : ""));
      return { lines: lines.sort(), unended: unended.map(({ id, status }) => `${id} ${status}`).sort() };
    });
  }
}

const BODIES: readonly [StoredBody, ...StoredBody[]] = [
  { type: "resume", usedMs: 0, worker: "one" },
  { type: "turn-start", turn: 1, promptTokens: 10, reserved: 0 },
  { type: "approval-request", callId: "call_1", toolName: "grep", input: {} },
  { type: "approval-request", callId: "call_2", toolName: "grep", input: {} },
  { type: "approval-end", callId: "call_1", allowed: true, by: "person", reason: undefined },
  { type: "tool-call-end", callId: "call_2", toolName: "grep", output: "", isError: false, durationMs: 0 },
  { type: "tool-call-start", callId: "call_1", toolName: "grep", input: {} },
];

function bodyFor(to: string, random: () => number): MailBody {
  const callId = pick(random, ["call_1", "call_2"] as const);
  return pick<MailBody>(random, [
    { kind: "stop", mode: "stop" },
    { kind: "steer", path: to, text: "Well?" },
    answerTo(callId, to, to).body,
  ]);
}

/** As JSON keeps it; of a fault its name, because each store has sentences of its own. */
async function answerOf<Answer>(store: Placer, ask: (store: Placer) => Promise<Answer>) {
  try {
    const answer = await ask(store);
    return { answer, shown: JSON.parse(JSON.stringify({ answer })) };
  } catch (error) {
    return { answer: undefined, shown: error instanceof Error ? error.name : messageOf(error) };
  }
}
