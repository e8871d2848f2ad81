/** Shared budgets in SQLite: the contract of every shared budget, processes that die or wake up late, and files that fail. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { suite, test } from "node:test";
import { openLedger } from "../../src/budget/ledger.ts";
import { drawOn } from "../../src/budget/shared-account.ts";
import { BudgetExceeded, StoreError, UserError } from "../../src/core/errors.ts";
import { Scope } from "../../src/core/scope.ts";
import { NEW_PLACE, type PurseAsk } from "../../src/core/shared-budget.ts";
import { newOwner } from "../../src/store/owner.ts";
import { openSqliteStore, type SqliteStoreOptions } from "../../src/store/sqlite.ts";
import { granted, need } from "../../src/testing/purse-asks.ts";
import { sharedBudgetContract } from "../../src/testing/shared-budget-contract.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

sharedBudgetContract(test, async () => {
  const place = temporaryFile();
  const [one, other] = [await place.open(), await place.open()];
  return { one, other, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() };
});

suite("a shared budget in SQLite, when a process dies", () => {
  test("what it had reserved counts as spent, and nobody waits for it", async () => {
    await using place = temporaryFile();
    const { here, there } = await twoOf(place, 1000);
    const call = await granted(here, { need: need(400, 100) });
    const lastWords = await granted(here, { kind: "last-words", need: need(100, 100) });
    assert.equal((await there.purse.reserve(patient(400, 100))).kind, "wait");
    place.run(`UPDATE purse_leases SET owner = '${deadOwner()}'`);
    assert.deepEqual(await there.purse.reserve(patient(400, 100)), {
      kind: "refused",
      error: new BudgetExceeded("tokens", 1200, 1000),
    });
    assert.deepEqual(await there.left(), { tokens: 300 });
    assert.deepEqual(await there.spent(), { tokens: 700, costUsd: 0, executions: 0 });
    assert.deepEqual(place.all("SELECT id FROM purse_leases"), []);
    for (const { leaseId } of [call, lastWords]) await there.purse.settle(leaseId, { tokens: 1, nanoUsd: 0 });
    assert.deepEqual(await there.left(), { tokens: 300 });
  });

  test("on another machine, that is known when its lease is over; if it wakes up after all, the books are put right", async () => {
    await using place = temporaryFile();
    const { here, there, clock } = await twoOf(place, 1000);
    const { leaseId } = await granted(here, { need: need(500, 100) });
    place.run("UPDATE purse_leases SET owner = 'elsewhere boot 1 1 x'");
    assert.equal((await there.purse.reserve(patient(400, 100))).kind, "wait");
    clock.jump(60_000);
    assert.equal((await there.purse.reserve(patient(400, 100))).kind, "refused");
    assert.deepEqual([await there.left(), (await there.spent()).tokens], [{ tokens: 400 }, 600]);
    await here.purse.settle(leaseId, { tokens: 50, nanoUsd: 0 });
    assert.deepEqual([await there.left(), (await there.spent()).tokens], [{ tokens: 950 }, 50]);
    await here.purse.settle(leaseId, { tokens: 50, nanoUsd: 0 });
    assert.deepEqual([await there.left(), (await there.spent()).tokens], [{ tokens: 950 }, 50]);
  });

  test("a store that is closed leaves what it had reserved as spent", async () => {
    await using place = temporaryFile();
    const { there } = await twoOf(place, 1000);
    const store = await openSqliteStore(place.file);
    await granted(await store.sharedBudget("team"), { need: need(500, 100) });
    await store[Symbol.asyncDispose]();
    assert.deepEqual([await there.left(), (await there.spent()).tokens], [{ tokens: 400 }, 600]);
  });

  test("while it lives its reservations are renewed, and with the last of them the timer goes", async () => {
    await using place = temporaryFile();
    const clock = new VirtualClock(0);
    const shared = await (await place.open({ clock })).sharedBudget("team", { tokens: 1000 });
    const { leaseId } = await granted(shared, { need: need(500, 100) });
    assert.deepEqual(place.all("SELECT leased_until FROM purse_leases"), [{ leased_until: 30_000 }]);
    clock.fireNext(() => 0);
    assert.deepEqual(place.all("SELECT leased_until FROM purse_leases"), [{ leased_until: 40_000 }]);
    await shared.purse.settle(leaseId, { tokens: 1, nanoUsd: 0 });
    assert.equal(clock.liveTimers, 0);
  });
});

suite("a shared budget in SQLite, when a clock jumps", () => {
  test("forward, a process that lives has still reserved what it has", async () => {
    await using place = temporaryFile();
    const { here, there, clock } = await twoOf(place, 1000);
    await granted(here, { need: need(500, 100) });
    clock.jump(1000 * 86_400_000);
    assert.equal((await there.purse.reserve(patient(400, 100))).kind, "wait");
    assert.equal((await there.spent()).tokens, 0);
  });

  test("back or forward, those who left the line without a word do not hold it up", async () => {
    for (const jump of [-86_400_000, 86_400_000]) {
      await using place = temporaryFile();
      const { here, there, clock } = await twoOf(place, 1000);
      await granted(here, { need: need(500, 100) });
      assert.equal((await there.purse.reserve(patient(500, 100))).kind, "wait");
      assert.equal((await there.purse.reserve(patient(10, 10))).kind, "wait");
      clock.jump(jump);
      assert.equal((await there.purse.reserve(patient(10, 10))).kind, "granted");
    }
  });
});

suite("a shared budget in a file that fails", () => {
  test("a locked one refuses with a reason, and is used again when it is free", async () => {
    await using place = temporaryFile();
    const shared = await (await place.open({ busyTimeoutMs: 0 })).sharedBudget("team", { tokens: 1000 });
    const clock = new VirtualClock(0);
    const account = drawOn(shared, openLedger({}), clock);
    const lease = account.reserve({ promptTokens: 100, minOutput: 50, outputCap: 50, price: undefined }, new Scope());
    assert.ok(!(lease instanceof Promise));
    place.run("BEGIN IMMEDIATE");
    const sentence = `The shared budget "team" cannot be used: ${place.file} is locked by another program: close that program, or wait until it is done`;
    assert.throws(() => shared.purse.reserve(patient(1, 1)), new StoreError(sentence));
    await assert.rejects(shared.left(), new StoreError(sentence));
    lease.settle({ tokens: 120, costUsd: null });
    place.run("ROLLBACK");
    const flushed = account.flushed();
    assert.ok(flushed !== undefined);
    clock.fireNext(() => 0);
    await flushed;
    assert.deepEqual([await shared.left(), (await shared.spent()).tokens], [{ tokens: 880 }, 120]);
  });

  test("a step that cannot be finished leaves nothing behind", async () => {
    await using place = temporaryFile();
    const { here } = await twoOf(place, 1000);
    const { leaseId } = await granted(here, { need: need(400, 100) });
    place.run("CREATE TRIGGER no BEFORE UPDATE ON purses BEGIN SELECT raise(ABORT, 'disk full'); END");
    const before = place.all("SELECT * FROM purses, purse_leases");
    assert.throws(() => here.purse.reserve(patient(100, 100)), StoreError);
    assert.throws(() => here.purse.settle(leaseId, { tokens: 1, nanoUsd: 0 }), StoreError);
    assert.throws(() => here.purse.startExecution(), StoreError);
    assert.deepEqual(place.all("SELECT * FROM purses, purse_leases"), before);
    place.run("DROP TRIGGER no");
    await here.purse.settle(leaseId, { tokens: 1, nanoUsd: 0 });
    assert.deepEqual(await here.left(), { tokens: 999 });
  });

  test("a row that makes no sense limits to nothing, and not to anything", async () => {
    for (const damage of [
      "limit_tokens = 'many'",
      "limit_tokens = -1",
      "limit_tokens = 0.5",
      "limit_tokens = 9223372036854775807",
      "spent_tokens = -5",
      "in_flight_tokens = 'NaN'",
      "kept_nano_usd = x'00'",
      "executions = -1",
      "waiting = '{'",
      "waiting = '[[1, 2, 3, 4]]'",
      "waiting = '[[\"a\", 0, -900, 0]]'",
    ]) {
      await using place = temporaryFile();
      const { here } = await twoOf(place, 1000);
      place.run(`UPDATE purses SET ${damage}`);
      assert.throws(() => here.purse.reserve(patient(100, 100)), StoreError, damage);
      await assert.rejects(here.left(), StoreError, damage);
    }
  });

  test("one that is gone, closed or only looked at gives nothing", async () => {
    await using place = temporaryFile();
    const { here } = await twoOf(place, 1000);
    place.run("DELETE FROM purses");
    assert.throws(
      () => here.purse.reserve(patient(1, 1)),
      new StoreError('The shared budget "team" cannot be used: it is no longer in the store'),
    );
    const readOnly = await place.open({ readOnly: true });
    await assert.rejects(readOnly.sharedBudget("team", { tokens: 1 }), UserError);
    const store = await openSqliteStore(place.file);
    const closed = await store.sharedBudget("closed", { tokens: 1000 });
    await store[Symbol.asyncDispose]();
    assert.throws(() => closed.purse.reserve(patient(1, 1)), StoreError);
  });

  test("a database from before there were shared budgets gets them", async () => {
    await using place = temporaryFile();
    await (await openSqliteStore(place.file))[Symbol.asyncDispose]();
    place.run("DROP TABLE purses; DROP TABLE purse_leases; PRAGMA user_version = 1");
    const store = await place.open();
    assert.deepEqual(await (await store.sharedBudget("team", { tokens: 7 })).left(), { tokens: 7 });
  });
});

/** A file in a folder of its own, looked at from outside; everything is closed and removed at the end. */
function temporaryFile() {
  const folder = mkdtempSync(join(tmpdir(), "sous-budget-"));
  const file = join(folder, "runs.db");
  const opened: AsyncDisposable[] = [];
  let outside: DatabaseSync | undefined;
  const database = () => (outside ??= new DatabaseSync(file));
  return {
    file,
    run: (sql: string) => database().exec(sql),
    all: (sql: string) =>
      database()
        .prepare(sql)
        .all()
        .map((row) => ({ ...row })),
    async open(options?: SqliteStoreOptions) {
      const store = await openSqliteStore(file, options);
      opened.push(store);
      return store;
    },
    async [Symbol.asyncDispose]() {
      outside?.close();
      for (const store of opened) await store[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    },
  };
}

/** One budget, seen from two stores; the clock is that of the second. */
async function twoOf(place: ReturnType<typeof temporaryFile>, tokens: number) {
  const clock = new VirtualClock(Date.now());
  const here = await (await place.open()).sharedBudget("team", { tokens });
  const there = await (await place.open({ clock })).sharedBudget("team");
  return { here, there, clock };
}

/** The name of a process of this machine that is no more: the number is in use, but by a younger one. */
function deadOwner(): string {
  const [host, boot, pid, , random] = newOwner().split(" ");
  return [host, boot, pid, "1", random].join(" ");
}

function patient(prompt: number, least: number): PurseAsk {
  return { kind: "call", need: need(prompt, least), place: NEW_PLACE };
}
