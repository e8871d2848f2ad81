/** Sends events of runs to a collector over HTTP, in batches, and never holds a run up. */

import type { EventListener, SousEvent } from "sous";

// #region exporter
const MAX_WAITING = 1_000;
const BATCH = 100;

export type Exporter = AsyncDisposable & { onEvent: EventListener; readonly dropped: number };

export function openExporter(url: string): Exporter {
  const waiting: object[] = [];
  let sending: Promise<void> | undefined;
  let dropped = 0;

  async function sendAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, BATCH);
      const isSent = await post(url, batch);
      if (!isSent) dropped += batch.length;
    }
    sending = undefined;
  }

  return {
    // Called while the run works: it only puts a small value into a queue.
    onEvent(event) {
      const line = toLine(event);
      if (line === undefined) return;
      if (waiting.length >= MAX_WAITING) dropped += 1;
      else waiting.push(line);
      sending ??= Promise.resolve().then(sendAll); // not now, and not twice at once
    },
    get dropped() {
      return dropped;
    },
    async [Symbol.asyncDispose]() {
      await sending;
    },
  };
}
// #endregion

async function post(url: string, batch: readonly object[]): Promise<boolean> {
  for (const pauseMs of [100, 400, undefined]) {
    try {
      const body = JSON.stringify(batch);
      const response = await fetch(url, { method: "POST", body, signal: AbortSignal.timeout(5_000) });
      await response.body?.cancel();
      if (response.ok) return true;
    } catch {
      // The collector is gone or too slow: the next attempt may reach it.
    }
    if (pauseMs !== undefined) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  return false;
}

// #region line
/** Turns an event into names and numbers. What people, models and tools wrote stays here. */
function toLine(event: SousEvent): object | undefined {
  if (event.seq === undefined) return undefined; // deltas
  const { type, seq, time, runId, path } = event;
  const line = { type, seq, time, runId, path };
  if (event.type === "message-end") return { ...line, tokens: event.usage.totalTokens, costUsd: event.costUsd };
  if (event.type === "tool-call-start") return { ...line, tool: event.toolName };
  if (event.type === "run-end") return { ...line, status: event.status, durationMs: event.durationMs };
  return line;
}
// #endregion
