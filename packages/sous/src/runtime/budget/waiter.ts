/** One entry in the queue of a tree: a run that asks for a call, or a child that waits to start. */

import { type Amount, amountAt, beyond, type Need, NO_AMOUNT, plus, toNanoUsd } from "../../core/amount.ts";
import type { BudgetExceeded } from "../../core/errors.ts";
import type { Lease, LimitState, RunSlot } from "../../core/limits.ts";
import type { Scope } from "../../core/scope.ts";
import { exceededAt, type Wanted } from "./funds.ts";
import type { Holder } from "./holder.ts";

/** A wanted call or slot, and who is notified. */
type Request = {
  /** Undefined for a child that only needs a slot. */
  readonly need: Need | undefined;
  /** The reserve for last words from then on. */
  readonly lastWords: Amount;
  /** The reserve is spent on this call. */
  readonly isClosing: boolean;
  onWait(limit: LimitState): void;
  onRefused(): void;
};

/** The result of waiting. A run that asks has its slot already, and a child may need no call. */
export type Granted = { readonly slot: RunSlot | undefined; readonly lease: Lease | undefined };

export class Waiter {
  readonly holder: Holder;
  readonly request: Request;
  readonly order: number;
  readonly isStart: boolean;
  /** It was short on the rows of a store when they were last read for it. */
  isTold = false;
  /** The limit it waits for, for people. */
  waitsFor: LimitState | undefined;
  #isNotified = false;
  #result: { readonly value: Granted } | { readonly error: unknown } | undefined;
  #settle: PromiseWithResolvers<Granted> | undefined;
  #link: Disposable | undefined;

  constructor(holder: Holder, request: Request, order: number, isStart: boolean) {
    this.holder = holder;
    this.request = request;
    this.order = order;
    this.isStart = isStart;
  }

  /** The amounts it asks for now: what its run keeps may have changed since it began to wait. */
  get wanted(): Wanted {
    const { need = NOTHING, lastWords, isClosing } = this.request;
    const { kept } = this.holder;
    return { need, grow: isClosing ? NO_AMOUNT : beyond(lastWords, kept), instead: isClosing ? kept : NO_AMOUNT };
  }

  get isSettled(): boolean {
    return this.#result !== undefined;
  }

  /** The result if it is there, else a promise of it. Calls `onLeave` when the scope aborts first. */
  outcome(scope: Scope, onLeave: () => void): Granted | Promise<Granted> {
    const result = this.#result;
    if (result !== undefined && "value" in result) return result.value;
    if (result !== undefined) throw result.error;
    this.#settle = Promise.withResolvers<Granted>();
    this.#link = scope.onAbort((reason) => {
      this.reject(reason);
      onLeave();
    });
    return this.#settle.promise;
  }

  /** Notifies its run once of the limit it waits for. */
  notify(limit: LimitState): void {
    this.waitsFor = limit;
    if (this.#isNotified) return;
    this.#isNotified = true;
    this.request.onWait(limit);
  }

  resolve(value: Granted): void {
    this.#result = { value };
    this.#link?.[Symbol.dispose]();
    this.#settle?.resolve(value);
  }

  reject(error: unknown): void {
    this.#result = { error };
    this.#link?.[Symbol.dispose]();
    this.#settle?.reject(error);
  }

  /** Makes the refusal at this limit: with the least that it asks for, or with all when the least would fit. */
  refusalAt(limit: LimitState): BudgetExceeded {
    const { need, grow } = this.wanted;
    const unit = limit.unit === "costUsd" ? "nanoUsd" : "tokens";
    const left = limit.limit - limit.spent - limit.reserved;
    const free = unit === "tokens" ? left : toNanoUsd(left);
    const call = amountAt(need, need.least);
    const all = plus(amountAt(need, need.most), grow);
    const asked = [call, plus(call, grow)].find((amount) => amount[unit] > free) ?? all;
    return exceededAt(limit, asked, this.isStart);
  }
}

/** Keeps the list in order. Searches from the end: runs that ask again are often among the last. */
export function insert(list: Waiter[], waiter: Waiter): void {
  let position = list.length;
  // guard: first-started-first-served
  while (position > 0 && (list[position - 1]?.order ?? 0) > waiter.order) position -= 1;
  list.splice(position, 0, waiter);
}

export function remove(list: Waiter[], waiter: Waiter): void {
  const position = list.indexOf(waiter);
  if (position !== -1) list.splice(position, 1);
}

const NOTHING: Need = { prompt: NO_AMOUNT, perToken: NO_AMOUNT, least: 0, enough: 0, most: 0 };
