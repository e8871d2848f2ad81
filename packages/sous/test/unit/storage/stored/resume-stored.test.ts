/** Trees that earlier commits began are continued by this one: after a kill, after an answer, with a message, as a fork. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { suite, test } from "node:test";
import { createRuntime, openMemoryStore, type StoredEvent } from "../../../../src/index.ts";
import { importTree } from "../../../../src/replay.ts";
import { branchLead, countingLead } from "../../../support/storage/stored/cast.ts";
import { COMMITS, goldenFiles, openCopy } from "../../../support/storage/stored/golden-files.ts";
import {
  answerParked,
  resumeExternal,
  resumeFanOut,
  resumeKilled,
} from "../../../support/storage/stored/resume-stored.ts";

const CONTINUED = [
  { name: "killed", continues: resumeKilled, what: "is resumed to its end, and finished work is not repeated" },
  { name: "killed-fan-out", continues: resumeFanOut, what: "is resumed, and only inputs without an answer are asked" },
  {
    name: "killed-outside",
    continues: resumeExternal,
    what: "is resumed in the recorded session of the external agent",
  },
  { name: "parked", continues: answerParked, what: "lists its open questions and continues with their answers" },
] as const;

for (const commit of COMMITS) {
  const files = goldenFiles(commit);

  suite(`G5: stored data of commit ${commit}`, () => {
    for (const { name, continues, what } of CONTINUED) {
      test(`the tree ${name} in the database of ${commit} ${what}`, async () => {
        await using copy = await openCopy(files);
        await continues(copy.store, files.rootId(name));
      });

      test(`the tree ${name}, imported from its export by ${commit}, ${what}`, async () => {
        const store = openMemoryStore();
        const { rootId } = await importTree(store, files.exported(name).text);
        await continues(store, rootId);
      });
    }

    test(`the journal that ${commit} wrote until it was killed is resumed when it is appended to a fresh store`, async () => {
      const lines = readFileSync(files.path("killed.journal.jsonl"), "utf8").trimEnd().split("\n");
      const events: StoredEvent[] = lines.map((line) => JSON.parse(line));
      const store = openMemoryStore();
      const rootId = files.rootId("killed");
      await store.append(rootId, events);
      await store.release(rootId, 1);
      await resumeKilled(store, rootId);
    });

    test(`a tree that had ended in the database of ${commit} continues with a message`, async () => {
      await using copy = await openCopy(files);
      const runtime = createRuntime({ store: copy.store });
      const agent = branchLead({ ran: [] });
      const { text } = await runtime.resume(files.rootId("branch"), { agent, message: "And the east?" });
      assert.equal(text, "Nor in the east.");
    });

    test(`a fork of a tree in the database of ${commit} begins with what was said until its turn`, async () => {
      await using copy = await openCopy(files);
      const runtime = createRuntime({ store: copy.store });
      const options = { agent: branchLead({ ran: [] }), message: "And the west?", afterTurn: 1 };
      const { text, runId } = await runtime.fork(files.rootId("crew"), options);
      assert.equal(text, "Nothing in the west.");
      const origins = [await copy.store.read(runId), await copy.store.read(files.rootId("branch"))].map(([start]) =>
        start?.type === "run-start" ? start.origin : undefined,
      );
      assert.deepEqual(origins[0], origins[1]);
    });

    test(`a tree that ${commit} has marked as lost is not resumed`, async () => {
      await using copy = await openCopy(files);
      const runtime = createRuntime({ store: copy.store });
      const rootId = files.rootId("lost");
      const resumed = runtime.resume(rootId, { agent: countingLead({ ran: [] }), message: "And now?" });
      await assert.rejects(Promise.resolve(resumed), /The disk was full/);
    });

    test(`the shared budget in the database of ${commit} has what its tree left of it`, async () => {
      await using copy = await openCopy(files);
      const shared = await copy.store.sharedBudget("team");
      const runs = files.summary.trees.busy?.runs ?? [];
      const spent = runs.reduce((sum, { usage }) => sum + usage.totalTokens, 0);
      assert.deepEqual(await shared.left(), { tokens: 10_000_000 - spent });
    });
  });
}
