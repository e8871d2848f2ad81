/** Eight siblings who need 63,000 tokens of 40,000, all at once, with and without waiting and last words. */

import { type Amount, NO_AMOUNT } from "../../src/core/amount.ts";
import type { Random } from "../../src/core/clock.ts";
import { BudgetExceeded } from "../../src/core/errors.ts";
import type { Account, CallAsk, Holding, Lease } from "../../src/core/limits.ts";
import { Scope } from "../../src/core/scope.ts";
import { openLedger } from "../../src/runtime/budget/ledger.ts";
import { Slots } from "../../src/runtime/budget/run-slots.ts";
import { between, seededRandom } from "../../src/testing/world.ts";

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

export async function runEightSiblings(options: SiblingOptions): Promise<SiblingFigures> {
  const random = seededRandom(options.seed);
  const account = openLedger({ tokens: BUDGET }, { slots: new Slots(SIBLINGS, "queue") });
  const wire = new Wire(random);
  const plans = Array.from({ length: SIBLINGS }, () => planTurns(random));
  const runs = plans.map((plan) => new Sibling(account, wire, plan, options).run());
  await wire.endEverything();
  const delivered = (await Promise.all(runs)).filter(Boolean).length;
  const left = account.left().tokens ?? 0;
  return { needed: sum(plans.flat().map(({ prompt, answer }) => prompt + answer)), spent: BUDGET - left, delivered };
}

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
  readonly #account: Account;
  readonly #wire: Wire;
  readonly #plan: readonly [Turn, ...Turn[]];
  readonly #options: SiblingOptions;
  #hasAnswered = false;

  constructor(account: Account, wire: Wire, plan: readonly [Turn, ...Turn[]], options: SiblingOptions) {
    this.#account = account;
    this.#wire = wire;
    this.#plan = plan;
    this.#options = options;
  }

  /** True when it has delivered something. */
  async run(): Promise<boolean> {
    using holding = this.#account.enter("sibling");
    for (const turn of this.#plan) {
      const lease = await this.#reserve(holding, turn);
      if (lease === undefined) return this.#options.keepsLastWords && (await this.#conclude(holding, turn));
      await this.#call(turn, lease);
    }
    return true;
  }

  async #reserve(holding: Holding, { prompt }: Turn): Promise<Lease | undefined> {
    const scope = new Scope();
    // One that does not wait gives up as soon as it would have to.
    const onWait = () => this.#options.waits || scope.abort(new BudgetExceeded("tokens", 0, 0));
    const need = { promptTokens: prompt, ...OUTPUT, price: undefined };
    // From its first answer on it keeps something for its last words.
    const lastWords = this.#hasAnswered ? this.#lastWords(prompt) : NO_AMOUNT;
    return ask(holding, { need, lastWords, closing: undefined, onWait }, scope);
  }

  async #conclude(holding: Holding, { prompt }: Turn): Promise<boolean> {
    const need = { promptTokens: prompt, ...SHORT_ANSWER, price: undefined };
    const closing = { enoughOutput: SHORT_ANSWER.minOutput };
    const lease = await ask(holding, { need, lastWords: NO_AMOUNT, closing, onWait: () => {} }, new Scope());
    if (lease !== undefined) await this.#call({ prompt, answer: SHORT_ANSWER.minOutput }, lease);
    return lease !== undefined;
  }

  async #call({ prompt, answer }: Turn, lease: Lease): Promise<void> {
    await this.#wire.send();
    const tokens = prompt + Math.min(answer, lease.outputCap);
    this.#hasAnswered = true;
    lease.settle({ tokens, costUsd: null }, this.#lastWords(tokens));
  }

  /** Its conversation so far and a short answer. */
  #lastWords(prompt: number): Amount {
    return this.#options.keepsLastWords ? { tokens: prompt + SHORT_ANSWER.outputCap, nanoUsd: 0 } : NO_AMOUNT;
  }
}

/** Undefined when it is refused. */
async function ask(holding: Holding, asked: CallAsk, scope: Scope): Promise<Lease | undefined> {
  try {
    return await holding.reserve(asked, scope);
  } catch (error) {
    if (error instanceof BudgetExceeded) return undefined;
    throw error;
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

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
