/** A provider that takes calls at a rate: a bucket that fills up again, as Anthropic's and OpenAI's limits do. */

export type Rate = {
  /** The calls that it takes at once when it has not been asked for a while. */
  readonly burst: number;
  readonly perSecond: number;
  /** The wait that it names with a refusal: the time until the next call, exact or rounded up, always this many seconds, or none. */
  readonly says: "exactly" | "whole seconds" | number | "nothing";
};

export class RateBucket {
  answers = 0;
  refusals = 0;
  readonly #rate: Rate;
  #left: number;
  #at: number | undefined;

  constructor(rate: Rate) {
    this.#rate = rate;
    this.#left = rate.burst;
  }

  /** Takes a call at this moment. A refusal is the milliseconds that it says, undefined for none. */
  take(now: number): "taken" | { readonly afterMs: number | undefined } {
    const { burst, perSecond, says } = this.#rate;
    this.#left = Math.min(burst, this.#left + ((now - (this.#at ?? now)) / 1000) * perSecond);
    this.#at = now;
    if (this.#left >= 1) {
      this.#left -= 1;
      this.answers += 1;
      return "taken";
    }
    this.refusals += 1;
    if (says === "nothing") return { afterMs: undefined };
    const seconds = (1 - this.#left) / perSecond;
    if (says === "exactly") return { afterMs: Math.ceil(seconds * 1000) };
    return { afterMs: (says === "whole seconds" ? Math.ceil(seconds) : says) * 1000 };
  }

  /** The least time that so many calls take. */
  leastMs(calls: number): number {
    return (Math.max(0, calls - this.#rate.burst) / this.#rate.perSecond) * 1000;
  }
}

/** A provider that takes so many calls in any minute. It names the time until the next one, or nothing. */
export class MinuteWindow {
  answers = 0;
  refusals = 0;
  readonly #most: number;
  readonly #saysWhen: boolean;
  readonly #taken: number[] = [];

  constructor(most: number, saysWhen: boolean) {
    this.#most = most;
    this.#saysWhen = saysWhen;
  }

  take(now: number): "taken" | { readonly afterMs: number | undefined } {
    const oldest = this.#taken.at(-this.#most);
    if (oldest === undefined || now - oldest >= MINUTE) {
      this.#taken.push(now);
      this.answers += 1;
      return "taken";
    }
    this.refusals += 1;
    return { afterMs: this.#saysWhen ? oldest + MINUTE - now : undefined };
  }

  leastMs(calls: number): number {
    return Math.floor((calls - 1) / this.#most) * MINUTE;
  }
}

const MINUTE = 60_000;

/** Limits as providers have them: the first tier of a provider, one that speaks in whole seconds, and one that says nothing. */
export const RATES: readonly (readonly [name: string, rate: Rate])[] = [
  ["50 a minute, which says exactly when", { burst: 50, perSecond: 50 / 60, says: "exactly" }],
  ["50 a minute, in whole seconds", { burst: 50, perSecond: 50 / 60, says: "whole seconds" }],
  ["5 a second, which says a second", { burst: 5, perSecond: 5, says: 1 }],
  ["5 a second, which says nothing", { burst: 5, perSecond: 5, says: "nothing" }],
];
