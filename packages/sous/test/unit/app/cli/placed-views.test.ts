/** Placed runs in the live view, in /tree and in the list: queued until a worker takes them, and where they are or were. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Transcript } from "../../../../src/app/cli/chat/transcript.ts";
import { listLines } from "../../../../src/app/cli/replay/list.ts";
import { alone } from "../../../../src/app/cli/stored/list-conversations.ts";
import { chooseStyle } from "../../../../src/app/cli/terminal/style.ts";
import { liveLines } from "../../../../src/app/cli/view/live-lines.ts";
import { RunTree } from "../../../../src/app/cli/view/run-tree.ts";
import { treeLines } from "../../../../src/app/cli/view/tree-lines.ts";
import type { StoredEvent } from "../../../../src/core/event.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { samplePlaced, sampleTree } from "../../../../src/testing/sample-tree.ts";

const style = chooseStyle({ color: "never", isAscii: false, isTerminal: false, env: { LC_ALL: "C.UTF-8" } });

/** A root at work, and the events of its placed child until now. */
function placed() {
  const tree = sampleTree("lead");
  const root = tree.start("lead");
  return { root: tree.events, child: samplePlaced(root, "lead", "scout", "scout") };
}

const apply = (to: RunTree, events: readonly StoredEvent[]): void => {
  for (const event of events) to.apply(event);
};

test("a placed child is shown as queued until a worker takes it, also when another child of its parent never starts", () => {
  const { root, child } = placed();
  const tree = new RunTree("→");
  apply(tree, root);
  apply(tree, child.events);
  const view = { now: 0, columns: 100, maxLines: 10, frame: 0, style };
  assert.match(liveLines(tree, view).join("\n"), /1 child · 1 queued[\s\S]*○ scout .*queued: waits for a worker/);
  child.add("scout", { type: "resume", usedMs: 0, worker: "one", attempt: 1 });
  apply(tree, child.events.slice(1));
  assert.match(liveLines(tree, view).join("\n"), /1 child · 1 running/);
});

test("/tree says which worker has a run or had it last, and how often it was taken", () => {
  const { root, child } = placed();
  const transcript = new Transcript(style);
  const shown = () => {
    const noteOf = (runId: string) => transcript.takings.wordsOf(runId);
    return treeLines(transcript.tree, 100, style, { noteOf }).join("\n");
  };
  for (const event of [...root, ...child.events]) transcript.apply(event, 100);
  assert.match(shown(), /scout +○ queued[\s\S]*placed, and not taken by a worker yet/);
  for (const [index, worker] of ["one", "two"].entries()) {
    child.add("scout", { type: "resume", usedMs: 0, worker, attempt: index + 1 });
    const event = child.events.at(-1);
    if (event !== undefined) transcript.apply(event, 100);
  }
  assert.match(shown(), /scout +◐ running[\s\S]*worker two, taken 2 times/);
});

test("the list shows a queued run without figures, and apart from an interrupted one", async () => {
  const { root, child } = placed();
  await using store = openMemoryStore();
  store.append("lead", root);
  const [start] = child.events;
  assert.ok(start?.type === "run-start");
  await store.placing.place([start]);
  const lines = async () => listLines((await store.list()).map(alone), { columns: 80, style }, undefined);
  assert.match((await lines()).join("\n"), /○ scout {2}.*\n {2}queued · \d{4}-/);
  const [taken] = await store.placing.take({ name: "one", agents: ["scout"], places: 1 }, 1);
  await store.release("scout", taken?.fence ?? 0);
  assert.match((await lines()).join("\n"), /\? scout {2}.*\n {2}interrupted · 0 turns/);
});
