/** A schema of Postgres that the tests of a file use one after another: to make its tables takes twenty times as long as to empty them. */

import type { Pool } from "pg";

const TABLES = `select format('%I.%I', schemaname, tablename) as name from pg_tables
  where schemaname = $1 and tablename <> 'sous_version'`;

/** Removes every row of a schema that may not be there yet. Returns its name. */
export async function emptySchema(pool: Pool, schema: string): Promise<string> {
  const { rows } = await pool.query<{ name: string }>(TABLES, [schema]);
  await pool.query(rows.map(({ name }) => `delete from ${name}`).join("; "));
  return schema;
}
