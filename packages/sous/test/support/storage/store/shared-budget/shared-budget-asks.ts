/** A process that draws on a shared budget, and what it asks for, as the tests of shared budgets need them. */

import assert from "node:assert/strict";
import { type Amount, amountAt, beyond, type Need, NO_AMOUNT, plus } from "../../../../../src/core/amount.ts";
import type { SharedBudget, SharedBudgets, SharedLimits } from "../../../../../src/core/shared-budget.ts";
import type {
  SharedBudgetAsk,
  SharedBudgetReply,
  SharedBudgetShare,
  SharedBudgetStep,
} from "../../../../../src/core/shared-budget-books.ts";
import { opened } from "./opened.ts";

/** A prompt of this many tokens, an answer of `least` to `most`; without a price. */
export function need(prompt: number, least: number, most = least): Need {
  return { prompt: tokens(prompt), perToken: tokens(1), least, enough: most, most };
}

export function tokens(amount: number): Amount {
  return { tokens: amount, nanoUsd: 0 };
}

/** A call without a reserve, of a run at the top. Give `since` where it matters who came first. */
export function call(given: Need, more: Partial<SharedBudgetAsk> = {}): SharedBudgetAsk {
  return { need: given, grow: NO_AMOUNT, instead: NO_AMOUNT, above: NO_AMOUNT, since: undefined, ...more };
}

type Circumstances = Partial<Pick<SharedBudgetStep, "starts" | "moves" | "mayLower">>;

/** Keeps the figures of one process, and sends them with every step. */
export class BudgetProcess {
  readonly #shared: SharedBudget;
  #lapses = 0;
  share: SharedBudgetShare = { spent: NO_AMOUNT, inFlight: NO_AMOUNT, kept: NO_AMOUNT, executions: 0 };

  constructor(shared: SharedBudget) {
    this.#shared = shared;
  }

  left(): ReturnType<SharedBudget["left"]> {
    return this.#shared.left();
  }

  spent(): ReturnType<SharedBudget["spent"]> {
    return this.#shared.spent();
  }

  /** One step; what is granted is held from then on. Its runs move unless it is said otherwise. */
  async step(asks: readonly SharedBudgetAsk[] = [], circumstances: Circumstances = {}): Promise<SharedBudgetReply> {
    const reply = await this.send(asks, circumstances);
    this.#lapses = reply.lapses;
    if (reply.wasLapsed) this.share = { ...this.share, kept: NO_AMOUNT };
    this.share = { ...this.share, executions: this.share.executions + reply.starts };
    for (const [index, answer] of reply.answers.entries()) {
      const ask = asks[index];
      if (answer.kind !== "granted" || ask === undefined) continue;
      const held = amountAt(ask.need, Math.min(answer.output, ask.need.most));
      const kept = reply.wasLapsed ? this.share.kept : beyond(this.share.kept, ask.instead);
      this.share = { ...this.share, inFlight: plus(this.share.inFlight, held), kept: plus(kept, ask.grow) };
    }
    return reply;
  }

  /** One step whose answer gets lost: the figures stay as they were. */
  async send(
    asks: readonly SharedBudgetAsk[] = [],
    { starts = 0, moves = true, mayLower = true }: Circumstances = {},
  ): Promise<SharedBudgetReply> {
    return opened(this.#shared).books.step({ share: this.share, asks, starts, moves, mayLower, lapses: this.#lapses });
  }

  /** Expects that the call is granted, and returns with how much output. */
  async granted(ask: SharedBudgetAsk, circumstances?: Circumstances): Promise<number> {
    const { answers } = await this.step([ask], circumstances);
    const [answer] = answers;
    assert.ok(answer?.kind === "granted", JSON.stringify(answers));
    return answer.output;
  }

  /** Expects that the call has to wait. */
  async waiting(ask: SharedBudgetAsk, circumstances?: Circumstances): Promise<SharedBudgetAsk> {
    const { answers } = await this.step([ask], circumstances);
    assert.deepEqual(answers, [{ kind: "wait" }]);
    return ask;
  }

  /** A call that held this much ends, and has spent that much. The process still asks for what it waits for. */
  async settle(held: Amount, spent: Amount, asks: readonly SharedBudgetAsk[] = [], circumstances?: Circumstances) {
    const { share } = this;
    this.share = { ...share, inFlight: beyond(share.inFlight, held), spent: plus(share.spent, spent) };
    return this.step(asks, circumstances);
  }

  async leave(): Promise<void> {
    await opened(this.#shared).books.leave();
  }

  listen(onNews: () => void): Disposable | undefined {
    return opened(this.#shared).books.listen(onNews);
  }
}

/** The same budget, drawn on by two processes. */
export async function twoProcesses(
  { one, other }: { one: SharedBudgets; other: SharedBudgets },
  limits: SharedLimits,
): Promise<{ here: BudgetProcess; there: BudgetProcess }> {
  const here = new BudgetProcess(await one.sharedBudget("team", limits));
  const there = new BudgetProcess(await other.sharedBudget("team"));
  return { here, there };
}
