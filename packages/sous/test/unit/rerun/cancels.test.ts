/** Trees that are cancelled at a random event: at once or a little later, the root or another run, in any mode. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { SousEvent, StoredEvent } from "../../../src/core/event.ts";
import type { RunHandle } from "../../../src/core/runtime.ts";
import { rerun } from "../../../src/rerun.ts";
import { createRuntime } from "../../../src/runtime.ts";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { between, chance, createWorld, pick, seededRandom } from "../../../src/testing/world.ts";
import { agentsOf, toolsOf } from "../../figures/r13-tree.ts";
import { randomAnswers } from "../../figures/random-answers.ts";
import { storeOf } from "../../support/rerun/support.ts";

/**
 * Those of the first hundred that differed while reruns had to guess what a cancel does at its moment, some that differed while
 * profiles took time to build, and some more. Of other seeds 6 in 1,000 still differ: a cancel at the very moment of a result.
 */
const SEEDS = [1, 2, 4, 8, 17, 19, 31, 52, 1003, 1010, 1033, 1064, 1078, 1227, 1229, 497_610_568];

suite("G4: a rerun of a tree that was cancelled is the same", () => {
  for (const seed of SEEDS) {
    test(`the rerun of the tree of seed ${seed} is the same`, async () => {
      const events = await recordCancelled(seed);
      const rootId = events[0]?.runId ?? "";
      const agents = agentsOf(toolsOf(() => Promise.reject(new Error("A tool has run")), seededRandom(1, "never")));
      for (const given of [agents, undefined]) {
        const { firstDifference } = await rerun(rootId, { store: storeOf(events), agents: given });
        assert.equal(firstDifference?.sentence, undefined);
      }
    });
  }
});

async function recordCancelled(seed: number): Promise<readonly StoredEvent[]> {
  const world = createWorld({ seed, maxSteps: 500_000 });
  const store = openMemoryStore();
  const random = seededRandom(seed, "cancels");
  const model = scriptedModel(
    { "**": randomAnswers(world, { maxChildren: 12, maxWork: 4, width: 4 }) },
    { clock: world.clock, schedule: (path) => world.turn(`model of ${path}`), price: { input: 3, output: 15 } },
  );
  const [lead, ...agents] = agentsOf(toolsOf(() => world.turn("a tool"), world.random("tools")));
  assert.ok(lead !== undefined);
  const approve = async () => {
    await world.turn("a person");
    return { allow: true } as const;
  };
  const limits = { outputMaxSize: 1024, maxConcurrent: 1000, maxDepth: 3 };
  const runtime = createRuntime({ store, host: world.host, agents, approve, limits });
  let left = between(random, 3, 120);
  const mode = pick(random, ["stop", "wrap-up", "last-words"] as const);
  const isAtOnce = chance(random, 0.5);
  const isRoot = chance(random, 0.6);
  let handle: RunHandle | undefined;
  const onEvent = ({ seq, path }: SousEvent) => {
    if (seq === undefined) return;
    left -= 1;
    if (left !== 0) return;
    const cancel = () => void handle?.cancel(isRoot ? "lead" : path, { mode });
    if (isAtOnce) cancel();
    else void world.turn("a cancel").then(cancel);
  };
  await world.run(async () => {
    handle = runtime.run(lead.with({ model }), "Begin.", { onEvent });
    await handle.then(ignore, ignore);
  });
  return store.read(handle?.id ?? "");
}

function ignore(): void {}
