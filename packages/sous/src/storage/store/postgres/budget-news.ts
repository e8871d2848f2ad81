/** News of shared budgets from other processes: something came back for which others wait. */

import { createHash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { ignore } from "../../../core/errors.ts";
import type { BudgetRows } from "../../../core/shared-budget.ts";
import type { Connection } from "./connection.ts";

/** One connection listens for all of a store, while there are listeners. */
type PostgresNews = AsyncDisposable & {
  readonly listen: NonNullable<BudgetRows["listen"]>;
  readonly channel: string;
};

const MIN_PAUSE_MS = 20;
const MAX_PAUSE_MS = 1_000;
/** A process that waits is likely to wait again soon: until then its connection stays. */
const LINGER_MS = 2_000;

export function createNews(connection: Connection, schema: string): PostgresNews {
  const channel = `sous_${createHash("sha256").update(`sous budgets ${schema}`).digest("hex").slice(0, 24)}`;
  const listeners = new Set<{ readonly onNews: () => void }>();
  let isOpen = true;
  /** Set while there is a connection that listens, or an attempt to get one. */
  let current: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined;

  /** Notifies all listeners: something came back, or may have been missed. */
  function tellAll(): void {
    for (const { onNews } of [...listeners]) onNews();
  }

  function listenOnce(signal: AbortSignal): Promise<void> | undefined {
    return connection.listen(channel, { onListening: tellAll, onMessage: tellAll }, signal);
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
    listen(onNews) {
      if (!isOpen) return undefined;
      if (current === undefined && !start()) return undefined;
      const listener = { onNews };
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
