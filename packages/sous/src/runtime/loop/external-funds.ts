/** The reservation for one prompt to an external agent. It grows with what the agent reports, and never waits to grow. */

import { NO_AMOUNT } from "../../core/amount.ts";
import { BudgetExceeded } from "../../core/errors.ts";
import type { ExternalAgent, ExternalAllowance } from "../../core/external-agent.ts";
import {
  type Budget,
  type CallAsk,
  type CallNeed,
  type Lease,
  type LimitState,
  METERED_OUTPUT,
} from "../../core/limits.ts";
import type { Run } from "../../core/run.ts";
import { Scope } from "../../core/scope.ts";

/** A prompt with less than this beside it is not sent. */
const MIN_OUTPUT = 512;

/** The need of a prompt before it is sent: the whole share of the agent, where it has one. */
export function externalNeed(
  promptTokens: number,
  { maxCostUsd }: ExternalAgent,
  share: Budget | undefined,
  left: Budget,
): CallNeed {
  const tokens = share?.tokens === undefined ? undefined : Math.min(share.tokens, left.tokens ?? share.tokens);
  const outputCap = tokens === undefined ? METERED_OUTPUT : Math.max(MIN_OUTPUT, tokens - promptTokens);
  return { promptTokens, outputCap, minOutput: MIN_OUTPUT, price: undefined, wholeUsd: maxCostUsd };
}

/** The usage that an agent reports. */
export type Reported = { readonly tokens: number | undefined; readonly costUsd: number | undefined };

export class ExternalFunds implements Disposable {
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
  static async reserve(run: Run, need: CallNeed, onWait: (limit: LimitState) => void): Promise<ExternalFunds> {
    const { firstCall, holding } = run;
    run.firstCall = undefined;
    if (firstCall !== undefined) return new ExternalFunds(run, firstCall.lease, need);
    if (holding === undefined) throw new Error(`${run.who.path} asks before it has started`);
    const ask: CallAsk = { need, lastWords: NO_AMOUNT, closing: undefined, onWait };
    return new ExternalFunds(run, await holding.reserve(ask, run.scope), need);
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

/** The level of the run and what it may spend, for a runtime that the agent starts in turn. */
export function allowanceOf(
  run: Run,
  { maxCostUsd }: ExternalAgent,
  funds: ExternalFunds | undefined,
): ExternalAllowance {
  const left = run.account.left();
  // The reservation of the run is its own as well.
  const held = funds?.tokens ?? 0;
  return {
    depth: run.who.depth,
    maxDepth: run.tree.maxDepth,
    tokens: left.tokens === undefined ? undefined : left.tokens + (Number.isFinite(held) ? held : 0),
    costUsd: maxCostUsd ?? left.costUsd,
    durationMs: timeLeft(run),
  };
}

/** The least that is left to this run and to every run above it, in whole seconds. */
function timeLeft(run: Run): number | undefined {
  let leastMs: number | undefined;
  for (let each: Run | undefined = run; each !== undefined; each = each.parent) {
    if (each.deadline === undefined) continue;
    const left = Math.floor(each.deadline.remaining() / 1000) * 1000;
    leastMs = Math.min(leastMs ?? left, left);
  }
  return leastMs;
}
