/** Claims to write a tree in a SQLite store: leases that are renewed or end, owners that die, and what the refused are told. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { hostname } from "node:os";
import { DatabaseSync } from "node:sqlite";
import { suite, test } from "node:test";
import { StaleOwner, UserError } from "../../../../src/core/errors.ts";
import { newOwner } from "../../../../src/storage/store/owner.ts";
import { type SampleTree, sampleTree } from "../../../../src/testing/sample-tree.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";
import { type SqlitePlace, sqlitePlace } from "../../../support/storage/store/sqlite-place.ts";
import { startScript } from "./run-node.ts";

const START = Date.UTC(2026, 0, 1);

suite("G5: a tree of a SQLite store", () => {
  test("a tree belongs to the process that began it for 10 seconds, and longer while its lease is renewed", async () => {
    await using place = sqlitePlace();
    const clock = new VirtualClock(START);
    const [one, other] = [await place.open({ clock }), await place.open({ clock })];
    one.append("lead", begun("lead").events);
    assert.equal(clock.liveTimers, 1);
    for (let renewal = 1; renewal <= 4; renewal++) {
      clock.fireNext(() => 0);
      assert.deepEqual(place.query("SELECT leased_until FROM runs"), [
        { leased_until: START + renewal * 3_000 + 10_000 },
      ]);
    }
    const message =
      "Run lead is at work in this process, which holds it until 2026-01-01T00:00:22.000Z: wait, or stop that process";
    await assert.rejects(other.claim("lead"), new UserError(message));
    await assert.rejects(other.delete("lead"), new UserError(message));
    clock.jump(10_000);
    assert.equal((await other.run("lead"))?.status, "interrupted");
    assert.deepEqual(await other.claim("lead"), { fence: 2 });
  });

  test("a tree is no longer written by a process that overslept, in whatever way it writes", async () => {
    const ways = [
      (tree: SampleTree) => tree.turn("lead", "I look."),
      (tree: SampleTree) => tree.start("scout", { parent: "lead" }),
      (tree: SampleTree) => tree.end("lead"),
      (tree: SampleTree) => {
        tree.end("lead");
        tree.start("again");
      },
    ];
    for (const write of ways) {
      await using place = sqlitePlace();
      const clock = new VirtualClock(START);
      const [one, other] = [await place.open({ clock }), await place.open({ clock })];
      const tree = begun("lead");
      one.append("lead", tree.events);
      clock.jump(10_000);
      const { fence } = await other.claim("lead");
      write(tree);
      assert.throws(() => one.append("lead", tree.events.slice(1)), StaleOwner);
      assert.throws(() => one.append("lead", tree.events.slice(1)), StaleOwner);
      // What it no longer has it does not renew, and closing it takes nothing from anybody.
      await one[Symbol.asyncDispose]();
      assert.equal((await other.run("lead"))?.status, "running");
      other.append("lead", tree.events.slice(1), fence);
      assert.equal((await other.read("lead")).length, tree.events.length);
    }
  });

  test("a tree that was deleted meanwhile is not written, nor is another that has its number now", async () => {
    for (const events of [2, 3, 4, 5]) {
      await using place = sqlitePlace();
      const clock = new VirtualClock(START);
      const [one, other] = [await place.open({ clock }), await place.open({ clock })];
      const tree = begun("lead");
      one.append("lead", tree.events);
      clock.jump(10_000);
      assert.equal(await other.delete("lead"), true);
      const next = begun("next");
      other.append("next", next.events);
      tree.turn("lead", "I look.");
      tree.end("lead");
      tree.start("again");
      assert.throws(
        () => one.append("lead", tree.events.slice(1, events)),
        new StaleOwner("Tree lead is no longer in the store"),
      );
      one.append("own", begun("own").events);
      assert.deepEqual((await other.read("next")).length, 1);
      assert.deepEqual(await other.read("lead"), []);
    }
  });

  test("a tree is free when its store is closed, and the timer that renewed it is gone", async () => {
    await using place = sqlitePlace();
    const clock = new VirtualClock(START);
    const [one, other] = [await place.open({ clock }), await place.open({ clock })];
    one.append("lead", begun("lead").events);
    one.append("second", begun("second").events);
    await one[Symbol.asyncDispose]();
    assert.equal(clock.liveTimers, 0);
    assert.deepEqual(await other.claim("lead"), { fence: 2 });
    assert.equal(clock.liveTimers, 1);
    await other.release("lead", 2);
    assert.equal(clock.liveTimers, 0);
    assert.deepEqual(
      (await other.list({ status: "interrupted" })).map(({ id }) => id),
      ["second", "lead"],
    );
  });

  test("a tree needs no timer after its end", async () => {
    await using place = sqlitePlace();
    const clock = new VirtualClock(START);
    const store = await place.open({ clock });
    const tree = begun("lead");
    store.append("lead", tree.events);
    tree.end("lead");
    store.append("lead", tree.events.slice(1));
    assert.equal(clock.liveTimers, 0);
    assert.deepEqual(place.query("SELECT fence, owner, leased_until FROM runs"), [
      { fence: 1, owner: null, leased_until: null },
    ]);
  });

  test("a lease is still renewed when a caller has used a wrong number", async () => {
    await using place = sqlitePlace();
    const clock = new VirtualClock(START);
    const store = await place.open({ clock });
    const tree = begun("lead");
    store.append("lead", tree.events);
    tree.turn("lead", "I look.");
    assert.throws(() => store.append("lead", tree.events.slice(1), 7), StaleOwner);
    clock.fireNext(() => 0);
    assert.deepEqual(place.query("SELECT leased_until FROM runs"), [{ leased_until: START + 13_000 }]);
  });

  test("a lease is still renewed when a renewal has failed", async () => {
    await using place = sqlitePlace();
    const clock = new VirtualClock(START);
    const store = await place.open({ clock, busyTimeoutMs: 1 });
    store.append("lead", begun("lead").events);
    lockedFor(place, () => clock.fireNext(() => 0));
    assert.deepEqual(place.query("SELECT leased_until FROM runs"), [{ leased_until: START + 10_000 }]);
    clock.fireNext(() => 0);
    assert.deepEqual(place.query("SELECT leased_until FROM runs"), [{ leased_until: START + 16_000 }]);
  });
});

suite("G5: a tree whose owner is another process", () => {
  test("a tree is at work as long as the process of its owner is there, and left behind the moment it is killed", async () => {
    await using place = sqlitePlace();
    const child = startScript(
      place.file,
      `const store = await openSqliteStore(file);
       const tree = sampleTree("lead");
       store.append("lead", [tree.start("lead")]);
       console.log("begun");
       process.stdin.resume();`,
    );
    await once(child.stdout, "data");
    const store = await place.open();
    assert.equal((await store.run("lead"))?.status, "running");
    const sentence = new RegExp(
      `^UserError: Run lead is at work in process ${child.pid} on ${hostname()}, which holds it until \\S+Z: wait, or stop that process$`,
    );
    await assert.rejects(store.claim("lead"), sentence);
    child.kill("SIGKILL");
    await once(child, "exit");
    assert.equal((await store.run("lead"))?.status, "interrupted");
    assert.deepEqual(await store.claim("lead"), { fence: 2 });
  });

  test("a tree of an owner on another host is at work until its lease ends", async () => {
    await using place = sqlitePlace();
    const clock = new VirtualClock(START);
    const store = await place.open({ clock });
    store.append("lead", begun("lead").events);
    await store.release("lead", 1);
    const owner = newOwner().split(" ").with(0, "elsewhere").with(2, "4194305").join(" ");
    place.tamper(`UPDATE runs SET owner = '${owner}', leased_until = ${START + 10_000}`);
    assert.deepEqual(
      (await store.list({ status: "running" })).map(({ id }) => id),
      ["lead"],
    );
    await assert.rejects(store.claim("lead"), /^UserError: Run lead is at work in process 4194305 on elsewhere, /);
    assert.equal(await store.prune(Number.MAX_SAFE_INTEGER), 0);
    clock.jump(10_000);
    assert.deepEqual(
      (await store.list({ status: "running" })).map(({ id }) => id),
      [],
    );
    assert.equal(await store.prune(Number.MAX_SAFE_INTEGER), 1);
  });
});

function begun(rootId: string): SampleTree {
  const tree = sampleTree(rootId);
  tree.start(rootId);
  return tree;
}

function lockedFor(place: SqlitePlace, work: () => void): void {
  using database = new DatabaseSync(place.file);
  database.exec("BEGIN IMMEDIATE");
  work();
  database.exec("COMMIT");
}
