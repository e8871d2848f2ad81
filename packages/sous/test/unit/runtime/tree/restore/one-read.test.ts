/** A resume reads every stored event once, and folds it once. */

import assert from "node:assert/strict";
import { suite, type TestContext, test } from "node:test";
import { type Continuation, chooseRun, continueRun } from "../../../../../src/app/cli/commands/resume.ts";
import type { StoredEvent } from "../../../../../src/core/event.ts";
import { NO_OWNER, type Store } from "../../../../../src/core/store.ts";
import { EarlierTree } from "../../../../../src/runtime/tree/restore/earlier-tree.ts";
import { openMemoryStore } from "../../../../../src/storage/store/memory.ts";
import { calls, says } from "../../../../../src/testing/steps.ts";
import { openStage, type Stage, simpleTool } from "../../../../support/requirements/support.ts";
import { resultsOf } from "../../../../support/runtime/tree/restore/crash-points.ts";
import { openTown, resultsIn } from "../../../../support/runtime/tree/restore/parking.ts";

const SCRIPT: Parameters<typeof openStage>[0] = {
  lead: (request) =>
    request.messages.at(-1)?.role === "user" && request.messages.length > 1
      ? says("And that is all.")
      : resultsOf(request, "subagent").length === 0
        ? calls("subagent", { label: "a", task_prompt: "Look." })
        : says("Done."),
  "lead/a": (request) => (resultsOf(request, "look").length === 0 ? calls("look") : says("Seen.")),
};

const leadOf = (stage: Stage) => stage.lead({ tools: [simpleTool("look")] });

/** A tree on a stage of its own, cut behind the first event that matches; whole when none does. */
async function cutTree(isLast: (event: StoredEvent) => boolean): Promise<{ stage: Stage; rootId: string }> {
  const first = openStage(SCRIPT);
  const { runId: rootId } = await first.run(leadOf(first));
  const events = await first.store.read(rootId);
  const index = events.findIndex(isLast);
  const store = openMemoryStore();
  await store.append(rootId, index < 0 ? events : events.slice(0, index + 1), NO_OWNER);
  return { stage: openStage(SCRIPT, { runtime: { store }, seed: 2 }), rootId };
}

const inTheChild = ({ type, depth }: StoredEvent) => type === "tool-call-start" && depth === 1;

/** What was read of the events that are stored now, when everything is over: their numbers, in the order of the reads. */
async function watchReads(t: TestContext, store: Store, rootId: string) {
  const stored = (await store.read(rootId)).map(({ seq }) => seq);
  const { mock } = t.mock.method(store, "read");
  const seen = async (): Promise<number[]> => {
    const reads = await Promise.all(mock.calls.map(({ result }) => result ?? []));
    return reads.flatMap((events) => events.filter((each) => stored.includes(each.seq)).map(({ seq }) => seq));
  };
  return { stored, seen };
}

suite("G5: the events that a resume reads", () => {
  test("a resume of an interrupted tree with a child reads each event once", async (t) => {
    const { stage, rootId } = await cutTree(inTheChild);
    const { stored, seen } = await watchReads(t, stage.store, rootId);
    const result = await stage.world.run(() => stage.runtime.resume(rootId, { agent: leadOf(stage) }));
    assert.deepEqual([result.status, result.text], ["completed", "Done."]);
    assert.deepEqual(await seen(), stored);
  });

  test("a message to a tree that had ended reads each event once", async (t) => {
    const { stage, rootId } = await cutTree(() => false);
    const { stored, seen } = await watchReads(t, stage.store, rootId);
    const result = await stage.world.run(() => stage.runtime.resume(rootId, { agent: leadOf(stage), message: "And?" }));
    assert.deepEqual([result.status, result.text], ["completed", "And that is all."]);
    assert.deepEqual(await seen(), stored);
  });

  test("a resume that waits for another answer reads each event once, and then only what is new", async (t) => {
    const town = openTown({
      script: {
        lead: (request) =>
          resultsIn(request, "pay").length === 0
            ? [calls("pay", { amount: 5 }, "p1"), calls("pay", { amount: 7 }, "p2")]
            : says("Paid."),
      },
    });
    const { result: parked, handle } = await town.process().run();
    const [first, second] = parked.questions;
    const { stored, seen } = await watchReads(t, town.store, handle.id);
    const { result } = await town.process().resume(handle.id, { answers: { [first?.id ?? ""]: { allow: true } } });
    assert.deepEqual(result.questions, [second]);
    assert.deepEqual(await seen(), stored);
  });

  test("a copy reads the events of its run once, and no others", async (t) => {
    const { stage, rootId } = await cutTree(() => false);
    const { stored, seen } = await watchReads(t, stage.store, rootId);
    const copy = await stage.world.run(() => stage.runtime.fork(rootId, { agent: leadOf(stage), message: "And?" }));
    assert.equal(copy.text, "And that is all.");
    const read = await seen();
    const ofRoot = (await stage.store.read(rootId, { runId: rootId })).map(({ seq }) => seq);
    assert.ok(ofRoot.length < stored.length, "the child is not read at all");
    assert.deepEqual(read, ofRoot);
  });

  for (const isFork of [false, true]) {
    test(`sous resume${isFork ? " --fork" : ""} hands what it has read to the runtime, which reads nothing again`, async (t) => {
      const { stage, rootId } = await cutTree(inTheChild);
      const { stored, seen } = await watchReads(t, stage.store, rootId);
      const how: Continuation = {
        isFork,
        at: undefined,
        moreTokens: undefined,
        moreUsd: undefined,
        seconds: 60,
        maxTurns: undefined,
      };
      const search = { cwd: "/", elsewhere: "take", again: (id: string) => id } as const;
      const watch = { onEvent: () => {}, signal: undefined };
      const { status } = await stage.world.run(async () => {
        const chosen = await chooseRun(stage.store, rootId, how, search);
        return continueRun({ runtime: stage.runtime, agent: leadOf(stage) }, chosen, how, watch);
      });
      assert.equal(status, "completed");
      assert.deepEqual(await seen(), stored);
    });
  }
});

suite("G5: another process between the read and the claim", () => {
  test("events that another process has stored since the tree was read are added to it", async () => {
    const { stage, rootId } = await cutTree(({ type }) => type === "run-start");
    const earlier = await EarlierTree.read(stage.store, rootId);
    const other = openStage(SCRIPT, { runtime: { store: stage.store }, seed: 3 });
    const lead = leadOf(other);
    await other.world.run(() => other.runtime.resume(rootId, { agent: lead }));
    await earlier.readOn(stage.store);
    const known = ({ events, counted, denied, questions, lastSeq, root, runs }: EarlierTree) => ({
      ...{ events, counted, denied, lastSeq, root: root.state, questions: questions.list() },
      runs: [...runs].map(({ runId, state, children }) => [runId, state, children.map((child) => child.runId)]),
    });
    assert.deepEqual(known(earlier), known(await EarlierTree.read(stage.store, rootId)));
    assert.equal(earlier.root.state.end?.status, "completed");
  });

  test("a run that another process has completed between the read and the claim is refused", async (t) => {
    const { stage, rootId } = await cutTree(inTheChild);
    const claim = stage.store.claim.bind(stage.store);
    const other = openStage(SCRIPT, { runtime: { store: stage.store }, seed: 3 });
    // The other process is faster: it claims the tree and completes it between our read and our claim.
    const { mock } = t.mock.method(stage.store, "claim", async (id: string) => {
      mock.restore();
      await other.world.run(() => other.runtime.resume(rootId, { agent: leadOf(other) }));
      return claim(id);
    });
    await assert.rejects(Promise.resolve(stage.runtime.resume(rootId, { agent: leadOf(stage) })), {
      name: "UserError",
      message: `Run ${rootId} has completed. Give it a message to continue with, or fork it.`,
    });
    assert.equal((await stage.store.run(rootId))?.status, "completed");
  });
});
