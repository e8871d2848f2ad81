/** The rows of shared budgets in Postgres: one call of a function for each step, for any number of processes and machines. */

import { setTimeout } from "node:timers/promises";
import {
  BUDGET_ROW_UNITS,
  type BudgetLine,
  type BudgetReply,
  type BudgetRow,
  type BudgetRows,
  type BudgetRowUnit,
  type MadeBudget,
} from "../../../core/shared-budget.ts";
import { fromColumn, toColumn } from "../event-row.ts";
import { explained, fateBy, inWholeUnits, LEASE_MS } from "../shared-budget.ts";
import { createNews } from "./budget-news.ts";
import { type Connection, type Row, statement } from "./connection.ts";
import { isConflict, isLost } from "./errors.ts";

type PostgresBudgetsOptions = {
  readonly connection: Connection;
  readonly schema: string;
  readonly owner: string;
  /** Milliseconds for which a step is tried again when the server is away, or it is unknown whether it was stored. */
  readonly patienceMs: number;
  /** True when it is certain that a process is gone. */
  readonly isGone?: ((owner: string) => boolean) | undefined;
};

export function createBudgetRows(options: PostgresBudgetsOptions): BudgetRows & AsyncDisposable {
  const { connection, schema, owner, patienceMs } = options;
  const news = createNews(connection, schema);
  const sql = statements(schema);
  const fateOf = fateBy(options.isGone);
  let hasStepped = false;

  /** A step has a number, and everything else says how it is to be: doing it again changes nothing. */
  async function query(how: ReturnType<typeof statement>, values: unknown[]): Promise<Row[]> {
    const latest = performance.now() + patienceMs;
    for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 2, 500)) {
      try {
        return await connection.query(how, values);
      } catch (error) {
        const mayPass = isLost(error) || isConflict(error);
        if (!mayPass || performance.now() + pauseMs > latest) throw error;
      }
      await setTimeout(pauseMs);
    }
  }

  /** True when something was taken from one of these processes, or of all. */
  async function takeFromDead(owners?: readonly string[]): Promise<boolean> {
    let isNews = false;
    for (const row of await query(sql.owners, [owner, owners ?? null])) {
      const dead = String(row.owner);
      const fate = fateOf(dead, Number(row.absence));
      if (fate === "alive") continue;
      const [lapsed] = await query(sql.lapse, [dead, fate === "gone", LEASE_MS, news.channel]);
      isNews ||= lapsed?.is_news === true;
    }
    return isNews;
  }

  const rowsOf = async (names: readonly string[]) => (await query(sql.read, [names.map(toColumn)])).map(toBudgetRow);

  return {
    listen: news.listen,
    step: ({ number, lapses, made, gives, asks, names, waits }) =>
      explained(names[0] ?? "", async (): Promise<BudgetReply> => {
        hasStepped = true;
        const lines = [made.flatMap(toMadeRows), gives.map(toLine), asks.map(toLine)].map((each) =>
          JSON.stringify(each),
        );
        const parts = [...lines, names.map(toColumn), waits.map(toColumn), news.channel];
        const found = await query(sql.step, [owner, number, lapses, ...parts]);
        const [first] = found;
        const reply = {
          isTaken: first?.is_taken === true,
          isGranted: first?.granted === true,
          lapses: Number(first?.lapse_count),
          rows: found.filter(({ name }) => name !== null).map(toBudgetRow),
        };
        const others: string[] = JSON.parse(String(first?.others ?? "[]"));
        // Amounts that a dead process holds never come back, so no run may wait for them.
        return others.length > 0 && (await takeFromDead(others)) ? { ...reply, rows: await rowsOf(names) } : reply;
      }),
    look: (name) =>
      explained(name, async () => {
        const rows = await rowsOf([name]);
        return rows.length > 0 && (await takeFromDead()) ? rowsOf([name]) : rows;
      }),
    make: (budget) =>
      explained(budget.name, async () => {
        await query(sql.make, [JSON.stringify(toMadeRows(budget)), news.channel]);
      }),
    /** Amounts that calls still hold count as spent. */
    async [Symbol.asyncDispose]() {
      await news[Symbol.asyncDispose]();
      if (hasStepped) await connection.query(sql.lapse, [owner, true, 0, news.channel]).catch(() => undefined);
    },
  };
}

function statements(schema: string) {
  return {
    step: statement(`select * from ${schema}.budget_step($1, $2, $3, $4, $5, $6, $7, $8, $9)`),
    make: statement(`select ${schema}.budget_make($1), pg_notify($2, '')`),
    read: statement(`select * from ${schema}.budgets where name = any($1)`),
    owners: statement(
      `select owner, extract(epoch from clock_timestamp() - seen_at)::float8 * 1000 as absence
       from ${schema}.budget_owners where owner <> $1 and ($2::text[] is null or owner = any($2))`,
    ),
    lapse: statement(
      `select ${schema}.budget_lapse($1, $2, clock_timestamp() - $3 * interval '1 millisecond', $4) as is_news`,
    ),
  };
}

function toMadeRows({ name, limits, spent, replaces }: MadeBudget): object[] {
  const rowOf = (unit: BudgetRowUnit) => ({ cap: limits[unit] ?? null, spent: spent[unit], replaces });
  return BUDGET_ROW_UNITS.map((unit) => ({ name: toColumn(name), unit, ...rowOf(unit) }));
}

function toLine(line: BudgetLine): object {
  const { name, unit, spent, inFlight, kept } = inWholeUnits(line);
  return { name: toColumn(name), unit, spent, in_flight: inFlight, kept };
}

function toBudgetRow(row: Row): BudgetRow {
  return {
    name: fromColumn(String(row.name)),
    unit: row.unit as BudgetRowUnit,
    limit: row.cap === null ? undefined : Number(row.cap),
    spent: Number(row.spent),
    inFlight: Number(row.in_flight),
    kept: Number(row.kept),
  };
}
