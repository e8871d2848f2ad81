/** News of a Postgres store: one connection listens while someone wants to hear, and holds the lock that shows that a worker lives. */

import { createHash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import type { Clock } from "../../../core/clock.ts";
import type { News } from "../../../core/engine.ts";
import { ignore } from "../../../core/errors.ts";
import { fromColumn } from "../event-row.ts";
import { MAX_SILENCE_MS, type NewsListeners, newsListeners } from "../news.ts";
import { RENEWAL_MS } from "../owner.ts";
import { type Connection, type Query, statement } from "./connection.ts";

export type Listening = NewsListeners & {
  /**
   * Holds a lock of this number for as long as the connection is there, and takes it again on the next one. Resolves when it is held
   * or cannot be. `onHeld` hears whether others can rely on it: false when the connection is not the same from one statement to the next.
   */
  holdLock(key: string, onHeld: (isHeld: boolean) => Promise<void>): Promise<AsyncDisposable>;
};

/** Others take a worker without its lock for dead after a second. */
const MIN_PAUSE_MS = 20;
const MAX_PAUSE_MS = 250;

type Lock = { readonly key: string; readonly onHeld: (isHeld: boolean) => Promise<void> };

export function createListening(connection: Connection, schema: string, timer: Clock["timer"]): Listening {
  const news = newsListeners({ timer, tickMs: MAX_SILENCE_MS, look: () => true, begin });
  let lock: Lock | undefined;
  /** Asks on the connection that listens, while there is one. */
  let live: Query | undefined;
  /** Settled when the connection of now listens, or could not be had. */
  let firstTry: Promise<void> = Promise.resolve();

  async function takeLock(query: Query, taken: Lock): Promise<void> {
    await query(TAKE_LOCK, [taken.key]);
    if (await isHeld(query, taken)) await taken.onHeld(true);
  }

  /** Behind a pool that changes connections between statements, the lock is on another one, which outlives this process. */
  async function isHeld(query: Query, checked: Lock): Promise<boolean> {
    const [row] = await query(FIND_LOCK, [checked.key]);
    if (row?.is_held === true || checked !== lock) return true;
    lock = undefined;
    await checked.onHeld(false);
    return false;
  }

  function begin(): Disposable {
    const stop = new AbortController();
    const tried = Promise.withResolvers<void>();
    firstTry = tried.promise;
    void keepListening(stop.signal, tried.resolve);
    return { [Symbol.dispose]: () => stop.abort() };
  }

  /** Listens again when the connection breaks. Without one, listeners rely on their tick. */
  async function keepListening(signal: AbortSignal, onTried: () => void): Promise<void> {
    let ours: Query | undefined;
    for (let pauseMs = MIN_PAUSE_MS; !signal.aborted; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
      const listening = connection.listen(
        channelOf(schema),
        {
          checkMs: RENEWAL_MS,
          async onListening(query) {
            // The last listener may have left, and another may have come that has a connection of its own.
            if (signal.aborted) return;
            live = query;
            ours = query;
            pauseMs = MIN_PAUSE_MS;
            if (lock !== undefined) await takeLock(query, lock);
            onTried();
            news.tell({ kind: "all" });
          },
          onMessage: (payload) => news.tell(toNews(payload)),
          onCheck: async (query) => {
            if (lock === undefined) await query(NOTHING);
            else await isHeld(query, lock);
          },
        },
        signal,
      );
      await listening?.catch(ignore);
      if (live === ours) live = undefined;
      onTried();
      await setTimeout(pauseMs, undefined, { signal, ref: false }).catch(ignore);
    }
  }

  return {
    ...news,
    async holdLock(key, onHeld) {
      const holding: Lock = { key, onHeld };
      lock = holding;
      const listening = news.listen(ignore);
      // A connection that listens already has not taken it.
      if (live !== undefined) await takeLock(live, holding).catch(ignore);
      else await firstTry;
      return {
        async [Symbol.asyncDispose]() {
          if (lock === holding) lock = undefined;
          await live?.(GIVE_LOCK, [key]).catch(ignore);
          listening[Symbol.dispose]();
        },
      };
    },
  };
}

/** As SQL: tells those who listen. `id` is an expression for the id of a journal. */
export function told(schema: string, kind: News["kind"], id?: string): string {
  // A message may have 8,000 bytes, and an id any length.
  const message =
    id === undefined ? `'${kind}'` : `'${kind}' || case when length(${id}) < 1000 then ' ' || ${id} else '' end`;
  return `pg_notify('${channelOf(schema)}', ${message})::text`;
}

function toNews(payload: string): News {
  const [word = "", ...rest] = payload.split(" ");
  const kind = KINDS.find((each) => each === word) ?? "all";
  return rest.length === 0 ? { kind } : { kind, journalId: fromColumn(rest.join(" ")) };
}

const KINDS: readonly News["kind"][] = ["placed", "ended", "mail"];

function channelOf(schema: string): string {
  return `sous_${createHash("sha256").update(`sous news ${schema}`).digest("hex").slice(0, 24)}`;
}

/** The numbers of all locks of this kind that are held in this database, as SQL. */
export const HELD_LOCKS = `select (l.classid::bigint << 32) | l.objid::bigint as key, l.pid from pg_catalog.pg_locks l
  where l.locktype = 'advisory' and l.objsubid = 1 and l.granted
    and l.database = (select oid from pg_catalog.pg_database where datname = current_database())`;

// Shared, so that it can be taken again before the server has noticed that the connection before is dead.
const TAKE_LOCK = statement("select pg_advisory_lock_shared($1::bigint)::text as done");
const GIVE_LOCK = statement("select pg_advisory_unlock_shared($1::bigint) as done");
const FIND_LOCK = statement(
  `select exists (select from (${HELD_LOCKS}) as held where held.key = $1::bigint and held.pid = pg_backend_pid()) as is_held`,
);
const NOTHING = statement("select");
