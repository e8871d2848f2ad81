/** `sous/sqlite`: runs that are kept in a file, for any number of processes of one machine. */

export { openSqliteStore, type SqliteStore, type SqliteStoreOptions } from "./storage/store/sqlite/store.ts";
