/** The rows of shared budgets in a SQLite database: one transaction for each step, for any number of processes. */

import type { SQLOutputValue } from "node:sqlite";
import type { Clock } from "../../../core/clock.ts";
import { StoreError } from "../../../core/errors.ts";
import type { BudgetRow, BudgetRowUnit } from "../../../core/shared-budget.ts";
import { BudgetBook, type BudgetHold, type BudgetOwner, type BudgetRecords } from "../budget-book.ts";
import { fromColumn, toColumn } from "../event-row.ts";
import { fateBy } from "../shared-budget.ts";
import type { SqliteConnection } from "./connection.ts";

/** Sends no notifications: waiting processes poll. */
export function createBudgetRows(
  connection: SqliteConnection,
  owner: string,
  clock: Pick<Clock, "now">,
  isGone?: (owner: string) => boolean,
): BudgetBook {
  return new BudgetBook(recordsIn(connection), {
    owner,
    now: () => Math.max(0, Math.floor(clock.now())),
    fateOf: fateBy(isGone),
    transaction: (work) => connection.write(work), // guard: budget-in-a-transaction
  });
}

type Values = Record<string, SQLOutputValue>;

function recordsIn(connection: SqliteConnection): BudgetRecords {
  const one = (sql: string, ...values: (string | number)[]) => connection.prepare(sql).get(...values);
  const all = (sql: string, ...values: (string | number)[]) => connection.prepare(sql).all(...values);
  const run = (sql: string, ...values: (string | number | null)[]) => void connection.prepare(sql).run(...values);
  return {
    row({ name, unit }) {
      const found = one("SELECT * FROM budgets WHERE name = ? AND unit = ?", toColumn(name), unit);
      return found && toRow(found);
    },
    putRow: ({ name, unit, limit, spent, inFlight, kept }) =>
      run(PUT_ROW, toColumn(name), unit, limit ?? null, spent, inFlight, kept),
    hold(owner, { name, unit }) {
      const sql = "SELECT * FROM budget_holds WHERE owner = ? AND name = ? AND unit = ?";
      const found = one(sql, owner, toColumn(name), unit);
      return found && toHold(found);
    },
    putHold({ owner, name, unit, inFlight, kept }) {
      if (inFlight + kept > 0) run(PUT_HOLD, owner, toColumn(name), unit, inFlight, kept);
      else run("DELETE FROM budget_holds WHERE owner = ? AND name = ? AND unit = ?", owner, toColumn(name), unit);
    },
    holdsOf: (owner) => all("SELECT * FROM budget_holds WHERE owner = ?", owner).map(toHold),
    owner(owner) {
      const found = one("SELECT * FROM budget_owners WHERE owner = ?", owner);
      return found && toOwner(found);
    },
    owners: () => all("SELECT * FROM budget_owners").map(toOwner),
    putOwner: ({ owner, step, isGranted, lapses, isLapsed, seenAt }) =>
      run(PUT_OWNER, owner, step, Number(isGranted), lapses, Number(isLapsed), seenAt),
    removeOwner(owner) {
      run("DELETE FROM budget_holds WHERE owner = ?", owner);
      run("DELETE FROM budget_owners WHERE owner = ?", owner);
    },
  };
}

/** The rows of a tree, and what processes hold of them; `?1` is the column of the id of its root. */
export const DELETE_TREE_BUDGETS: readonly string[] = ["budgets", "budget_holds"].map(
  (table) => `DELETE FROM ${table} WHERE name = ?1 OR (name > ?1 || '/' AND name < ?1 || '0')`,
);

/** The table of shared budgets before they had rows. */
export const OLD_BUDGETS = `CREATE TABLE purses (
  name TEXT NOT NULL UNIQUE,
  limit_tokens INTEGER,
  limit_nano_usd INTEGER,
  limit_executions INTEGER,
  books TEXT NOT NULL
)`;
export const DROP_OLD_BUDGETS = "DROP TABLE purses";

/** From the table of before, where a budget was one text. Its processes are gone: what their calls held counts as spent. */
const FILL_BUDGETS: string = (
  [
    ["tokens", "limit_tokens", amountOf("tokens")],
    ["nanoUsd", "limit_nano_usd", amountOf("nanoUsd")],
    ["executions", "limit_executions", [`'$.pastExecutions'`, `'$.executions'`]],
  ] as const
)
  .map(
    ([
      unit,
      limit,
      [past = "", ...held],
    ]) => `INSERT INTO budgets SELECT name, '${unit}', ${limit}, ifnull(books ->> ${past}, 0)
  + (SELECT ifnull(sum(${held.map((path) => `ifnull(value ->> ${path}, 0)`).join(" + ")}), 0) FROM json_each(books, '$.members')), 0, 0
  FROM purses WHERE json_valid(books)`,
  )
  .join(";\n");

function amountOf(unit: string): readonly string[] {
  return [`'$.past.${unit}'`, `'$.spent.${unit}'`, `'$.inFlight.${unit}'`];
}

/** The step of the migration that adds the rows, in the words that `schema.ts` compares. */
export const BUDGET_PARTS: readonly { readonly name: string; readonly sql: string; readonly fill?: string }[] = [
  {
    name: "budgets",
    sql: `CREATE TABLE budgets (
  name TEXT NOT NULL,
  unit TEXT NOT NULL,
  cap INTEGER,
  spent INTEGER NOT NULL,
  in_flight INTEGER NOT NULL,
  kept INTEGER NOT NULL,
  UNIQUE (name, unit)
)`,
    fill: FILL_BUDGETS,
  },
  {
    name: "budget_holds",
    sql: `CREATE TABLE budget_holds (
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  unit TEXT NOT NULL,
  in_flight INTEGER NOT NULL,
  kept INTEGER NOT NULL,
  UNIQUE (owner, name, unit)
)`,
  },
  {
    name: "budget_owners",
    sql: `CREATE TABLE budget_owners (
  owner TEXT NOT NULL UNIQUE,
  step INTEGER NOT NULL,
  is_granted INTEGER NOT NULL,
  lapses INTEGER NOT NULL,
  is_lapsed INTEGER NOT NULL,
  seen_at INTEGER NOT NULL
)`,
  },
  { name: "purses", sql: DROP_OLD_BUDGETS },
];

const PUT_ROW = `INSERT INTO budgets VALUES (?1, ?2, ?3, ?4, ?5, ?6)
  ON CONFLICT (name, unit) DO UPDATE SET cap = ?3, spent = ?4, in_flight = ?5, kept = ?6`;
const PUT_HOLD = `INSERT INTO budget_holds VALUES (?1, ?2, ?3, ?4, ?5)
  ON CONFLICT (owner, name, unit) DO UPDATE SET in_flight = ?4, kept = ?5`;
const PUT_OWNER = `INSERT INTO budget_owners VALUES (?1, ?2, ?3, ?4, ?5, ?6)
  ON CONFLICT (owner) DO UPDATE SET step = ?2, is_granted = ?3, lapses = ?4, is_lapsed = ?5, seen_at = ?6`;

function toRow(found: Values): BudgetRow {
  const limit = found.cap === null ? undefined : whole(found, "cap");
  return { ...keyOf(found), limit, spent: whole(found, "spent"), ...heldIn(found) };
}

function toHold(found: Values): BudgetHold {
  return { owner: String(found.owner), ...keyOf(found), ...heldIn(found) };
}

function toOwner(found: Values): BudgetOwner {
  return {
    owner: String(found.owner),
    step: whole(found, "step"),
    isGranted: found.is_granted !== 0,
    lapses: whole(found, "lapses"),
    isLapsed: found.is_lapsed !== 0,
    seenAt: whole(found, "seen_at"),
  };
}

function keyOf({ name, unit }: Values): { name: string; unit: BudgetRowUnit } {
  return { name: fromColumn(String(name)), unit: unit as BudgetRowUnit };
}

function heldIn(found: Values): { inFlight: number; kept: number } {
  return { inFlight: whole(found, "in_flight"), kept: whole(found, "kept") };
}

/** A wrong number must not become a limit. */
function whole(found: Values, column: string): number {
  const figure = found[column];
  if (typeof figure === "number" && Number.isSafeInteger(figure) && figure >= 0) return figure;
  throw new StoreError(`its row is damaged (${column}): restore a copy of the database, or use another name`);
}
