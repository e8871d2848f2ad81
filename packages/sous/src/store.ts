/** `sous/store`: what a store of your own is made of besides the port `Store`: claims, rows and totals. */

export { StaleOwner } from "./core/errors.ts";
export { type Claim, FIRST_FENCE, foldRunRecord, NO_OWNER, type ReadOptions } from "./core/store.ts";
export { checkTotalsQuery, interruptedTally, notAMark, refusalTally, runTally } from "./core/totals.ts";
