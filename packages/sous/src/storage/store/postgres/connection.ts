/** The way to the server: connections that are lent, transactions, and values that come back as what they are. */

import { createHash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { ignore, StoreError, UserError } from "../../../core/errors.ts";
import { isAway, isServerAnswer, toStoreError } from "./errors.ts";
import { queueOf } from "./queue.ts";

/** The part of a `Pool` of `pg` that the store uses. */
export type PostgresPool = {
  connect(): Promise<PostgresClient>;
  on(event: "error", listener: (error: Error) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
  end(): Promise<void>;
  /** Max connections; 10 when it does not say. */
  readonly options?: { readonly max?: number | undefined } | undefined;
};

/** The part of a client of `pg` that is used. */
export type PostgresClient = {
  query(query: PostgresQuery): Promise<{ rows: unknown[] }>;
  release(destroy?: boolean): void;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "notification", listener: (message: { payload?: string | undefined }) => void): unknown;
  off(event: "error", listener: (error: Error) => void): unknown;
  readonly host?: string;
  readonly port?: number;
  readonly database?: string | undefined;
};

/** One statement with its values. */
export type PostgresQuery = {
  text: string;
  values?: unknown[];
  name?: string;
  types?: { getTypeParser(type: number): (text: string) => unknown };
  query_timeout?: number;
};

/** A statement that is parsed once per connection, under a name of its own. */
export type Statement = { readonly text: string; readonly name: string | undefined };

/** Values as the columns have them: text, numbers, booleans, null. */
export type Row = Readonly<Record<string, string | number | boolean | null>>;
export type Query = (statement: Statement, values?: unknown[]) => Promise<Row[]>;

export type Connection = AsyncDisposable & {
  readonly query: Query;
  /** All or nothing: throws when nothing was stored; calls `onUnsure` first when that is unknown. */
  transaction<Result>(work: (query: Query) => Promise<Result>, options?: TransactionOptions): Promise<Result>;
  /**
   * Listens on a channel over a connection of its own until the signal is aborted; rejects when that breaks. Undefined when
   * the pool is too small to give one away for long.
   */
  listen(channel: string, listener: ChannelListener, signal: AbortSignal): Promise<void> | undefined;
  /** Host, port and database, for sentences. */
  address(): string;
};

type ChannelListener = {
  /** Called when every later message will be heard. `query` asks on the connection that listens. */
  onListening(query: Query): void | Promise<void>;
  onMessage(payload: string): void;
  /** Called on that connection from time to time; a connection that was cut silently is found by it. */
  onCheck?(query: Query): Promise<void>;
  /** Milliseconds between two checks. */
  readonly checkMs?: number;
};

type TransactionOptions = {
  /** Called when the connection was lost while the server was committing. */
  onUnsure?: () => void;
  /** Max milliseconds for one statement. */
  longestMs?: number;
  /** Milliseconds to try again when there is no server to connect to. */
  patienceMs?: number;
  /** Reads only, and everything as it was at one moment. */
  isSnapshot?: boolean;
};

export function statement(text: string): Statement {
  return { text, name: `sous_${createHash("sha256").update(text).digest("hex").slice(0, 24)}` };
}

/** A statement that is planned for its values each time, because what it looks for decides how to look. */
export function plannedStatement(text: string): Statement {
  return { text, name: undefined };
}

/** Max milliseconds for one small statement before the connection counts as lost. */
const MAX_ANSWER_MS = 10_000;
/** Locks are given up a little earlier, so that the server reports what happened. */
const SHORTER_FOR_LOCKS_MS = 2_000;

export type ConnectionOptions = { pool: PostgresPool; address: string | undefined; isOurs: boolean };

export function openConnection({ pool, address, isOurs }: ConnectionOptions): Connection {
  let known = address;
  let isClosed = false;
  const queue = queueOf(pool);
  // A connection that breaks while it is idle is replaced by the next one; without a listener it ends the process.
  pool.on("error", ignore);

  const currentAddress = () => known ?? "Postgres";

  async function borrow<Result>(
    work: (client: PostgresClient, keep: () => void) => Promise<Result>,
    firstWords?: FirstWords,
  ): Promise<Result> {
    using _turn = await queue.take();
    if (isClosed) throw new StoreError("The store is closed");
    let client: PostgresClient | undefined;
    let isReusable = false;
    try {
      client = await connect(pool, firstWords);
      known ??= addressOf(client);
      return await work(client, () => {
        isReusable = true;
      });
    } catch (error) {
      throw toStoreError(error, currentAddress());
    } finally {
      if (client !== undefined) giveBack(client, isReusable);
    }
  }

  async function runTransaction<Result>(
    work: (query: Query) => Promise<Result>,
    { onUnsure, longestMs = MAX_ANSWER_MS, patienceMs = 0, isSnapshot = false }: TransactionOptions = {},
  ): Promise<Result> {
    return borrow(
      async (client, keep) => {
        let result: Result;
        try {
          result = await work((given, values) => ask(client, given, values, longestMs));
        } catch (error) {
          // Only a connection that answers can roll back; any other is closed.
          if (isServerAnswer(error) || error instanceof StoreError || error instanceof UserError) {
            await client.query({ text: "rollback", query_timeout: MAX_ANSWER_MS }).then(keep, ignore);
          }
          throw error;
        }
        try {
          await client.query({ text: "commit", query_timeout: MAX_ANSWER_MS });
        } catch (error) {
          onUnsure?.();
          throw error;
        }
        keep();
        return result;
      },
      { text: beginText(longestMs, isSnapshot), patienceMs },
    );
  }

  async function listenOn(channel: string, listener: ChannelListener, signal: AbortSignal): Promise<void> {
    await borrow(async (client) => {
      const broken = Promise.withResolvers<never>();
      broken.promise.catch(ignore);
      client.on("error", broken.reject);
      client.on("notification", ({ payload = "" }) => listener.onMessage(payload));
      const query: Query = (given, values) => ask(client, given, values, MAX_ANSWER_MS);
      await client.query({ text: `listen ${channel}`, query_timeout: MAX_ANSWER_MS });
      await listener.onListening(query);
      // A connection that was cut silently is found by a query.
      while (await pauseUnless(signal, broken.promise, listener.checkMs))
        await (listener.onCheck?.(query) ?? client.query({ text: "select", query_timeout: MAX_ANSWER_MS }));
    });
  }

  return {
    listen(channel, listener, signal) {
      const right = queue.holdOne();
      return right && listenOn(channel, listener, signal).finally(() => right[Symbol.dispose]());
    },
    query: (given, values) =>
      borrow(async (client, keep) => {
        const rows = await ask(client, given, values, MAX_ANSWER_MS);
        keep();
        return rows;
      }),
    transaction: runTransaction,
    address: currentAddress,
    async [Symbol.asyncDispose]() {
      if (isClosed) return;
      isClosed = true;
      if (isOurs) await pool.end();
      pool.off("error", ignore);
    },
  };
}

export function addressOf({ host, port, database }: Pick<PostgresClient, "host" | "port" | "database">): string {
  return `Postgres at ${host}:${port}/${database}`;
}

/** Milliseconds between two checks that a connection which only listens is still there. */
const CHECK_LISTENING_MS = 10_000;

/** False when the signal was aborted; rejects with `broken`. */
async function pauseUnless(
  signal: AbortSignal,
  broken: Promise<never>,
  pauseMs: number = CHECK_LISTENING_MS,
): Promise<boolean> {
  const pause = setTimeout(pauseMs, undefined, { signal, ref: false }).catch(ignore);
  await Promise.race([pause, broken]);
  return !signal.aborted;
}

type FirstWords = { readonly text: string; readonly patienceMs: number };

/**
 * A server that is started again is away for a moment, and connections from before are dead without a sign: no run should
 * fail because of that. While only the first statement was sent, it can be sent again on another connection.
 */
async function connect(pool: PostgresPool, { text, patienceMs }: FirstWords = NOTHING): Promise<PostgresClient> {
  const latest = performance.now() + patienceMs;
  for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 2, 500)) {
    let client: PostgresClient | undefined;
    try {
      client = await pool.connect();
      client.on("error", ignore);
      if (text !== "") await client.query({ text, query_timeout: MAX_ANSWER_MS });
      return client;
    } catch (error) {
      if (client !== undefined) giveBack(client, false);
      const mayPass = isAway(error) || (client !== undefined && !isServerAnswer(error));
      if (!mayPass || performance.now() + pauseMs > latest) throw error;
    }
    await setTimeout(pauseMs);
  }
}

const NOTHING: FirstWords = { text: "", patienceMs: 0 };

function giveBack(client: PostgresClient, isReusable: boolean): void {
  client.off("error", ignore);
  client.release(!isReusable);
}

/** A connection that was cut silently must not hold its locks for long: another process may wait for them. */
function beginText(longestMs: number, isSnapshot: boolean): string {
  return [
    `begin isolation level ${isSnapshot ? "repeatable read read only" : "read committed"}`,
    `set local lock_timeout = ${longestMs - SHORTER_FOR_LOCKS_MS}`,
    `set local idle_in_transaction_session_timeout = ${MAX_ANSWER_MS - SHORTER_FOR_LOCKS_MS}`,
  ].join("; ");
}

async function ask(
  client: PostgresClient,
  { text, name }: Statement,
  values: unknown[] = [],
  longestMs: number,
): Promise<Row[]> {
  const query: PostgresQuery = { text, values, types: PLAIN_TYPES, query_timeout: longestMs };
  if (name !== undefined) query.name = name;
  const result = await client.query(query);
  // Several statements in one text, as a migration has, give a list of results that is not read.
  return Array.isArray(result) ? [] : (result.rows as Row[]);
}

const BOOLEAN = 16;
const NUMBERS = new Set([20, 21, 23, 701]);

/** Our own, because a program may have changed those of `pg` for all its queries. */
const PLAIN_TYPES = {
  getTypeParser(type: number): (text: string) => unknown {
    if (NUMBERS.has(type)) return Number;
    return type === BOOLEAN ? (text) => text === "t" : (text) => text;
  },
};
