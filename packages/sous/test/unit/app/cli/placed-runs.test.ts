/** `sous replay` says where a run that was placed is or was: its worker, and how often it was taken. */

import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { readWholeTree } from "../../../../src/core/read-tree.ts";
import { NO_OWNER } from "../../../../src/core/store.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { dataFolder } from "../../../support/app/cli/sous-process.ts";
import { cutTree, storeOfJournals } from "../../../support/core/cut-tree.ts";

const [LEAD, SCOUT, MASON, LATE] = [
  "01K2F8AAAA0000000000000001",
  "01K2F8BBBB0000000000000002",
  "01K2F8CCCC0000000000000003",
  "01K2F8DDDD0000000000000004",
] as const;

let folder: Awaited<ReturnType<typeof dataFolder>>;
before(async () => {
  folder = await dataFolder();
  await using store = await openSqliteStore(folder.file);
  await store.append(LEAD, await joinedTree(), NO_OWNER);
});
after(() => folder[Symbol.asyncDispose]());

suite("a run that was placed", () => {
  test("--tree names the last worker below its line, and how often it was taken", async () => {
    const { code, stdout, stderr } = await replay("--tree", "--id", LEAD, "--ascii");
    assert.deepEqual([code, stderr], [0, ""]);
    const lines = stdout.split("\n").map((line) => line.trimEnd());
    const below = (label: string) => lines[lines.findIndex((line) => line.includes(`- ${label}`)) + 1] ?? "";
    assert.match(below("scout"), /^ *\|? *worker three on host-c, taken 2 times$/);
    assert.match(below("late"), /^ *\|? *placed, and not taken by a worker yet$/);
    assert.equal(stdout.match(/worker/g)?.length, 2);
  });

  test("--id says it as a fact of the run, and nothing of one that was not placed", async () => {
    const { stdout } = await replay("--id", SCOUT);
    assert.match(stdout, /^ {2}worker {3}three on host-c, taken 2 times$/m);
    assert.doesNotMatch((await replay("--id", MASON)).stdout, /^ {2}worker/m);
    assert.match((await replay("--id", LATE)).stdout, /^ {2}worker {3}placed, and not taken by a worker yet$/m);
  });
});

function replay(...parameters: string[]) {
  return inProcess(["replay", ...parameters], { env: folder.env });
}

async function joinedTree() {
  const tree = sampleTree(LEAD);
  tree.start(LEAD, { label: "lead" });
  tree.start(SCOUT, { parent: LEAD, label: "scout" });
  tree.start(MASON, { parent: LEAD, label: "mason" });
  tree.start(LATE, { parent: LEAD, label: "late" });
  tree.turn(SCOUT, "Here.");
  tree.add(SCOUT, { type: "resume", usedMs: 3, worker: "three on host-c" });
  tree.end(SCOUT);
  tree.end(MASON);
  const journals = cutTree(tree.events, new Set([SCOUT, LATE]));
  journals.set(LATE, journals.get(LATE)?.slice(0, 1) ?? []);
  return readWholeTree(storeOfJournals(journals), LEAD);
}
