/** The commands on a database in Postgres: one finds what another has placed, and no one sees the password. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { workerFolder } from "../../../support/app/cli/worker-process.ts";
import { SECRET, startPostgresServer } from "../../../support/storage/store/postgres-server.ts";

test("a run is left in Postgres, continued by a worker, and looked at, and the password of the address is nowhere", async () => {
  await using server = await startPostgresServer();
  await using folder = await workerFolder({});
  await folder.answers({ sous: [{ text: "Seen." }] });
  const there = ["--db-path", server.connectionString()];
  const left = await folder.sous("run", "--detach", "Go.", ...there);
  assert.equal(left.code, 0, left.stderr);
  const id = left.stdout.trim();
  const before = await folder.sous("doctor", ...there);
  assert.match(before.stdout, /^ok +database +postgres:\/\/\S+ answers$/m);
  assert.match(before.stdout, /^warning +queued runs +1 run waits for .*; no worker is at work\./m);
  await using one = await folder.worker("--name", "one", ...there);
  await one.said(/sous {2}✓ completed/);
  const tree = await folder.sous("replay", "--tree", "--id", id, ...there);
  assert.match(tree.stdout, /sous +✓ completed[\s\S]*worker one/);
  const ended = await folder.sous("cancel", id, ...there);
  assert.match(ended.stderr, /has ended already: completed/);
  const copied = await folder.sous("replay", "--backup", "copy.db", ...there);
  assert.deepEqual([copied.code, copied.stderr.includes("pg_dump")], [1, true]);
  assert.equal((await one.kill("SIGTERM")).code, 0);
  const said = [left, before, tree, ended, copied].flatMap(({ stdout, stderr }) => [stdout, stderr]);
  assert.equal([...said, one.stderr()].join("\n").includes(SECRET), false);
});
