/** The queue in front of a pool: waiting for a connection is not the time it takes to connect. */

import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { Pool } from "pg";
import { openConnection, statement } from "../../../../src/storage/store/postgres/connection.ts";
import { PoolQueue } from "../../../../src/storage/store/postgres/queue.ts";
import { type PostgresServer, startPostgresServer } from "../../../support/storage/store/postgres-server.ts";

suite("the queue in front of a pool", () => {
  test("the queue lends as many connections as there are, then one after another in the order they came", async () => {
    const queue = new PoolQueue(2);
    const order: number[] = [];
    const first = await queue.take();
    const second = await queue.take();
    const others = [3, 4, 5].map(async (number) => {
      using _turn = await queue.take();
      order.push(number);
    });
    await Promise.resolve();
    assert.deepEqual(order, []);
    second[Symbol.dispose]();
    await Promise.all(others);
    assert.deepEqual(order, [3, 4, 5]);
    first[Symbol.dispose]();
  });

  test("the queue never gives the last connection away for long", () => {
    const queue = new PoolQueue(3);
    const [one, two] = [queue.holdOne(), queue.holdOne()];
    assert.ok(one !== undefined && two !== undefined);
    assert.equal(queue.holdOne(), undefined);
    one[Symbol.dispose]();
    assert.ok(queue.holdOne() !== undefined);
    assert.equal(new PoolQueue(1).holdOne(), undefined);
    assert.equal(new PoolQueue(0).holdOne(), undefined);
  });
});

suite("a pool with a short connection timeout", () => {
  let server: PostgresServer;
  before(async () => {
    server = await startPostgresServer();
  });
  after(() => server[Symbol.asyncDispose]());

  const slow = statement("select pg_sleep(0.3)");

  test("a pool with a short connection timeout serves twelve slow statements over two connections, also for several stores", async () => {
    for (const stores of [1, 3]) {
      const pool = hastyPool();
      const connections = Array.from({ length: stores }, () =>
        openConnection({ pool, address: undefined, isOurs: false }),
      );
      const statements = Array.from({ length: 12 / stores }, () => connections.map(({ query }) => query(slow)));
      const transactions = connections.map(({ transaction }) => transaction((query) => query(slow)));
      assert.equal((await Promise.all([...statements.flat(), ...transactions])).length, 12 + stores);
      for (const connection of connections) await connection[Symbol.asyncDispose]();
      await pool.end();
    }
  });

  test("a pool has its connection back whenever nothing listens on it any more", async () => {
    const pool = hastyPool();
    const connection = openConnection({ pool, address: undefined, isOurs: false });
    for (let time = 0; time < 5; time++) {
      const stop = new AbortController();
      const begun = Promise.withResolvers<void>();
      const listener = { onListening: () => begun.resolve(), onMessage: () => {} };
      const listening = connection.listen("sous_test", listener, stop.signal);
      assert.ok(listening !== undefined, `${time} have listened before`);
      await begun.promise;
      stop.abort();
      await listening;
    }
    await connection[Symbol.asyncDispose]();
    assert.equal(pool.totalCount, pool.idleCount);
    await pool.end();
  });

  test("a pool with a short connection timeout would not serve them without the queue", async () => {
    const pool = hastyPool();
    const results = await Promise.allSettled(Array.from({ length: 12 }, () => pool.query(slow.text)));
    const reasons = results.flatMap((result) => (result.status === "rejected" ? [String(result.reason)] : []));
    assert.ok(reasons.length > 0);
    assert.deepEqual([...new Set(reasons)], ["Error: timeout exceeded when trying to connect"]);
    await pool.end();
  });

  function hastyPool(): Pool {
    return new Pool({ connectionString: server.connectionString(), max: 2, connectionTimeoutMillis: 500 });
  }
});
