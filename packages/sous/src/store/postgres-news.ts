/** What other processes say about shared budgets: one connection listens for all of a store, while anyone wants to hear it. */

import { createHash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import type { Connection } from "./postgres-connection.ts";
import type { PurseTables } from "./shared-budget.ts";

export type PostgresNews = AsyncDisposable & {
  readonly listen: NonNullable<PurseTables["listen"]>;
  /** The text of a message on the channel. */
  message(name: string, from: string): string;
  /** The channel as a word of SQL. */
  readonly channel: string;
};

type Listener = { readonly name: string; readonly onNews: (from: string | undefined) => void };

const SHORTEST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;
/** A process that waits is likely to wait again soon: until then its connection stays. */
const LINGER_MS = 2_000;

export function createNews(connection: Connection, schema: string): PostgresNews {
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

  /** Something may have been missed. */
  function tellAll(): void {
    for (const { onNews } of [...listeners]) onNews(undefined);
  }

  function listenOnce(signal: AbortSignal): Promise<void> | undefined {
    return connection.listen(channel, { onListening: tellAll, onMessage: tell }, signal);
  }

  /** Listens again when the connection breaks. Until it does, everyone is told to look for themselves. */
  async function keepListening(first: Promise<void>, signal: AbortSignal): Promise<void> {
    let listening: Promise<void> | undefined = first;
    for (let pauseMs = SHORTEST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
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

function ignore(): void {}
