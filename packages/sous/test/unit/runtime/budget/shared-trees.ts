/** Trees on a shared budget in memory, in one process or several, behind a store that can be slow or fail. */

import assert from "node:assert/strict";
import { type Amount, NO_AMOUNT } from "../../../../src/core/amount.ts";
import { StoreError } from "../../../../src/core/errors.ts";
import type {
  Budget,
  CallAsk,
  Holding,
  Lease,
  Ledger,
  LimitState,
  StartAsk,
  Started,
} from "../../../../src/core/limits.ts";
import { Scope } from "../../../../src/core/scope.ts";
import type { BudgetReply, BudgetRows, OpenedBudget, SharedLimits } from "../../../../src/core/shared-budget.ts";
import { openLedger } from "../../../../src/runtime/budget/ledger.ts";
import { Slots } from "../../../../src/runtime/budget/run-slots.ts";
import { sharedChainOf } from "../../../../src/runtime/budget/shared-budget-client.ts";
import { MemoryBudgets } from "../../../../src/storage/store/memory-budgets.ts";
import { openSharedBudget } from "../../../../src/storage/store/shared-budget.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";
import { tokens } from "../../../support/storage/store/shared-budget/shared-budget-asks.ts";

export const NEVER: Scope = new Scope();

/** What the store does with the next steps. */
export type Behaviour = {
  /** This many steps fail. */
  failing: number;
  /** How long a step takes; undefined answers at once, 0 in a later turn of the event loop. */
  delayMs: number | undefined;
  /** Whether others tell when something has changed. */
  tells: boolean;
  /** The step is kept and its answer gets lost, this many times. */
  losing: number;
};

/** One process: its trees draw on the same rows together. */
export class SharedProcess {
  readonly shared: OpenedBudget;
  readonly clock: VirtualClock;
  readonly behaviour: Behaviour = { failing: 0, delayMs: undefined, tells: true, losing: 0 };
  readonly warnings: LimitState[] = [];
  readonly rows: BudgetRows;
  steps = 0;

  constructor(real: OpenedBudget, clock: VirtualClock) {
    this.clock = clock;
    this.rows = {
      step: (step) => this.#step(() => real.rows.step(step)),
      look: (name) => real.rows.look(name),
      make: (budget) => real.rows.make(budget),
      listen: (onNews) => (this.behaviour.tells ? real.rows.listen?.(onNews) : undefined),
    };
    this.shared = { ...real, rows: this.rows };
  }

  tree(own: Budget = {}, slots = 100): Ledger {
    const onNear = (limit: LimitState) => void this.warnings.push(limit);
    return openLedger(own, {
      slots: new Slots(slots, "queue"),
      shared: sharedChainOf(this.shared, this.clock),
      onNear,
    });
  }

  /** A tree of one run. */
  run(own: Budget = {}): Holding {
    return this.tree(own).enter("lead");
  }

  #step(step: () => BudgetReply | Promise<BudgetReply>): BudgetReply | Promise<BudgetReply> {
    this.steps += 1;
    const { delayMs } = this.behaviour;
    const answer = () => {
      if (this.behaviour.failing > 0) {
        this.behaviour.failing -= 1;
        throw new StoreError("the disk is gone");
      }
      const reply = step();
      if (this.behaviour.losing === 0) return reply;
      this.behaviour.losing -= 1;
      throw new StoreError("the answer was lost");
    };
    if (delayMs === undefined) return answer();
    return new Promise<void>((resolve) => {
      if (delayMs === 0) setImmediate(resolve);
      else this.clock.ownTimer(delayMs, resolve);
    }).then(answer);
  }
}

/** The first process, and how to get others that draw on the same rows. */
export async function openProcesses(limits: SharedLimits): Promise<{
  here: SharedProcess;
  budgets: MemoryBudgets;
  clock: VirtualClock;
  another(): Promise<SharedProcess>;
}> {
  const budgets = new MemoryBudgets();
  const clock = new VirtualClock(0);
  let processes = 0;
  const another = async (given?: SharedLimits) => {
    processes += 1;
    const rows = budgets.rowsFor(`process ${processes}`, () => "alive", clock.now);
    return new SharedProcess(await openSharedBudget(rows, "team", given), clock);
  };
  return { here: await another(limits), budgets, clock, another };
}

type More = { lastWords?: number; closing?: number; price?: CallAsk["need"]["price"]; onWait?: CallAsk["onWait"] };

/** A prompt of this many tokens, an answer of `least` to `most`. */
export function ask(promptTokens: number, least: number, most = least, more: More = {}): CallAsk {
  return {
    need: { promptTokens, minOutput: least, outputCap: most, price: more.price },
    lastWords: more.lastWords === undefined ? NO_AMOUNT : tokens(more.lastWords),
    closing: more.closing === undefined ? undefined : { enoughOutput: more.closing },
    onWait: more.onWait ?? (() => {}),
  };
}

export function child(promptTokens: number, output: number, more: Partial<StartAsk> = {}): StartAsk {
  const need = { promptTokens, minOutput: output, outputCap: output, price: undefined };
  return { path: "lead/child", above: undefined, need, scope: NEVER, onWait: () => {}, onRefused: () => {}, ...more };
}

export function spent(amount: number): Parameters<Lease["settle"]>[0] {
  return { tokens: amount, costUsd: null };
}

export function keep(amount: number): Amount {
  return tokens(amount);
}

/** What was given at once. */
export function now<T extends Lease | Started>(given: T | Promise<T>): T {
  assert.ok(!(given instanceof Promise), "it had to wait");
  return given;
}

/** What happens later, watched: `state` says whether it has happened. */
export function later<T>(work: () => T | Promise<T>): Promise<T> & { state: "open" | "given" | "refused" } {
  const running = (async () => work())();
  const watched = Object.assign(running, { state: "open" as "open" | "given" | "refused" });
  running.then(
    () => (watched.state = "given"),
    () => (watched.state = "refused"),
  );
  return watched;
}

/** Fires timers until the work is done. */
export async function timePasses<T>(clock: VirtualClock, work: Promise<T>): Promise<T> {
  let isDone = false;
  const watched = work.finally(() => (isDone = true));
  watched.catch(() => {});
  for (let rounds = 0; !isDone; rounds++) {
    assert.ok(rounds < 10_000, "it hangs");
    // A store that answers in a later turn is not made to wait for a timer.
    for (let turns = 0; turns < 4 && !isDone; turns++) await moment();
    if (!isDone) clock.fireNext(() => 0);
  }
  return watched;
}

/** Lets every promise that can settle do so. */
export function moment(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
