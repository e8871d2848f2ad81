/** The tables that earlier commits have filled in Postgres are read and continued by this one. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import pg from "pg";
import { openPostgresStore, type PostgresStore } from "../../../../src/postgres.ts";
import { type PostgresServer, startPostgresServer } from "../../../support/storage/store/postgres-server.ts";
import { COMMITS, goldenFiles } from "../../../support/storage/stored/golden-files.ts";
import {
  answerParked,
  resumeExternal,
  resumeFanOut,
  resumeKilled,
} from "../../../support/storage/stored/resume-stored.ts";
import { summarizeTree } from "../../../support/storage/stored/summary.ts";

/** Left out of the dump, to keep it small. */
const NOT_THERE = new Set(["busy", "revived", "walk"]);

for (const commit of COMMITS) {
  const files = goldenFiles(commit);

  suite(`G2: tables of commit ${commit} in Postgres`, () => {
    let server: PostgresServer;
    let store: PostgresStore;
    let lostFolder: string;
    before(async () => {
      server = await startPostgresServer();
      const client = new pg.Client({ connectionString: server.connectionString() });
      await client.connect();
      await client.query(readFileSync(files.path("postgres.sql"), "utf8"));
      await client.end();
      lostFolder = mkdtempSync(join(tmpdir(), "sous-lost-"));
      store = await openPostgresStore({ connectionString: server.connectionString(), lostFolder });
    });
    after(async () => {
      await store[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      rmSync(lostFolder, { recursive: true });
    });

    test(`the trees in the tables of ${commit} have their runs, their events and their reruns`, async () => {
      for (const [name, tree] of Object.entries(files.summary.trees)) {
        if (!NOT_THERE.has(name)) assert.deepEqual(await summarizeTree(store, tree.rootId), tree);
      }
    });

    test(`the totals in the tables of ${commit} have a line for every run that has ended and every refusal`, async () => {
      const events = Object.entries(files.summary.trees).flatMap(([name, tree]) =>
        NOT_THERE.has(name) ? [] : [tree.events],
      );
      const expected = events.reduce((sum, each) => sum + (each["run-end"] ?? 0) + (each["spawn-refused"] ?? 0), 0);
      assert.equal((await store.totals()).tallies.length, expected);
    });

    test(`the trees in the tables of ${commit} that were killed or parked continue to their ends`, async () => {
      await resumeKilled(store, files.rootId("killed"));
      await resumeFanOut(store, files.rootId("killed-fan-out"));
      await resumeExternal(store, files.rootId("killed-outside"));
      await answerParked(store, files.rootId("parked"));
    });
  });
}
