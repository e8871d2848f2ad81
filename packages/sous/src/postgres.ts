/** `sous/postgres`: runs kept in Postgres. Loads `pg` when a store is opened. */

export type { PostgresClient, PostgresPool, PostgresQuery } from "./storage/store/postgres/connection.ts";
export { openPostgresStore, type PostgresStore, type PostgresStoreOptions } from "./storage/store/postgres/store.ts";
