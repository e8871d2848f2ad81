/** Several processes on one SQLite file: nothing is lost, nothing mixed, whatever happens to one of them. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { suite, test } from "node:test";
import { seededRandom } from "../../../../src/testing/world.ts";
import { sqlitePlace } from "../../../support/storage/store/sqlite-place.ts";
import { runScript, startScript } from "./run-node.ts";

suite("G3: processes that share a SQLite file", () => {
  test("two processes write trees of their own at the same time", async () => {
    await using place = sqlitePlace();
    const script = `
      const store = await openSqliteStore(file);
      const rootId = "root" + process.pid;
      const tree = sampleTree(rootId);
      tree.start(rootId);
      for (let kept = 0, turn = 0; turn < 60; kept = tree.events.length, turn++) {
        tree.turn(rootId, "Turn " + turn);
        tree.start(rootId + "-" + turn, { parent: rootId });
        tree.end(rootId + "-" + turn);
        store.append(rootId, tree.events.slice(kept));
      }
      tree.end(rootId);
      store.append(rootId, tree.events.slice(-1));
      await store[Symbol.asyncDispose]();
      console.log(rootId);`;
    const printed = await Promise.all([1, 2, 3].map(() => runScript(place.file, script)));
    const store = await place.open();
    for (const rootId of printed.map((line) => line.trim())) {
      const events = await store.read(rootId);
      assert.deepEqual(
        events.map(({ seq }) => seq),
        Array.from({ length: 242 }, (_, index) => index + 1),
      );
      const records = await store.tree(rootId);
      assert.equal(records.length, 61);
      assert.ok(records.every(({ status, rootId: tree }) => status === "completed" && tree === rootId));
    }
    assert.deepEqual(place.query("PRAGMA integrity_check"), [{ integrity_check: "ok" }]);
  });

  test("a process opens a file that another one is just opening", async () => {
    await using place = sqlitePlace();
    await (await place.open())[Symbol.asyncDispose]();
    // As it is between its first table and its first use of the log.
    using other = new DatabaseSync(place.file);
    other.exec("PRAGMA journal_mode = DELETE; BEGIN IMMEDIATE");
    setTimeout(() => other.exec("COMMIT"), 50);
    await place.open();
    assert.deepEqual(place.query("PRAGMA journal_mode"), [{ journal_mode: "wal" }]);
  });

  test("one of the processes that claim a tree that was left behind gets it, and the others are told who", async () => {
    await using place = sqlitePlace();
    const began = `
      const store = await openSqliteStore(file);
      store.append("lead", [sampleTree("lead").start("lead")]);
      process.kill(process.pid, "SIGKILL");`;
    await runScript(place.file, began);
    const claim = `
      const store = await openSqliteStore(file);
      await store.claim("lead").then(
        ({ fence }) => console.log("fence " + fence + " of " + process.pid),
        (error) => console.log(String(error)));
      process.stdin.resume();`;
    const children = [1, 2, 3].map(() => startScript(place.file, claim));
    const answers = await Promise.all(
      children.map(async ({ stdout }) => String((await once(stdout, "data"))[0]).trim()),
    );
    for (const child of children) child.stdin.end();
    await Promise.all(children.map((child) => once(child, "exit")));
    const [winner, ...more] = answers.filter((answer) => answer.startsWith("fence 2 of "));
    assert.deepEqual(more, []);
    const pid = winner?.split(" ").at(-1);
    const losers = answers.filter((answer) =>
      answer.startsWith(`UserError: Run lead is at work in process ${pid} on `),
    );
    assert.equal(losers.length, 2, answers.join("\n"));
  });

  for (const seed of [1, 2]) {
    test(`processes lose nothing that was kept when one is killed while it writes (seed ${seed})`, async () => {
      await using place = sqlitePlace();
      const random = seededRandom(seed);
      const script = `
        import { writeSync } from "node:fs";
        const store = await openSqliteStore(file);
        const tree = sampleTree("lead");
        tree.start("lead");
        for (let kept = 0; ; kept = tree.events.length) {
          for (let count = 1 + (kept % 10); count > 0; count--) tree.turn("lead", "x".repeat(1 + (kept % 7) * 20_000));
          store.append("lead", tree.events.slice(kept));
          writeSync(1, tree.events.length + "\\n");
        }`;
      const child = startScript(place.file, script);
      const enough = Math.floor(random() * 40);
      let acknowledged = 0;
      let lines = 0;
      for await (const line of createInterface(child.stdout)) {
        acknowledged = Number(line);
        if (++lines === enough + 1) setTimeout(() => child.kill("SIGKILL"), random() * 3);
      }
      // Its output ends a moment before it does.
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      const store = await place.open();
      const events = await store.read("lead");
      assert.ok(acknowledged > 0 && events.length >= acknowledged, `${events.length} of ${acknowledged} are there`);
      assert.deepEqual(
        events.map(({ seq }) => seq),
        events.map((_, index) => index + 1),
      );
      assert.deepEqual(place.query("PRAGMA integrity_check"), [{ integrity_check: "ok" }]);
      assert.equal((await store.run("lead"))?.status, "interrupted");
      assert.deepEqual(await store.claim("lead"), { fence: 2 });
    });
  }

  test("a process finds a run waiting whose process was killed while it asked", async () => {
    await using place = sqlitePlace();
    const script = `
      const store = await openSqliteStore(file);
      const tree = sampleTree("lead");
      tree.start("lead");
      tree.add("lead", { type: "approval-request", callId: "call_1", toolName: "terminal", input: {} });
      for (const event of tree.events) store.append("lead", [event]);
      console.log("asked");
      setInterval(() => {}, 1000);`;
    const child = startScript(place.file, script);
    await once(child.stdout, "data");
    const store = await place.open();
    assert.equal((await store.run("lead"))?.status, "running");
    child.kill("SIGKILL");
    await once(child, "exit");
    assert.equal((await store.run("lead"))?.status, "waiting");
    assert.equal((await store.list({ status: "waiting", rootsOnly: true })).length, 1);
    assert.deepEqual(await store.list({ status: "interrupted" }), []);
  });
});
