/** The account of a tree that draws on a shared budget: everything is taken from its own ledger and from the purse, or from neither. */

import type { Clock } from "../core/clock.ts";
import type { Account, Budget, CallNeed, Lease, Spent, WrapUpLease } from "../core/limits.ts";
import { nowOrLater, type Steps, wait } from "../core/now-or-later.ts";
import type { Scope } from "../core/scope.ts";
import type { SharedBudget } from "../core/shared-budget.ts";
import type { Ledger } from "./ledger.ts";
import { purseLineOf } from "./purse-line.ts";
import { SharedLastWords } from "./shared-last-words.ts";
import { type Draw, leastNeed, purseNeed, SharedLease } from "./shared-lease.ts";

/** What the tree may spend by its own budget, and only as long as `shared` has it. */
export function drawOn(shared: SharedBudget, own: Ledger, clock: Clock): Account {
  const limitsMoney = async () => (await shared.left()).costUsd !== undefined;
  return new SharedAccount(own, { line: purseLineOf(shared), clock }, limitsMoney);
}

class SharedAccount implements Account {
  /** Also where the purse limits executions alone: its limits may be replaced while the tree is at work. */
  readonly isMetered = true;
  readonly #own: Ledger;
  readonly #draw: Draw;
  readonly #purseLimitsMoney: () => Promise<boolean>;

  constructor(own: Ledger, draw: Draw, purseLimitsMoney: () => Promise<boolean>) {
    this.#own = own;
    this.#draw = draw;
    this.#purseLimitsMoney = purseLimitsMoney;
  }

  /** A share is compared with what is left to this tree alone: what others will take meanwhile nobody knows. */
  open(budget: Budget): Account {
    const own = this.#own.open(budget);
    return own === this.#own ? this : new SharedAccount(own, this.#draw, this.#purseLimitsMoney);
  }

  startExecution(): void | Promise<void> {
    this.#own.startExecution();
    const undo = (error: unknown): never => {
      this.#own.undoExecution();
      throw error;
    };
    try {
      const starting = this.#draw.line.startExecution(this.#draw.clock);
      return starting instanceof Promise ? starting.catch(undo) : starting;
    } catch (error) {
      return undo(error);
    }
  }

  undoExecution(): void {
    this.#own.undoExecution();
    this.#draw.line.undoExecution();
  }

  countExecution(): void {
    this.#own.countExecution();
  }

  reserve(need: CallNeed, scope: Scope): Lease | Promise<Lease> {
    return nowOrLater(this.#reserve(need, scope));
  }

  *#reserve(need: CallNeed, scope: Scope): Steps<Lease> {
    scope.throwIfAborted();
    const own = yield* wait(this.#own.reserve(need, scope));
    try {
      const { line, clock } = this.#draw;
      return new SharedLease(own, yield* wait(line.reserve(purseNeed(need, own.outputCap), scope, clock)), this.#draw);
    } catch (error) {
      own[Symbol.dispose]();
      throw error;
    }
  }

  reserveWrapUp(need: CallNeed, instead?: Lease): WrapUpLease | Promise<WrapUpLease> {
    return nowOrLater(this.#reserveWrapUp(need, instead instanceof SharedLease ? instead : undefined));
  }

  *#reserveWrapUp(need: CallNeed, instead: SharedLease | undefined): Steps<WrapUpLease> {
    const { line, clock } = this.#draw;
    const before = instead?.handOver();
    let own: WrapUpLease | undefined;
    try {
      const lastWords = this.#own.reserveWrapUp(need, before?.own);
      own = lastWords;
      const ask = { kind: "last-words", need: leastNeed(need), instead: before?.leaseId } as const;
      const reply = yield* wait(line.ask(ask, clock));
      if (reply.kind === "granted") return new SharedLastWords(lastWords, reply.leaseId, need, this.#draw);
      throw reply.kind === "refused" ? reply.error : new Error("Last words do not wait");
    } catch (error) {
      own?.[Symbol.dispose]();
      if (before !== undefined) line.settle(before.leaseId, { tokens: 0, nanoUsd: 0 }, clock);
      throw error;
    }
  }

  /** What a tree had spent before a restart, the purse has counted then. */
  charge(spent: Spent): void {
    this.#own.charge(spent);
  }

  limitsMoney(): boolean | Promise<boolean> {
    return this.#own.limitsMoney() || this.#purseLimitsMoney();
  }

  left(): Budget {
    return this.#own.left();
  }

  flushed(): Promise<void> | undefined {
    return this.#draw.line.flushed(this.#draw.clock);
  }
}
