/** One step on the rows of a store as this process plans it, sends it, and sends it again while it is unknown whether it was taken. */

import type { Clock } from "../../core/clock.ts";
import { StoreError } from "../../core/errors.ts";
import { type BudgetFigures, type BudgetRowUnit, type BudgetStep, NO_FIGURES } from "../../core/shared-budget.ts";
import { type RowMeter, type SharedRow, sumOf } from "./shared-budget-row.ts";
import type { Waiter } from "./waiter.ts";

/** A child to be counted as started. */
export type Start = { readonly rows: readonly SharedRow[]; settle(error: unknown): void };

export class PlannedStep {
  readonly starts: Start[] = [];
  readonly calls: [waiter: Waiter, output: number][] = [];
  /** The rows to report. */
  readonly rows = new Set<SharedRow>();
  /** The limits where a call is short. */
  readonly short = new Set<RowMeter>();
  /** One was refused while it was planned: those behind it may be served now. */
  hasRefused = false;
  /** Something is to be decided on fresh figures. */
  mustLook = false;
  /** No more calls can be planned before this step. */
  isFull = false;
  /** The calls and starts in it were refused because it could not be sent. */
  isFailed = false;
  step: BudgetStep | undefined;
  flushes: readonly (() => void)[] = [];
  readonly #sent = new Map<RowMeter<BudgetRowUnit>, { readonly own: BudgetFigures; readonly asked: BudgetFigures }>();

  names(rows: Iterable<SharedRow>): void {
    for (const row of rows) this.rows.add(row);
  }

  look(rows: readonly SharedRow[]): void {
    this.mustLook = true;
    this.names(rows);
  }

  /** Takes back what the plan asks for. */
  drop(): void {
    for (const row of this.rows) for (const meter of row.all) meter.asked = NO_FIGURES;
  }

  send(step: BudgetStep): void {
    this.step = step;
    for (const { all } of this.rows)
      for (const meter of all) this.#sent.set(meter, { own: meter.own, asked: meter.asked });
  }

  /** The rows have it. */
  take(isGranted: boolean): void {
    for (const [meter, { own, asked }] of this.#sent) meter.written = isGranted ? sumOf(own, asked, 1) : own;
    for (const row of this.rows) if (this.step?.made.some(({ name }) => name === row.link.name)) row.mustMake = false;
  }
}

/** Retries a store that is busy for a moment; one that stays away is a `StoreError`, and nothing may be spent. */
const MAX_RETRIES = 4;
const FIRST_RETRY_MS = 50;

export function withPatience<T>(step: () => T | Promise<T>, clock: Clock, attempt = 0): T | Promise<T> {
  const again = async (error: unknown): Promise<T> => {
    if (!(error instanceof StoreError) || attempt === MAX_RETRIES) throw error;
    await new Promise<void>((resolve) => void clock.timer(FIRST_RETRY_MS * 2 ** attempt, resolve));
    return withPatience(step, clock, attempt + 1);
  };
  try {
    const result = step();
    return result instanceof Promise ? result.catch(again) : result;
  } catch (error) {
    if (error instanceof StoreError) return again(error);
    throw error;
  }
}
