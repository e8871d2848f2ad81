/** `sous/postgres`: runs kept in Postgres. Loads `pg` when a store is opened. */

export type { PostgresClient, PostgresPool, PostgresQuery } from "./store/postgres/connection.ts";
export { openPostgresStore, type PostgresStore, type PostgresStoreOptions } from "./store/postgres/store.ts";
