/** Shared budgets in Postgres: one statement for each step, for any number of processes and machines. */

import { createHash, randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { ignore, StoreError } from "../../../core/errors.ts";
import type { SharedBudgetBooks } from "../../../core/shared-budget-books.ts";
import type { SharedBudgetChange, SharedBudgetTables } from "../shared-budget.ts";
import { BOOK_COLUMNS, bookValues, hasOwner, toSharedBudgetBooks, withoutOwner } from "../shared-budget-row.ts";
import { type Connection, type Query, type Statement, statement } from "./connection.ts";
import { isConflict, isLost } from "./errors.ts";

type PostgresSharedBudgets = SharedBudgetTables & AsyncDisposable;

type PostgresSharedBudgetsOptions = {
  readonly connection: Connection;
  readonly schema: string;
  readonly owner: string;
  /** Milliseconds for which a step is tried again when the server is away, or it is unknown whether it was stored. */
  readonly patienceMs: number;
};

/** Books, and the version of the row that has them. */
type Books = { readonly books: SharedBudgetBooks; readonly version: number };
type Change<T> = (books: SharedBudgetBooks | undefined) => SharedBudgetChange<T>;

/** After losing to others this often, a step takes the lock of the row. */
const MAX_RACES = 4;

export function createSharedBudgets({
  connection,
  schema,
  owner,
  patienceMs,
}: PostgresSharedBudgetsOptions): PostgresSharedBudgets {
  const news = createNews(connection, schema);
  const sql = statements(schema, news.channel);
  /** The books as this store last wrote them. If no other process has changed them since, a step is one statement. */
  const known = new Map<string, Books>();
  /** The last step of each shared budget: those of one store do not race each other. */
  const last = new Map<string, Promise<unknown>>();
  /** The shared budgets in which this store has a row. */
  const names = new Set<string>();
  /** The clocks of two machines differ, and all rows must mean the same time. */
  let serverIsAhead = 0;
  const now = () => Math.max(0, Math.floor(Date.now() + serverIsAhead));

  async function update<T>(name: string, change: Change<T>): Promise<T> {
    const before = last.get(name);
    const latest = performance.now() + patienceMs;
    const step = (async () => {
      await before?.catch(() => undefined);
      return patiently(() => changeBooks(name, change), latest);
    })();
    last.set(name, step);
    try {
      return await step;
    } finally {
      if (last.get(name) === step) last.delete(name);
    }
  }

  /** Figures in the books are absolute, so a step of which it is unknown whether it was stored is done again. */
  async function patiently<T>(step: () => Promise<T>, latest: number): Promise<T> {
    for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 2, 500)) {
      try {
        return await step();
      } catch (error) {
        if (!isLost(error) || performance.now() + pauseMs > latest) throw error;
      }
      await setTimeout(pauseMs);
    }
  }

  async function changeBooks<T>(name: string, change: Change<T>): Promise<T> {
    for (let races = 0; races < MAX_RACES; races++) {
      const remembered = known.get(name);
      known.delete(name);
      const before = remembered ?? (await read(connection.query, sql.read, name));
      const changed = change(before?.books);
      // Books that are only looked at must not be out of date.
      if (changed.books === undefined && remembered !== undefined) continue;
      const after = await save(connection.query, name, before, changed).catch(undefinedIfConflict);
      if (after !== undefined) return keep(name, after, changed.result);
      if (changed.books === undefined) return changed.result;
    }
    const { after, result } = await connection.transaction(async (query) => {
      const before = await read(query, sql.lock, name);
      const changed = change(before?.books);
      const after = await save(query, name, before, changed);
      if (after === undefined && changed.books !== undefined)
        throw new StoreError("another process makes it at this moment: try again");
      return { after, result: changed.result };
    });
    return after === undefined ? result : keep(name, after, result);
  }

  function keep<T>(name: string, books: Books, result: T): T {
    known.set(name, books);
    if (hasOwner(books.books, owner)) names.add(name);
    return result;
  }

  async function read(query: Query, how: Statement, name: string): Promise<Books | undefined> {
    const [row] = await query(how, [name]);
    if (row === undefined) return undefined;
    serverIsAhead = Number(row.now) - Date.now();
    return { books: toSharedBudgetBooks(row), version: Number(row.version) };
  }

  /** Undefined when the row is not what it was, or there is nothing to save. */
  async function save<T>(
    query: Query,
    name: string,
    before: Books | undefined,
    { books, newsFrom }: SharedBudgetChange<T>,
  ): Promise<Books | undefined> {
    if (books === undefined) return undefined;
    const values = [name, ...bookValues(books)];
    const message = newsFrom === undefined ? null : news.message(name, newsFrom);
    const [row] =
      before === undefined
        ? await query(sql.insert, values)
        : await query(sql.update, [...values, before.version, message]);
    if (row === undefined) return undefined;
    serverIsAhead = Number(row.now) - Date.now();
    return { books, version: Number(row.version) };
  }

  function leave(books: SharedBudgetBooks | undefined): SharedBudgetChange<void> {
    return { books: books && withoutOwner(books, owner), result: undefined };
  }

  return {
    owner,
    update,
    now,
    newId: randomUUID,
    listen: news.listen,
    /** Amounts that calls still hold count as spent. */
    async [Symbol.asyncDispose]() {
      await news[Symbol.asyncDispose]();
      // The process leaves after the step that is on its way: that one would write the row again.
      const leaving = [...names].map(async (name) => {
        await last.get(name)?.catch(() => undefined);
        await changeBooks(name, leave).catch(() => undefined);
      });
      names.clear();
      await Promise.all(leaving);
    },
  };
}

function undefinedIfConflict(error: unknown): undefined {
  if (!isConflict(error)) throw error;
}

function statements(schema: string, channel: string) {
  const columns = BOOK_COLUMNS.join(", ");
  const parameters = BOOK_COLUMNS.map((_, index) => `$${index + 2}`);
  const [versionParameter, messageParameter] = [parameters.length + 2, parameters.length + 3];
  const time = "extract(epoch from clock_timestamp())::float8 * 1000 as now";
  const read = `select ${columns}, version, ${time} from ${schema}.purses where name = $1`;
  return {
    read: statement(read),
    lock: statement(`${read} for update`),
    // A row that is made again must not have a version that the one before it had.
    insert: statement(
      `insert into ${schema}.purses (name, ${columns}, version)
       values ($1, ${parameters.join(", ")}, (extract(epoch from clock_timestamp()) * 1000000)::bigint)
       on conflict (name) do nothing returning version, ${time}`,
    ),
    update: statement(
      `with changed as (
         update ${schema}.purses
         set ${BOOK_COLUMNS.map((column, index) => `${column} = ${parameters[index]}`).join(", ")}, version = version + 1
         where name = $1 and version = $${versionParameter} returning version
       )
       select version, ${time},
         case when $${messageParameter}::text is not null then pg_notify('${channel}', $${messageParameter}::text)::text end as told
       from changed`,
    ),
  };
}

/** News from other processes about shared budgets: one connection listens for all of a store, while there are listeners. */
type PostgresNews = AsyncDisposable & {
  readonly listen: NonNullable<SharedBudgetTables["listen"]>;
  /** The text of a message on the channel. */
  message(name: string, from: string): string;
  /** The channel as a word of SQL. */
  readonly channel: string;
};

type Listener = { readonly name: string; readonly onNews: (from: string | undefined) => void };

const MIN_PAUSE_MS = 20;
const MAX_PAUSE_MS = 1_000;
/** A process that waits is likely to wait again soon: until then its connection stays. */
const LINGER_MS = 2_000;

function createNews(connection: Connection, schema: string): PostgresNews {
  const channel = `sous_${createHash("sha256").update(`sous purses ${schema}`).digest("hex").slice(0, 24)}`;
  const listeners = new Set<Listener>();
  let isOpen = true;
  /** Set while there is a connection that listens, or an attempt to get one. */
  let current: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined;

  function tell(payload: string): void {
    const [from = ""] = payload.split(" ", 1);
    const about = payload.slice(from.length + 1);
    for (const { name, onNews } of [...listeners]) if (name === about) onNews(from);
  }

  /** Notifies all listeners, when something may have been missed. */
  function tellAll(): void {
    for (const { onNews } of [...listeners]) onNews(undefined);
  }

  function listenOnce(signal: AbortSignal): Promise<void> | undefined {
    return connection.listen(channel, { onListening: tellAll, onMessage: tell }, signal);
  }

  /** Listens again when the connection breaks. Until it does, all listeners are notified, so that they poll. */
  async function keepListening(first: Promise<void>, signal: AbortSignal): Promise<void> {
    let listening: Promise<void> | undefined = first;
    for (let pauseMs = MIN_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
      await listening?.catch(ignore);
      if (signal.aborted) return;
      tellAll();
      await setTimeout(pauseMs, undefined, { signal, ref: false }).catch(ignore);
      if (signal.aborted) return;
      listening = listenOnce(signal);
    }
  }

  /** False when there is no connection to spare. */
  function start(): boolean {
    const stop = new AbortController();
    const first = listenOnce(stop.signal);
    if (first === undefined) return false;
    current = { stop, ended: keepListening(first, stop.signal) };
    return true;
  }

  async function stopIfUnused(): Promise<void> {
    const unused = current;
    await setTimeout(LINGER_MS, undefined, { ref: false });
    if (listeners.size > 0 || unused !== current) return;
    current = undefined;
    unused?.stop.abort();
  }

  return {
    channel,
    message: (name, from) => `${from} ${name}`,
    listen(name, onNews) {
      if (!isOpen) return undefined;
      if (current === undefined && !start()) return undefined;
      const listener = { name, onNews };
      listeners.add(listener);
      return {
        [Symbol.dispose]() {
          if (listeners.delete(listener) && listeners.size === 0) void stopIfUnused();
        },
      };
    },
    async [Symbol.asyncDispose]() {
      isOpen = false;
      listeners.clear();
      current?.stop.abort();
      await current?.ended;
    },
  };
}
