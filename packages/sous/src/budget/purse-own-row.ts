/** The row of this process in the books of a shared budget: a step makes it, and it is taken out when no tree needs it. */

import type { Clock } from "../core/clock.ts";
import type { PurseReply, PurseShare } from "../core/purse.ts";
import type { PursePort } from "../core/shared-budget.ts";
import { Meter } from "./meter.ts";
import { NOTHING_WRITTEN, type Written } from "./purse-step.ts";
import { withPatience } from "./with-patience.ts";

export class OwnRow {
  /** What all runs of this process have taken: never short, only counted. */
  readonly meters: readonly [tokens: Meter, money: Meter];
  /** Children of this process that have started or wait to start. */
  executions = 0;
  /** What the books say about this process. */
  written: Written = NOTHING_WRITTEN;
  readonly #purse: PursePort;
  readonly #clock: Clock;
  #isThere = false;
  #isLeaving = false;
  #lapses = 0;

  constructor(purse: PursePort, clock: Clock, of: string) {
    const counted = (unit: Meter["unit"]) => new Meter(unit, Number.POSITIVE_INFINITY, of);
    this.meters = [counted("tokens"), counted("nanoUsd")];
    this.#purse = purse;
    this.#clock = clock;
  }

  /** What it is to say. */
  share(): PurseShare {
    const [tokens, money] = this.meters;
    return {
      spent: { tokens: tokens.spent, nanoUsd: money.spent },
      inFlight: { tokens: tokens.inFlight, nanoUsd: money.inFlight },
      kept: { tokens: tokens.kept, nanoUsd: money.kept },
      executions: this.executions,
    };
  }

  get isHolding(): boolean {
    return this.meters.some(({ inFlight, kept }) => inFlight + kept > 0);
  }

  /** It may be in the books. */
  get isThere(): boolean {
    return this.#isThere;
  }

  /** Nobody knows whether it was taken out. Until it is, a step would count twice what was spent before. */
  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  step(step: Omit<Parameters<PursePort["step"]>[0], "lapses">): PurseReply | Promise<PurseReply> {
    this.#isThere = true;
    const reply = withPatience(() => this.#purse.step({ ...step, lapses: this.#lapses }), this.#clock);
    return reply instanceof Promise ? reply.then((late) => this.#heard(late)) : this.#heard(reply);
  }

  leave(): void | Promise<void> {
    this.#isLeaving = true;
    const leaving = withPatience(() => this.#purse.leave(), this.#clock);
    return leaving instanceof Promise ? leaving.then(() => this.#left()) : this.#left();
  }

  #heard(reply: PurseReply): PurseReply {
    this.#lapses = reply.lapses;
    return reply;
  }

  /** What was spent is the past of the books from now on. */
  #left(): void {
    const { spent, executions } = this.written.share;
    for (const meter of this.meters) meter.spent -= spent[meter.unit];
    this.executions -= executions;
    this.#isThere = false;
    this.#isLeaving = false;
    this.written = NOTHING_WRITTEN;
  }
}
