/** Databases as they were before runs were placed. */

/** The columns that placed runs added to the rows of journals. */
const COLUMNS = ["of_root", "is_open", "claims", "mail_seen", "worker"];
const INDEXES = ["journals_by_tree", "journals_by_parent", "journals_open"];

/** Statements for a SQLite file; the version is set by who uses them. */
export const SQLITE_WITHOUT_PLACING: string = [
  ...INDEXES.map((name) => `DROP INDEX ${name}`),
  "DROP TABLE workers",
  "DROP TABLE mail",
  ...COLUMNS.toReversed().map((name) => `ALTER TABLE runs DROP COLUMN ${name}`),
  "",
].join("; ");

/** The same for a schema of Postgres. */
export function postgresWithoutPlacing(schema: string): string {
  const columns = [...COLUMNS, "agent"].map((name) => `drop column ${name}`);
  return `alter table "${schema}".trees ${columns.join(", ")}; drop table "${schema}".workers, "${schema}".mail; `;
}
