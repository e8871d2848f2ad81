/** Stores as they were before shared budgets had rows, for tests of the way from there: a budget was one text. */

/** Makes the tables of a SQLite file of the present version into those from before. */
export const OLDER_SQLITE_BUDGETS = `DROP TABLE budgets; DROP TABLE budget_holds; DROP TABLE budget_owners;
CREATE TABLE purses (
  name TEXT NOT NULL UNIQUE,
  limit_tokens INTEGER,
  limit_nano_usd INTEGER,
  limit_executions INTEGER,
  books TEXT NOT NULL
);`;

/** The same in Postgres, in a schema whose name is quoted. */
export function olderPostgresBudgets(schema: string): string {
  const functions = ["step", "make", "move", "within", "count_spent", "lapse"].map(
    (name) => `${schema}.budget_${name}`,
  );
  return `drop function ${functions.join(", ")};
    drop table ${schema}.budgets, ${schema}.budget_holds, ${schema}.budget_owners;
    create table ${schema}.purses (name text collate "C" primary key, limit_tokens bigint, limit_nano_usd bigint,
      limit_executions bigint, books text not null, version bigint not null);`;
}

const amount = (tokens: number) => ({ tokens, nanoUsd: tokens * 10 });
const member = { spent: amount(20), inFlight: amount(3), kept: amount(500), executions: 2 };

/** The text of a budget with two processes: 146 tokens and 5 executions are gone when both are. */
export const OLDER_BOOKS: string = JSON.stringify({ past: amount(100), pastExecutions: 1, members: [member, member] });
