/** `sous doctor` about workers: who is at work, who died, and why runs wait. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Check } from "../../../../src/app/cli/doctor/machine.ts";
import { checkWorkers } from "../../../../src/app/cli/doctor/workers.ts";
import type { WorkerState } from "../../../../src/core/engine.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { samplePlaced, sampleTree } from "../../../../src/testing/sample-tree.ts";

const WORKER: WorkerState = {
  name: "one",
  agents: ["scout"],
  places: 2,
  where: "process 12 on host",
  isAlive: true,
  isWatched: true,
  held: 0,
};

/** A store with a root at work and these placed children, and workers as they are given. */
async function storeWith(runIds: readonly string[], workers: readonly WorkerState[], cwd?: string) {
  const store = openMemoryStore();
  const tree = sampleTree("lead");
  const root = tree.start("lead");
  store.append("lead", tree.events);
  const starts = runIds.map((id) => samplePlaced(root, "lead", id, "scout").events[0]);
  await store.placing.place(starts.flatMap((start) => (start?.type === "run-start" ? [{ ...start, cwd }] : [])));
  return {
    list: store.list.bind(store),
    read: store.read.bind(store),
    placing: { ...store.placing, take: store.placing.take.bind(store.placing), workers: async () => [...workers] },
    store,
  };
}

function told(checks: readonly Check[]): string[] {
  return checks.map(({ name, state, found, fix }) => [`${state} ${name}: ${found}`, fix].filter(Boolean).join(" | "));
}

/** When the sample runs were placed, and 65 seconds. */
async function later(store: Awaited<ReturnType<typeof storeWith>>): Promise<number> {
  const queued = await store.list({ status: "queued" });
  return Math.min(...queued.map(({ startedAt }) => startedAt)) + 65_000;
}

suite("sous doctor and workers", () => {
  test("nothing is said where nothing is placed and no worker is known", async () => {
    const store = openMemoryStore();
    const tree = sampleTree("lead");
    tree.start("lead");
    store.append("lead", tree.events, 0);
    assert.deepEqual(await checkWorkers(store, 0), []);
  });

  test("a worker at work is shown with where it is, its places and its agents", async () => {
    const store = await storeWith([], [{ ...WORKER, folder: "/work", held: 1, agents: ["sous", "scout"] }]);
    assert.deepEqual(told(await checkWorkers(store, 0)), [
      "ok worker one: at work in process 12 on host, folder /work, 1 of 2 places taken, agents sous, scout",
    ]);
  });

  test("a worker whose death would be seen late is a warning, and so is one that died with runs", async () => {
    const store = await storeWith(
      [],
      [
        { ...WORKER, isWatched: false },
        { ...WORKER, name: "two", isAlive: false, held: 2 },
        { ...WORKER, name: "three", isAlive: false },
      ],
    );
    const [one, two, three] = told(await checkWorkers(store, 0));
    assert.match(
      one ?? "",
      /^warning worker one: .*its death would be seen only after 10 seconds \| give it connections/,
    );
    assert.match(two ?? "", /^warning worker two: process 12 on host died, or was cut off, and had 2 runs \| /);
    assert.equal(three, "ok worker three: process 12 on host died, or was cut off, and had nothing");
  });

  const reasons: [what: string, workers: WorkerState[], found: RegExp][] = [
    [
      "no worker is at work",
      [{ ...WORKER, isAlive: false }],
      /^warning .*; no worker is at work \| start sous worker in \/w;/,
    ],
    [
      "no living worker knows the agent",
      [{ ...WORKER, agents: ["other"] }],
      /^warning .*; no living worker knows the agent scout \|/,
    ],
    ["no living worker is in the folder", [{ ...WORKER, folder: "/x" }], /; no living worker is in the folder \/w \|/],
    ["all workers are full", [{ ...WORKER, held: 2 }], /; waiting for a place: .* are full \| start another worker/],
    ["a worker takes it now", [{ ...WORKER, folder: "/w" }], /^ok queued runs: .*; a worker takes them now$/],
  ];
  for (const [what, workers, found] of reasons) {
    test(`a run that is queued because ${what} says so, and for how long`, async () => {
      const store = await storeWith(["a", "b"], workers, "/w");
      const [line = ""] = told(await checkWorkers(store, await later(store))).slice(workers.length);
      assert.match(line, / queued runs: 2 runs wait, the first for 1m0?5s/);
      assert.match(line, found);
    });
  }

  test("a run whose worker is gone is told apart from a queued one and from an interrupted root", async () => {
    const store = await storeWith(["a", "b"], [WORKER]);
    const [taken] = await store.placing.take(WORKER, 1);
    await store.store.release("a", taken?.fence ?? 0);
    await store.store.release("lead", 1);
    assert.deepEqual(
      (await checkWorkers(store, 0)).map(({ name, found }) => `${name}: ${found.split(" ")[0]}`),
      ["worker one: at", "queued runs: 1", "lost workers: 1"],
    );
  });
});
