/** Damaged rows in Postgres: what every store of rows promises. */

import { after, before, suite, test } from "node:test";
import { Pool } from "pg";
import { openPostgresStore } from "../../../../src/storage/store/postgres/store.ts";
import { type DamagedPlace, damageContract } from "../../../support/storage/store/damage-contract.ts";
import { type PostgresServer, startPostgresServer } from "../../../support/storage/store/postgres-server.ts";

let server: PostgresServer;
let pool: Pool;
let schemas = 0;
before(async () => {
  server = await startPostgresServer();
  pool = new Pool({ connectionString: server.connectionString() });
});
after(async () => {
  await pool.end();
  await server[Symbol.asyncDispose]();
});

suite("B8.2: Postgres keeps the contract about damage", () => {
  damageContract(test, async (): Promise<DamagedPlace> => {
    const schema = `damage${schemas++}`;
    const store = await openPostgresStore({ connectionString: server.connectionString(), schema });
    const change = async (sql: string, ...values: unknown[]): Promise<void> => {
      const { rowCount } = await pool.query(sql, values);
      if (rowCount === 0) throw new Error(`Nothing was changed by ${sql}`);
    };
    const treeOf = `(select tree from ${schema}.trees where root_id = $1)`;
    return {
      store,
      event: (rootId, seq, json) =>
        change(`update ${schema}.events set json = $3 where key = (${treeOf} << 28) + $2::integer`, rootId, seq, json),
      tools: (runId, json) => change(`update ${schema}.runs set allowed_tools = $2 where id = $1`, runId, json),
      line: (status) =>
        change(
          `update ${schema}.tallies set status = $1 where position = (select min(position) from ${schema}.tallies)`,
          status,
        ),
      texts: (text) => change(`update ${schema}.blobs set content = $1`, Buffer.from(text)),
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    };
  });
});
