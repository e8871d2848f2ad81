/** What a recorded model must have cost and held, so that a rerun counts and prunes as the run did. */

import type { StoredEvent } from "../core/event.ts";
import type { Recording } from "../core/recording.ts";
import { costOf, type Price, type Usage } from "../core/usage.ts";

type Bill = { usage: Usage; costUsd: number };

/** The expected price if it explains every recorded bill, else one that does; undefined when none was known. */
export function recordedPrice(recording: Recording, modelId: string, expected: Price | undefined): Price | undefined {
  const bills = billsOf(recording, modelId);
  if (bills.length === 0 || explains(expected, bills)) return expected;
  const fitted = fit(bills);
  return expected === undefined || explains(fitted, bills) ? fitted : expected;
}

/** The largest window under which the run would have pruned where it did; unlimited when nothing shows one. */
export function recordedWindow(recording: Recording, modelId: string): number {
  const root = recording.runs.get(recording.rootId)?.start.terms?.conversation;
  let window = Number.POSITIVE_INFINITY;
  if (root === undefined) return window;
  const limit = root.maxTokens * root.pruneThreshold;
  for (const { start, events } of recording.runs.values()) {
    if (start.model !== modelId) continue;
    let isAsking = false;
    let wasPrune = false;
    for (const event of events) {
      // What is left out of last words shows how little was kept, not how much the model reads.
      if (event.type === "notice" && event.reason === "wrap-up") break;
      if (event.type === "turn-start") isAsking = true;
      else if (event.type === "message-end") isAsking = false;
      // A pruning may have two halves, and only the first says why it was made.
      else if (event.type === "prune" && !isAsking && !wasPrune && event.tokensBefore <= limit)
        window = Math.min(window, (event.tokensBefore - 1) / root.pruneThreshold);
      wasPrune = event.type === "prune";
    }
  }
  return window;
}

function billsOf({ runs }: Recording, modelId: string): Bill[] {
  const bills: Bill[] = [];
  for (const { start, events } of runs.values()) {
    if (start.model !== modelId) continue;
    for (const event of events) {
      const bill = billOf(event);
      if (bill !== undefined) bills.push(bill);
    }
  }
  return bills;
}

function billOf(event: StoredEvent): Bill | undefined {
  if (event.type !== "message-end" && event.type !== "retry") return undefined;
  const { costUsd } = event;
  return costUsd === null ? undefined : { usage: event.type === "retry" ? event.spent : event.usage, costUsd };
}

function explains(price: Price | undefined, bills: readonly Bill[]): boolean {
  if (price === undefined) return false;
  return bills.every(({ usage, costUsd }) => {
    const cost = costOf(usage, price) ?? 0;
    return Math.abs(cost - costUsd) <= 1e-9 * Math.max(cost, costUsd, 1e-6);
  });
}

/** Bills are sums of four kinds of tokens: elimination finds a price for each that any of them shows. */
function fit(bills: readonly Bill[]): Price {
  const rows: number[][] = [];
  const pivots: number[] = [];
  for (const { usage, costUsd } of bills) {
    const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens } = usage;
    const plain = inputTokens - cachedInputTokens - cacheWriteTokens;
    const row = [outputTokens, plain, cachedInputTokens, cacheWriteTokens, costUsd * 1_000_000];
    for (const [index, earlier] of rows.entries()) subtract(row, earlier, pivots[index] ?? 0);
    const pivot = largest(row);
    if (pivot === undefined) continue;
    for (const earlier of rows) subtract(earlier, row, pivot);
    rows.push(row);
    pivots.push(pivot);
    if (rows.length === 4) break;
  }
  const found = (kind: number) => {
    const index = pivots.indexOf(kind);
    const row = rows[index];
    return row === undefined ? undefined : (row[4] ?? 0) / (row[kind] ?? 1);
  };
  const price: Price = { output: found(0) ?? 0, input: found(1) ?? 0 };
  const [cachedInput, cacheWrite] = [found(2), found(3)];
  if (cachedInput !== undefined) price.cachedInput = cachedInput;
  if (cacheWrite !== undefined) price.cacheWrite = cacheWrite;
  return price;
}

function subtract(row: number[], other: readonly number[], pivot: number): void {
  const factor = (row[pivot] ?? 0) / (other[pivot] ?? 1);
  if (factor === 0) return;
  for (let index = 0; index < row.length; index++) row[index] = (row[index] ?? 0) - factor * (other[index] ?? 0);
  row[pivot] = 0;
}

/** What is nothing but the dust of earlier steps counts for nothing. */
function largest(row: readonly number[]): number | undefined {
  let found: number | undefined;
  for (let index = 0; index < 4; index++)
    if (Math.abs(row[index] ?? 0) > Math.max(1e-6, Math.abs(found === undefined ? 0 : (row[found] ?? 0))))
      found = index;
  return found;
}
