/** The reserve a run keeps for its last turn: the next prompt and a short answer. */

import type { CallNeed, Lease, WrapUpLease } from "../core/limits.ts";
import type { CallLease } from "./call-lease.ts";
import { type Amount, type Funds, NOTHING } from "./funds.ts";
import { amountOf, leastOutput } from "./meter.ts";

export class LastWordsLease implements WrapUpLease {
  readonly #funds: Funds;
  #held: Amount = NOTHING;
  #isOpen = true;

  /** Throws `BudgetExceeded` when not even this is left. Takes the place of the lease `instead`. */
  constructor(funds: Funds, need: CallNeed, instead?: CallLease) {
    this.#funds = funds;
    const wanted = leastAmount(need);
    instead?.handOver();
    const short = funds.keep(NOTHING, wanted);
    if (short !== undefined && instead !== undefined) funds.serve();
    if (short !== undefined) throw short.exceededBy(short.unit === "tokens" ? wanted.tokens : wanted.nanoUsd);
    this.#held = wanted;
  }

  resize(need: CallNeed): boolean {
    if (!this.#isOpen) return false;
    const wanted = leastAmount(need);
    if (this.#funds.keep(this.#held, wanted) !== undefined) return false;
    this.#held = wanted;
    return true;
  }

  take(need: CallNeed): Lease | undefined {
    if (!this.#isOpen) return undefined;
    const lease = this.#funds.lend(need, this.#held);
    if (lease !== undefined) this[Symbol.dispose]();
    return lease;
  }

  [Symbol.dispose](): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#funds.keep(this.#held, NOTHING);
  }
}

function leastAmount(need: CallNeed): Amount {
  const output = leastOutput(need);
  return { tokens: amountOf("tokens", need, output), nanoUsd: amountOf("costUsd", need, output) };
}
