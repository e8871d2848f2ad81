/** Runs and calls for the tests of the ledger. */

import assert from "node:assert/strict";
import { type Amount, NO_AMOUNT } from "../../../../src/core/amount.ts";
import type {
  Account,
  Budget,
  CallAsk,
  CallNeed,
  Holding,
  Lease,
  Ledger,
  LimitState,
  Started,
} from "../../../../src/core/limits.ts";
import { Scope } from "../../../../src/core/scope.ts";
import { openLedger } from "../../../../src/runtime/budget/ledger.ts";
import { Slots } from "../../../../src/runtime/budget/run-slots.ts";

/** The books of a tree in which this many runs may be at work. */
export function open(budget: Budget, atOnce = 10, ledger = openLedger): Ledger {
  return ledger(budget, { slots: new Slots(atOnce, "queue") });
}

/** A call that asks for 1,000 tokens of output and would not be made with less than 100. */
export function need(promptTokens: number, more: Partial<CallNeed> = {}): CallNeed {
  return { promptTokens, outputCap: 1_000, minOutput: 100, price: undefined, ...more };
}

type AskMore = Partial<Omit<CallAsk, "need">> & { readonly scope?: Scope };

export function ask(
  run: Holding,
  call: CallNeed,
  { scope = new Scope(), ...more }: AskMore = {},
): Lease | Promise<Lease> {
  return run.reserve({ need: call, lastWords: NO_AMOUNT, closing: undefined, onWait: () => {}, ...more }, scope);
}

/** Asks where the run should not have to wait. */
export function lend(run: Holding, call: CallNeed, more?: AskMore): Lease {
  const lease = ask(run, call, more);
  assert.ok(!(lease instanceof Promise), "had to wait");
  return lease;
}

/** Asks where the run has to wait. */
export function queue(run: Holding, call: CallNeed, more?: AskMore): Promise<Lease> {
  const lease = ask(run, call, more);
  assert.ok(lease instanceof Promise, "did not have to wait");
  // A test that ends before it is refused is not a fault.
  lease.catch(() => {});
  return lease;
}

type StartMore = {
  readonly above?: Holding;
  readonly callId?: string;
  readonly scope?: Scope;
  onWait?(limit: LimitState): void;
  onRefused?(): void;
};

export function start(
  account: Account,
  path: string,
  call: CallNeed | undefined,
  more: StartMore = {},
): Started | Promise<Started> {
  const { above, callId, scope = new Scope(), onWait = () => {}, onRefused = () => {} } = more;
  return account.start({ path, need: call, above, callId, scope, onWait, onRefused });
}

/** Starts where the child should not have to wait. */
export function begin(
  account: Account,
  path: string,
  call: CallNeed | undefined,
  more?: StartMore,
): Started & { first: Lease } {
  const started = start(account, path, call, more);
  assert.ok(!(started instanceof Promise), "had to wait to start");
  return started as Started & { first: Lease };
}

/** Starts where the child has to wait. */
export function waitToStart(
  account: Account,
  path: string,
  call: CallNeed | undefined,
  more?: StartMore,
): Promise<Started> {
  const started = start(account, path, call, more);
  assert.ok(started instanceof Promise, "did not have to wait to start");
  started.catch(() => {});
  return started;
}

export function spend(lease: Lease | undefined, tokens: number, lastWords?: Amount): void {
  lease?.settle({ tokens, costUsd: null }, lastWords);
}

export function tokens(amount: number): Amount {
  return { tokens: amount, nanoUsd: 0 };
}

/** The error by its numbers and how it went on. */
export function exceeds(numbers: string, rest = ""): { name: string; message: RegExp } {
  return { name: "BudgetExceeded", message: new RegExp(`^Token limit \\w+: ${numbers}.*${rest}`) };
}

/** What has become of it when everything that can happen by now has. */
export async function stateOf(promise: Promise<unknown>): Promise<"waits" | "granted" | "refused"> {
  let state: "waits" | "granted" | "refused" = "waits";
  promise.then(
    () => {
      state = "granted";
    },
    () => {
      state = "refused";
    },
  );
  await new Promise((resolve) => setImmediate(resolve));
  return state;
}
