/** The simulation of design §7: eight siblings who need 63,000 tokens of 40,000, with and without waiting and last words. */

import { type Ledger, openLedger } from "../../src/budget/ledger.ts";
import type { Random } from "../../src/core/clock.ts";
import { BudgetExceeded } from "../../src/core/errors.ts";
import type { CallNeed, Lease } from "../../src/core/limits.ts";
import { Scope } from "../../src/core/scope.ts";
import { between, seededRandom } from "../../src/testing/seeded-random.ts";

export type SiblingOptions = { seed: number; waits: boolean; keepsLastWords: boolean };

export type SiblingFigures = {
  /** Tokens all eight would use if nothing limited them. */
  needed: number;
  spent: number;
  /** How many said anything: their whole answer, or their last words. */
  delivered: number;
};

const SIBLINGS = 8;
const BUDGET = 40_000;
const OUTPUT = { outputCap: 4_096, minOutput: 512 };
const SHORT_ANSWER = { outputCap: 1_024, minOutput: 256 };

export async function runEightSiblings({ seed, waits, keepsLastWords }: SiblingOptions): Promise<SiblingFigures> {
  const random = seededRandom(seed);
  const account = openLedger({ tokens: BUDGET });
  const wire = new Wire(random);
  const plans = Array.from({ length: SIBLINGS }, () => planTurns(random));
  const siblings = plans.map((plan) => new Sibling(account, wire, plan, { waits, keepsLastWords }));
  const runs = siblings.map((sibling) => sibling.run());
  await wire.endEverything();
  const delivered = (await Promise.all(runs)).filter(Boolean).length;
  const left = account.left().tokens ?? 0;
  return { needed: sum(plans.flat().map(({ prompt, answer }) => prompt + answer)), spent: BUDGET - left, delivered };
}

type LastWords = ReturnType<Ledger["reserveWrapUp"]>;
type Turn = { prompt: number; answer: number };

/** A conversation that grows by an answer and the result of a tool each turn. */
function planTurns(random: Random): [Turn, ...Turn[]] {
  let turn: Turn = { prompt: between(random, 540, 920), answer: between(random, 100, 300) };
  const turns: [Turn, ...Turn[]] = [turn];
  for (let more = between(random, 2, 6); more > 0; more--) {
    turn = { prompt: turn.prompt + turn.answer + between(random, 0, 200), answer: between(random, 100, 300) };
    turns.push(turn);
  }
  return turns;
}

class Sibling {
  readonly #account: Ledger;
  readonly #wire: Wire;
  readonly #plan: readonly [Turn, ...Turn[]];
  readonly #waits: boolean;
  readonly #lastWords: LastWords | undefined;

  constructor(account: Ledger, wire: Wire, plan: readonly [Turn, ...Turn[]], options: Omit<SiblingOptions, "seed">) {
    this.#account = account;
    this.#wire = wire;
    this.#plan = plan;
    this.#waits = options.waits;
    if (options.keepsLastWords) this.#lastWords = account.reserveWrapUp(call(plan[0].prompt, SHORT_ANSWER));
  }

  /** True when it has delivered something. */
  async run(): Promise<boolean> {
    using lastWords = this.#lastWords;
    for (const turn of this.#plan) {
      // The reserve grows with the conversation; when it no longer can, this is the time for last words.
      if (lastWords?.resize(call(turn.prompt, SHORT_ANSWER)) === false) return await this.#conclude(turn, lastWords);
      const lease = await this.#reserve(call(turn.prompt, OUTPUT));
      if (lease === undefined) return lastWords === undefined ? false : await this.#conclude(turn, lastWords);
      await this.#ask(turn, lease);
    }
    return true;
  }

  async #reserve(need: CallNeed): Promise<Lease | undefined> {
    const scope = new Scope();
    try {
      const lease = this.#account.reserve(need, scope);
      if (lease instanceof Promise && !this.#waits) scope.abort(new BudgetExceeded("tokens", 0, 0));
      return await lease;
    } catch (error) {
      if (error instanceof BudgetExceeded) return undefined;
      throw error;
    }
  }

  async #conclude({ prompt }: Turn, lastWords: LastWords): Promise<boolean> {
    const need = call(prompt, SHORT_ANSWER);
    const lease = lastWords.take(need) ?? (await this.#waitForLastWords(need, lastWords));
    if (lease !== undefined) await this.#ask({ prompt, answer: SHORT_ANSWER.minOutput }, lease);
    return lease !== undefined;
  }

  /** The conversation has outgrown the reserve: it goes back, and the last call queues like any other. */
  #waitForLastWords(need: CallNeed, lastWords: LastWords): Promise<Lease | undefined> {
    lastWords[Symbol.dispose]();
    return this.#reserve(need);
  }

  async #ask({ prompt, answer }: Turn, lease: Lease): Promise<void> {
    await this.#wire.send();
    lease.settle({ tokens: prompt + Math.min(answer, lease.outputCap), costUsd: null });
  }
}

/** Calls that end in random order. */
class Wire {
  readonly #random: Random;
  readonly #calls: (() => void)[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  send(): Promise<void> {
    return new Promise((resolve) => this.#calls.push(resolve));
  }

  async endEverything(): Promise<void> {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#calls.length === 0) return;
      this.#calls.splice(Math.floor(this.#random() * this.#calls.length), 1)[0]?.();
    }
  }
}

function call(promptTokens: number, output: Pick<CallNeed, "outputCap" | "minOutput">): CallNeed {
  return { promptTokens, ...output, price: undefined };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
