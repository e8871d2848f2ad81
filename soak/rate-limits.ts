/** The rate limits of providers on the wire, and a provider that refuses for ever. */

import { isReached, measureRateLimits } from "../packages/sous/test/figures/rate-limits.ts";
import type { Figure } from "./main.ts";

export const RATE_LIMITS: Figure = {
  name: "A4 40 children at three rates, 5, 16 and 40 calls at once: no failure, 1.15 times the least time",
  async measure() {
    const figure = await measureRateLimits();
    return { figure, isReached: figure.every(isReached) };
  },
};
