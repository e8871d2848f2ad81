/** The holding of a run without limits: nothing, at no cost. */

import type { Holding, Lease } from "../../core/limits.ts";

/** Shared by all of them: it covers any output. */
const FREE_LEASE: Lease = Object.freeze({
  outputCap: Number.POSITIVE_INFINITY,
  settle: () => {},
  [Symbol.dispose]: () => {},
});

const NOTHING_HELD: Disposable = Object.freeze({ [Symbol.dispose]: () => {} });

export const FREE_HOLDING: Holding = Object.freeze({
  reserve: () => FREE_LEASE,
  keep: () => {},
  takeStep: () => {},
  runCall: () => NOTHING_HELD,
  wait: () => NOTHING_HELD,
  [Symbol.dispose]: () => {},
});
