/** What is reserved for one prompt to an agent outside. It grows with what the agent reports, and never waits to grow. */

import { NO_AMOUNT } from "../core/amount.ts";
import { BudgetExceeded } from "../core/errors.ts";
import {
  type Budget,
  type CallAsk,
  type CallNeed,
  type Lease,
  type LimitState,
  METERED_OUTPUT,
} from "../core/limits.ts";
import type { OutsideAgent, OutsideAllowance } from "../core/outside-agent.ts";
import type { Run } from "../core/run.ts";
import { Scope } from "../core/scope.ts";

/** A prompt with less than this beside it is not sent. */
const MIN_OUTPUT = 512;

/** What a prompt needs before it is sent: the whole share of the agent, where it has one. */
export function outsideNeed(
  promptTokens: number,
  { maxCostUsd }: OutsideAgent,
  share: Budget | undefined,
  left: Budget,
): CallNeed {
  const tokens = share?.tokens === undefined ? undefined : Math.min(share.tokens, left.tokens ?? share.tokens);
  const outputCap = tokens === undefined ? METERED_OUTPUT : Math.max(MIN_OUTPUT, tokens - promptTokens);
  return { promptTokens, outputCap, minOutput: MIN_OUTPUT, price: undefined, wholeUsd: maxCostUsd };
}

/** What an agent says that it has used. */
export type Reported = { readonly tokens: number | undefined; readonly costUsd: number | undefined };

export class OutsideFunds implements Disposable {
  readonly #run: Run;
  readonly #first: Lease;
  readonly #more: Lease[] = [];
  #tokens: number;
  #costUsd: number;

  private constructor(run: Run, first: Lease, { promptTokens, wholeUsd = 0 }: CallNeed) {
    this.#run = run;
    this.#first = first;
    this.#tokens = promptTokens + first.outputCap;
    this.#costUsd = wholeUsd;
  }

  /** Waits for its turn, as every call does; throws `BudgetExceeded`. */
  static async reserve(run: Run, need: CallNeed, onWait: (limit: LimitState) => void): Promise<OutsideFunds> {
    const { firstCall, holding } = run;
    run.firstCall = undefined;
    if (firstCall !== undefined) return new OutsideFunds(run, firstCall.lease, need);
    if (holding === undefined) throw new Error(`${run.who.path} asks before it has started`);
    const ask: CallAsk = { need, lastWords: NO_AMOUNT, closing: undefined, onWait };
    return new OutsideFunds(run, await holding.reserve(ask, run.scope), need);
  }

  /** Tokens that are held; infinite without a limit. */
  get tokens(): number {
    return this.#tokens;
  }

  /** Reserves what was reported beyond what is held. The reason when that cannot be had at once. */
  async cover({ tokens = 0, costUsd = 0 }: Reported): Promise<BudgetExceeded | undefined> {
    const more = { tokens: Math.max(0, tokens - this.#tokens), costUsd: Math.max(0, costUsd - this.#costUsd) };
    if (more.tokens === 0 && more.costUsd === 0) return undefined;
    const { holding, scope } = this.#run;
    let short: LimitState | undefined;
    using waiting = new Scope(scope);
    const need: CallNeed = {
      promptTokens: more.tokens,
      outputCap: METERED_OUTPUT,
      minOutput: 0,
      price: undefined,
      wholeUsd: more.costUsd,
    };
    const onWait = (limit: LimitState) => {
      short = limit;
      waiting.abort(new Error("It would have to wait"));
    };
    try {
      // It has spent this already, so it goes before calls that have not begun and takes what there is.
      const closing = { enoughOutput: 0 };
      const lease = await holding?.reserve({ need, lastWords: NO_AMOUNT, closing, onWait }, waiting);
      if (lease === undefined) return undefined;
      this.#more.push(lease);
      this.#tokens += more.tokens + lease.outputCap;
      this.#costUsd += more.costUsd;
      return undefined;
    } catch (error) {
      if (error instanceof BudgetExceeded) return error;
      if (short === undefined) throw error;
      const unit = short.unit === "costUsd" ? "costUsd" : "tokens";
      return new BudgetExceeded(unit, short.spent + short.reserved + more[unit], short.limit);
    }
  }

  /** Counts what was spent, however much it is. */
  settle(tokens: number, costUsd: number | null): void {
    this.#first.settle({ tokens, costUsd });
  }

  [Symbol.dispose](): void {
    this.#first[Symbol.dispose]();
    for (const lease of this.#more) lease[Symbol.dispose]();
  }
}

/** Its level, and what it may spend: for a runtime that the agent starts in turn. */
export function allowanceOf(run: Run, { maxCostUsd }: OutsideAgent, funds: OutsideFunds | undefined): OutsideAllowance {
  const left = run.account.left();
  // What it holds is its own as well.
  const held = funds?.tokens ?? 0;
  return {
    depth: run.who.depth,
    maxDepth: run.tree.maxDepth,
    tokens: left.tokens === undefined ? undefined : left.tokens + (Number.isFinite(held) ? held : 0),
    costUsd: maxCostUsd ?? left.costUsd,
    seconds: secondsLeft(run),
  };
}

/** Of this run and of every run above it. */
function secondsLeft(run: Run): number | undefined {
  let seconds: number | undefined;
  for (let each: Run | undefined = run; each !== undefined; each = each.parent) {
    if (each.deadline === undefined) continue;
    const left = Math.floor(each.deadline.remaining() / 1000);
    seconds = Math.min(seconds ?? left, left);
  }
  return seconds;
}
