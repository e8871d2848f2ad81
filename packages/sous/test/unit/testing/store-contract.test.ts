/** The contract on the memory store, and stores that break it. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { StoredEvent } from "../../../src/core/event.ts";
import type { RunRecord, Store } from "../../../src/core/store.ts";
import type { Tally } from "../../../src/core/totals.ts";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import { storeContract } from "../../../src/testing/store-contract.ts";
import { wrapStore } from "../../support/testing/faults.ts";

storeContract(test, async () => openMemoryStore());

suite("the contract of stores", () => {
  const broken: [what: string, change: (inner: Store) => Partial<Store>, found: string[]][] = [
    [
      "keeps the first part of a failing append",
      (inner) => ({
        async append(rootId, events) {
          for (const event of events) await inner.append(rootId, [event]);
        },
      }),
      ["an append is kept whole or not at all"],
    ],
    [
      "loses the last event of an append",
      (inner) => ({
        append: (rootId, events) => inner.append(rootId, events.slice(0, Math.max(1, events.length - 1))),
      }),
      ["what was appended is read back as it was, in the same order", "a large tree is kept whole"],
    ],
    [
      "reads backwards",
      (inner) => ({ read: async (...given) => [...(await inner.read(...given))].reverse() }),
      [
        "what was appended is read back as it was, in the same order",
        "a part can be read: after a number, of one run, a few at a time",
      ],
    ],
    [
      "lists oldest first",
      (inner) => ({ list: async (query) => (await inner.list(query)).reverse() }),
      ["runs are listed newest first, by pages and by filters"],
    ],
    [
      "cuts long labels",
      (inner) => ({ append: (rootId, events) => inner.append(rootId, events.map(withShortLabel)) }),
      ["hostile labels and texts are kept as they are and do nothing"],
    ],
    [
      "throws for an unknown run",
      (inner) => ({
        run: async (runId) => {
          const found = await inner.run(runId);
          if (found === undefined) throw new Error("No such run");
          return found;
        },
      }),
      ["unknown ids are nothing, not an error"],
    ],
    [
      "lets any process write",
      (inner) => ({ append: (rootId, events) => inner.append(rootId, events) }),
      [
        "the process that begins a tree may write it, and none with another number",
        "a claim that was given back can be taken over, and its earlier owner is refused",
        "a tree that is imported has no owner until it is claimed",
      ],
    ],
    [
      "gives a tree to every process that wants it",
      () => ({ claim: async () => ({ fence: 2 }) }),
      [
        "a tree that a process works on cannot be claimed",
        "of several that claim a tree at once one gets it",
        "only trees that are there can be claimed, by the id of their root",
      ],
    ],
    [
      "keeps a claim that was given back",
      () => ({ release: async () => {} }),
      [
        "a claim that was given back can be taken over, and its earlier owner is refused",
        "a run that has not ended and has no owner is interrupted",
      ],
    ],
    [
      "takes any number for the latest claim",
      (inner) => ({ release: (rootId) => inner.release(rootId, 1) }),
      ["giving back a claim that is not the latest changes nothing"],
    ],
    [
      "does not say that a run has no owner",
      (inner) => ({
        run: async (runId) => atWork(await inner.run(runId)),
        tree: async (rootId) => (await inner.tree(rootId)).map(atWork),
      }),
      [
        "a tree that is imported has no owner until it is claimed",
        "a run that has not ended and has no owner is interrupted",
        "a run that has not ended and has no owner waits while its tree has an unanswered question",
      ],
    ],
    [
      "does not say that a run waits for an answer",
      (inner) => ({
        run: async (runId) => interrupted(await inner.run(runId)),
        list: async (query) => (await inner.list(query)).map(interrupted),
      }),
      ["a run that has not ended and has no owner waits while its tree has an unanswered question"],
    ],
    [
      "lists a run as waiting after its question was answered",
      (inner) => ({
        append: (rootId, events, fence) =>
          inner.append(
            rootId,
            events.map((event) => (event.type === "approval-end" ? { ...event, callId: "call_0" } : event)),
            fence,
          ),
      }),
      [
        "a run that has not ended and has no owner waits while its tree has an unanswered question",
        "a question is over with its answer, the result of its call, and the end of a run that asks",
      ],
    ],
    [
      "forgets what was lost",
      () => ({ markLost: async () => {} }),
      ["a root says when not everything in its tree was kept"],
    ],
    [
      "deletes a tree in its list only",
      (inner) => ({ delete: async (rootId) => (await inner.run(rootId)) !== undefined }),
      ["a tree is deleted whole, and nothing else", "a tree that a process works on is not deleted"],
    ],
    [
      "prunes everything that is old",
      (inner) => ({
        async prune(before) {
          const old = (await inner.list({ rootsOnly: true })).filter(({ startedAt }) => startedAt < before);
          for (const { id } of old) await inner.release(id, 1);
          return inner.prune(before);
        },
      }),
      ["a tree that a process works on is not deleted", "trees are pruned by the age of their root"],
    ],
    [
      "loses the totals of a tree that is deleted",
      (inner) => {
        const deleted = new Set<string>();
        return {
          async delete(rootId) {
            for (const { agent } of await inner.tree(rootId)) deleted.add(agent);
            return inner.delete(rootId);
          },
          totals: without((tally) => tally.kind === "run" && deleted.has(tally.agent), inner),
        };
      },
      ["deleting a tree keeps its lines, and counts what had not ended as interrupted"],
    ],
    [
      "counts a refused child as nothing",
      (inner) => ({ totals: without(({ kind }) => kind === "refusal", inner) }),
      ["its totals are the ends and the refused children of the journal, in their order"],
    ],
    [
      "counts an unknown cost as none",
      (inner) => ({
        async totals(query) {
          const totals = await inner.totals(query);
          return { ...totals, tallies: totals.tallies.map((tally) => ({ ...tally, costUsd: 0 })) };
        },
      }),
      ["its totals are the ends and the refused children of the journal, in their order"],
    ],
    [
      "counts everything again after a mark",
      (inner) => ({ totals: ({ after: _after, ...query } = {}) => inner.totals(query) }),
      [
        "a mark leads to what follows it, and to nothing twice",
        "a mark that it did not give, and a limit of none, are refused",
        "totals that are read while others write lose nothing and count nothing twice",
      ],
    ],
    [
      "counts all times",
      (inner) => ({ totals: ({ since: _since, ...query } = {}) => inner.totals(query) }),
      ["the totals of what started since a time"],
    ],
    [
      "reads the runs that have not ended at another moment",
      (inner) => {
        let before: readonly RunRecord[] = [];
        return {
          async totals(query) {
            const totals = await inner.totals(query);
            if (!totals.isComplete) return totals;
            const unended = before;
            before = totals.unended;
            return { ...totals, unended };
          },
        };
      },
      [
        "runs that have not ended are told apart as in a list, and are counted when they end",
        "totals that are read while others write lose nothing and count nothing twice",
      ],
    ],
    [
      "counts an imported tree",
      (inner) => ({
        async append(rootId, events, fence) {
          await inner.append(rootId, events, fence === 0 ? 1 : fence);
          if (fence === 0) await inner.release(rootId, 1);
        },
      }),
      ["an imported tree is not counted: it was paid for elsewhere"],
    ],
  ];
  for (const [what, change, found] of broken) {
    test(`the contract finds a store that ${what}`, async () => {
      const failed = await failedPromises(found, () => {
        const inner = openMemoryStore();
        return wrapStore(inner, change(inner));
      });
      assert.deepEqual(failed.toSorted(), found.toSorted());
    });
  }
});

/** Which of these promises a store breaks. */
async function failedPromises(asked: readonly string[], open: () => Store): Promise<string[]> {
  const checks = new Map<string, () => Promise<void>>();
  storeContract(
    (name, run) => checks.set(name.replace("a store: ", ""), run),
    async () => open(),
  );
  const failed: string[] = [];
  for (const name of asked)
    await checks
      .get(name)?.()
      .catch(() => failed.push(name));
  return failed;
}

function without(isLost: (tally: Tally) => boolean, inner: Store): Store["totals"] {
  return async (query) => {
    const totals = await inner.totals(query);
    return { ...totals, tallies: totals.tallies.filter((tally) => !isLost(tally)) };
  };
}

function atWork<Answer extends RunRecord | undefined>(record: Answer): Answer {
  return record?.status === "interrupted" || record?.status === "waiting" ? { ...record, status: "running" } : record;
}

function interrupted<Answer extends RunRecord | undefined>(record: Answer): Answer {
  return record?.status === "waiting" ? { ...record, status: "interrupted" } : record;
}

function withShortLabel(event: StoredEvent): StoredEvent {
  return event.type === "run-start" ? { ...event, label: event.label.slice(0, 100) } : event;
}
