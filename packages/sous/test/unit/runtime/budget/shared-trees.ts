/** Trees on a shared budget in memory, in one process or several, behind a store that can be slow or fail. */

import assert from "node:assert/strict";
import { type Amount, NO_AMOUNT } from "../../../../src/core/amount.ts";
import { StoreError } from "../../../../src/core/errors.ts";
import type {
  Account,
  Budget,
  CallAsk,
  Holding,
  Lease,
  LimitState,
  StartAsk,
  Started,
} from "../../../../src/core/limits.ts";
import { Scope } from "../../../../src/core/scope.ts";
import type { OpenedBudget, SharedBudget, SharedBudgetPort, SharedLimits } from "../../../../src/core/shared-budget.ts";
import type { SharedBudgetReply } from "../../../../src/core/shared-budget-books.ts";
import { openLedger } from "../../../../src/runtime/budget/ledger.ts";
import { Slots } from "../../../../src/runtime/budget/run-slots.ts";
import { type SharedBudgetClient, sharedBudgetClientOf } from "../../../../src/runtime/budget/shared-budget-client.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";
import { opened } from "../../../support/storage/store/shared-budget/opened.ts";
import { tokens } from "../../../support/storage/store/shared-budget/shared-budget-asks.ts";

export const NEVER: Scope = new Scope();

type Store = ReturnType<typeof openMemoryStore>;

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

/** One process: its trees draw on one line. */
export class SharedProcess {
  readonly shared: OpenedBudget;
  readonly clock: VirtualClock;
  readonly behaviour: Behaviour = { failing: 0, delayMs: undefined, tells: true, losing: 0 };
  readonly warnings: LimitState[] = [];
  steps = 0;

  constructor(shared: SharedBudget | OpenedBudget, clock: VirtualClock) {
    const real = opened(shared);
    this.clock = clock;
    const books: SharedBudgetPort = {
      step: (step) => this.#step(() => real.books.step(step)),
      leave: () => real.books.leave(),
      listen: (onNews) => (this.behaviour.tells ? real.books.listen(onNews) : undefined),
    };
    this.shared = { ...real, books };
  }

  get line(): SharedBudgetClient {
    return sharedBudgetClientOf(this.shared, this.clock);
  }

  tree(own: Budget = {}, slots = 100): Account {
    const onNear = (limit: LimitState) => void this.warnings.push(limit);
    return openLedger(own, { slots: new Slots(slots, "queue"), shared: this.line, onNear });
  }

  /** A tree of one run. */
  run(own: Budget = {}): Holding {
    return this.tree(own).enter("lead");
  }

  #step(step: () => SharedBudgetReply | Promise<SharedBudgetReply>): SharedBudgetReply | Promise<SharedBudgetReply> {
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

/** The first process, and how to get others that draw on the same books. */
export async function openProcesses(limits: SharedLimits): Promise<{
  here: SharedProcess;
  store: Store;
  clock: VirtualClock;
  another(): Promise<SharedProcess>;
}> {
  const store = openMemoryStore();
  const clock = new VirtualClock(0);
  const here = new SharedProcess(await store.sharedBudget("team", limits), clock);
  return { here, store, clock, another: async () => new SharedProcess(await store.sharedBudget("team"), clock) };
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
