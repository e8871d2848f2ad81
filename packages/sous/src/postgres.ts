/** `sous/postgres`: runs kept in Postgres. Loads `pg` when a store is opened. */

export { openPostgresStore, type PostgresStore, type PostgresStoreOptions } from "./store/postgres.ts";
export type { PostgresClient, PostgresPool, PostgresQuery } from "./store/postgres-connection.ts";
