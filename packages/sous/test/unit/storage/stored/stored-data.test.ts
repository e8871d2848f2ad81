/** Trees that earlier commits stored are listed, shown, run again, imported and played by this one. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { DEFAULT_LIMITS } from "../../../../src/core/words/limits.ts";
import { createRuntime, openMemoryStore, type StoredEvent } from "../../../../src/index.ts";
import { importTree } from "../../../../src/replay.ts";
import { cassetteModel, checkHistory, createWorld } from "../../../../src/testing.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { PROJECT, walkLead } from "../../../support/storage/stored/cast.ts";
import { COMMITS, goldenFiles, openCopy } from "../../../support/storage/stored/golden-files.ts";
import { summarizeStore, summarizeTree } from "../../../support/storage/stored/summary.ts";

/** The types of stored events that each commit had. */
const EVENT_TYPES: Readonly<Record<string, readonly string[]>> = {
  "4eaacef": [
    ...["approval-end", "approval-request", "budget-warning", "cancel", "message-end", "notice", "outside-call"],
    ...["outside-session", "prune", "report", "resume", "retry", "run-end", "run-start", "spawn-refused", "stalled"],
    ...["steer", "tool-call-end", "tool-call-start", "truncation", "turn-start"],
  ],
};

test("Every commit with stored data says which types of events it had", () => {
  assert.deepEqual(Object.keys(EVENT_TYPES), COMMITS);
});

/** A run from before a limit has its default. */
function withLaterLimits(event: StoredEvent): StoredEvent {
  if (event.type !== "run-start" || event.terms === undefined) return event;
  const { place } = DEFAULT_LIMITS;
  return { ...event, terms: { ...event.terms, limits: { ...event.terms.limits, place } } };
}

for (const commit of COMMITS) {
  const files = goldenFiles(commit);
  const trees = Object.entries(files.summary.trees);

  suite(`G6: stored data of commit ${commit}`, () => {
    test(`every type of stored event that ${commit} had occurs in its trees`, () => {
      const types = new Set(trees.flatMap(([, { events }]) => Object.keys(events)));
      assert.deepEqual([...types].sort(), EVENT_TYPES[commit]);
    });

    test(`the database of ${commit} lists the roots and the totals that it had`, async () => {
      await using copy = await openCopy(files);
      const { roots, tallies } = files.summary;
      assert.deepEqual(await summarizeStore(copy.store), { roots, tallies });
    });

    for (const [name, tree] of trees) {
      test(`the tree ${name} in the database of ${commit} has its runs, its events and its rerun`, async () => {
        await using copy = await openCopy(files);
        assert.deepEqual(await summarizeTree(copy.store, tree.rootId), tree);
        const events = await copy.store.read(tree.rootId);
        assert.deepEqual(events, files.exported(name).events.map(withLaterLimits));
        assert.deepEqual(checkHistory(events, { isUnfinished: tree.rerun === undefined }), []);
      });

      test(`the export of the tree ${name} by ${commit} gives the same tree in a fresh store`, async () => {
        const store = openMemoryStore();
        const { text, events } = files.exported(name);
        const imported = await importTree(store, text);
        assert.deepEqual(imported, { rootId: tree.rootId, runs: tree.runs.length, events: events.length });
        assert.deepEqual(await summarizeTree(store, tree.rootId), tree);
      });
    }

    test(`no rerun of a tree by ${commit} differs from it`, () => {
      const over = trees.flatMap(([name, { rerun }]) => (rerun === undefined ? [] : [[name, rerun.matches]]));
      const names = ["crew", "walk", "count", "busy", "fan-out", "outside", "branch", "revived", "lost"];
      assert.deepEqual(
        over,
        names.map((name) => [name, true]),
      );
    });

    test(`the command lists, shows and reruns what is in the database of ${commit}`, async () => {
      await using copy = await openCopy(files);
      const folder = mkdtempSync(join(tmpdir(), "sous-stored-"));
      const env = { XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder, XDG_STATE_HOME: folder };
      const replay = async (...parameters: string[]): Promise<string> => {
        const { code, stdout, stderr } = await inProcess(["replay", "--db-path", copy.file, ...parameters], { env });
        assert.deepEqual([code, stderr], [0, ""]);
        return stdout;
      };
      const listed: { id: string }[] = JSON.parse(await replay("--list", "--roots", "--json", "--limit", "50")).runs;
      assert.equal(listed.length, trees.length);
      for (const [name, { rootId, runs, rerun }] of trees) {
        const shown = await replay("--tree", "--id", rootId);
        for (const { label } of runs) assert.ok(shown.includes(label), `${label} of ${name} is not shown`);
        assert.ok((await replay("--id", rootId)).includes(rootId));
        if (rerun !== undefined) await replay("--rerun", "--id", rootId);
      }
      rmSync(folder, { recursive: true });
    });

    test(`the cassette of ${commit} plays the whole tree that it was made from`, async () => {
      const ran: string[] = [];
      const world = createWorld({ seed: 1, lateness: 0, cwd: PROJECT });
      const lead = walkLead({ ran }).with({
        model: cassetteModel(files.path("walk.cassette.json"), { environment: {} }),
      });
      const runtime = createRuntime({ host: world.host, limits: { maxDepth: 2 } });
      const { status, text, agents } = await world.run(() => runtime.run(lead, "Walk around."));
      assert.deepEqual([status, text], ["completed", "Two."]);
      const recorded = files.summary.trees.walk?.runs ?? [];
      assert.deepEqual(
        agents.map(({ path, turns, usage }) => [path, turns, usage]),
        recorded.map(({ path, turns, usage }) => [path, turns, usage]),
      );
      assert.deepEqual(ran, ["lead look", "lead/scout look"]);
    });
  });
}
