/** Placed runs in a SQLite file: the workers are processes of one machine. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { LEASE_MS } from "../../../../src/storage/store/owner.ts";
import { placeScouts, worker } from "../../../../src/testing/placing-samples.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";
import { sqlitePlace } from "../../../support/storage/store/sqlite-place.ts";
import { startScript } from "./run-node.ts";

test("the runs of a process that did not renew its lease are taken by another, and not by itself", async () => {
  await using place = sqlitePlace();
  const clock = new VirtualClock(0);
  const [store, other] = [await place.open({ clock }), await place.open({ clock })];
  await placeScouts(store, 1);
  assert.equal((await store.placing.take(worker(), 8)).length, 1);
  clock.jump(LEASE_MS - 1);
  assert.deepEqual(await other.placing.take(worker(), 8), []);
  clock.jump(1);
  assert.deepEqual(await store.placing.take(worker(), 8), []);
  assert.deepEqual(await other.placing.take(worker(), 8), [{ journalId: "scout0", fence: 2, claims: 2 }]);
});

test("a placed run that is marked as lost beside the file is not taken", async () => {
  await using place = sqlitePlace();
  const store = await place.open();
  await placeScouts(store, 2);
  writeFileSync(`${place.file}-lost-scout0`, "The disk was full");
  assert.deepEqual(
    (await store.placing.take(worker(), 8)).map(({ journalId }) => journalId),
    ["scout1"],
  );
});

test("another process takes a placed run, which is free again the moment it is killed, and posts mail that is heard of", async () => {
  await using place = sqlitePlace();
  const store = await place.open();
  await placeScouts(store, 2);
  const heard = Promise.withResolvers<number>();
  const child = startScript(
    place.file,
    `const store = await openSqliteStore(file);
     const facts = { name: "one", agents: ["scout"], places: 1 };
     await store.placing.enlist(facts);
     console.log((await store.placing.take(facts, 1))[0].journalId);
     process.stdin.on("data", () => store.placing.post([{ to: "scout1", body: { kind: "stop", mode: "stop" } }]));`,
  );
  const [taken] = await once(child.stdout, "data");
  assert.equal(String(taken), "scout0\n");
  assert.deepEqual(
    (await store.placing.workers()).map(({ name, where, isAlive, isWatched, held }) => [
      name,
      where,
      isAlive,
      isWatched,
      held,
    ]),
    [["one", (await store.placing.journals("lead"))[0]?.where, true, true, 1]],
  );
  assert.deepEqual(await store.placing.take(worker(), 8), [{ journalId: "scout1", fence: 1, claims: 1 }]);
  using _listening = store.placing.listen(() => {
    void store.placing.mail(["scout1"], 0).then((mail) => {
      if (mail.length > 0) heard.resolve(performance.now());
    });
  });
  const begin = performance.now();
  child.stdin.write("post\n");
  assert.ok((await heard.promise) - begin < 600, "within two looks at the file");
  child.kill("SIGKILL");
  await once(child, "exit");
  assert.deepEqual(await store.placing.take(worker(), 8), [{ journalId: "scout0", fence: 2, claims: 2 }]);
  assert.deepEqual(
    (await store.placing.workers()).map(({ isAlive, held }) => [isAlive, held]),
    [[false, 0]],
  );
});
