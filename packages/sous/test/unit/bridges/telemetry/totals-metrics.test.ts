/** F4: what a database adds up to: read by pages, right while others write, and never less than before. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createRegistry } from "../../../../src/bridges/telemetry/registry.ts";
import { measureStore } from "../../../../src/bridges/telemetry/totals-metrics.ts";
import type { Store } from "../../../../src/core/store.ts";
import type { Tally, Totals } from "../../../../src/core/totals.ts";
import { noUsage } from "../../../../src/core/usage.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";
import { samplesOf } from "../../../support/bridges/telemetry/metric-text.ts";

const ENDED: Tally = {
  kind: "run",
  agent: "lead",
  model: "openai/gpt",
  depth: 0,
  startedAt: 0,
  status: "completed",
  errorType: undefined,
  durationMs: 10,
  turns: 1,
  usage: { ...noUsage(), inputTokens: 2, outputTokens: 1, totalTokens: 3 },
  costUsd: 0.5,
  project: undefined,
};

/** A store whose pages are given. */
function paged(pages: (Partial<Totals> | Error)[]): Pick<Store, "totals"> & { asked: (string | undefined)[] } {
  const asked: (string | undefined)[] = [];
  const totals: Store["totals"] = async (query = {}) => {
    asked.push(query.after);
    const page = pages.shift() ?? {};
    if (page instanceof Error) throw page;
    return { tallies: [], unended: [], mark: `mark ${asked.length}`, isComplete: true, ...page };
  };
  return { totals, asked };
}

test("F4: pages are read one after the other, each from the mark of the one before, and none twice", async () => {
  const store = paged([{ tallies: [ENDED], isComplete: false }, { tallies: [ENDED, ENDED] }, { tallies: [ENDED] }]);
  const registry = createRegistry();
  const stored = measureStore(store, registry);
  await stored.refresh();
  assert.deepEqual(store.asked, [undefined, "mark 1"]);
  assert.deepEqual(samplesOf(registry.render(), "executions"), { '{depth="0"}': 3 });
  await stored.refresh();
  assert.deepEqual(store.asked, [undefined, "mark 1", "mark 2"]);
  assert.deepEqual(samplesOf(registry.render(), "cost"), { '{agent="lead"}': 2 });
});

test("F4: a read that fails keeps what was counted, and the next one continues behind it", async () => {
  const store = paged([{ tallies: [ENDED], isComplete: false }, new Error("The disk is gone"), { tallies: [ENDED] }]);
  const registry = createRegistry();
  const stored = measureStore(store, registry);
  await assert.rejects(stored.refresh(), /The disk is gone/);
  await stored.refresh();
  assert.deepEqual(store.asked, [undefined, "mark 1", "mark 1"]);
  assert.deepEqual(samplesOf(registry.render(), "completions"), { '{depth="0",status="complete"}': 2 });
});

test("F4: readers that come at the same time share one read", async () => {
  const store = paged([{ tallies: [ENDED] }]);
  const registry = createRegistry();
  const stored = measureStore(store, registry);
  await Promise.all([stored.refresh(), stored.refresh(), stored.refresh()]);
  assert.equal(store.asked.length, 1);
});

test("F4: a run deleted before its end counts as started and with its cost, and has no outcome", async () => {
  const registry = createRegistry();
  await measureStore(paged([{ tallies: [{ ...ENDED, status: "interrupted" }] }]), registry).refresh();
  const text = registry.render();
  assert.deepEqual(samplesOf(text, "executions"), { '{depth="0"}': 1 });
  assert.deepEqual(samplesOf(text, "cost"), { '{agent="lead"}': 0.5 });
  assert.deepEqual(samplesOf(text, "completions"), {});
  assert.deepEqual(samplesOf(text, "invocations"), {});
});

test("F4: runs start, end and are deleted in a store, and no counter falls", async () => {
  await using store = openMemoryStore();
  const registry = createRegistry();
  const stored = measureStore(store, registry);
  const counts = async () => {
    await stored.refresh();
    const text = registry.render();
    return [samplesOf(text, "executions"), samplesOf(text, "active"), samplesOf(text, "completions")];
  };
  assert.deepEqual(await counts(), [{}, {}, {}]);
  const tree = sampleTree("01K2H0AAAA0000000000000001");
  tree.start(tree.rootId);
  tree.start("child", { parent: tree.rootId });
  await store.append(tree.rootId, tree.events.slice());
  assert.deepEqual(await counts(), [
    { '{depth="0"}': 1, '{depth="1"}': 1 },
    { '{depth="0"}': 1, '{depth="1"}': 1 },
    {},
  ]);
  const kept = tree.events.length;
  tree.add(tree.rootId, { type: "spawn-refused", label: "x", errorType: "quota", message: "No." });
  tree.end("child");
  tree.end(tree.rootId);
  await store.append(tree.rootId, tree.events.slice(kept));
  const completions = { '{depth="1",status="complete"}': 1, '{depth="0",status="complete"}': 1 };
  const all = [{ '{depth="0"}': 1, '{depth="1"}': 1 }, { '{depth="0"}': 0, '{depth="1"}': 0 }, completions];
  assert.deepEqual(await counts(), all);
  assert.deepEqual(samplesOf(registry.render(), "errors"), { '{depth="1",error_type="quota"}': 1 });
  assert.equal(await store.delete(tree.rootId), true);
  assert.deepEqual(await counts(), all);
  const later = createRegistry();
  await measureStore(store, later).refresh();
  assert.deepEqual(samplesOf(later.render(), "completions"), completions, "a reader that starts now finds the same");
});

test("F4: a large database is read with a rest after each page, in which others work", async () => {
  const stored = measureStore(paged([{ isComplete: false }, { isComplete: false }, {}]), createRegistry());
  let isRead = false;
  let rests = 0;
  const work = (): void => {
    rests += 1;
    if (!isRead) setImmediate(work);
  };
  setImmediate(work);
  await stored.refresh();
  isRead = true;
  assert.ok(rests >= 2, String(rests));
});
