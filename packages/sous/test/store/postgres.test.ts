/** The Postgres store keeps what every store promises, on a real server. */

import { after, before, suite, test } from "node:test";
import { openPostgresStore } from "../../src/store/postgres.ts";
import { storeContract } from "../../src/testing/store-contract.ts";
import { type PostgresServer, startPostgresServer } from "./postgres-server.ts";

let server: PostgresServer;
let schemas = 0;
before(async () => {
  server = await startPostgresServer();
});
after(() => server[Symbol.asyncDispose]());

suite("G2: Postgres passes the contract of stores", () => {
  storeContract(test, () => openPostgresStore({ connectionString: server.connectionString(), schema: freshSchema() }));
});

function freshSchema(): string {
  schemas += 1;
  return `test ${schemas}`;
}
