/** `sous/store`: what stores keep (runs, events, totals, shared budgets), and what a store of your own is made of. */

export { hasOpenQuestion } from "./core/approval.ts";
export { StaleOwner } from "./core/errors.ts";
export type {
  DeltaBody,
  DeltaEvent,
  NoticeReason,
  PieceBody,
  ResumedRun,
  RunIdentity,
  StoredBody,
  ToolProgress,
} from "./core/event.ts";
export type { Fault, RunOutcome } from "./core/outcome.ts";
export type { StoredRights } from "./core/rights.ts";
export type {
  FanOutTerms,
  PlacedStart,
  RunCall,
  RunOrigin,
  RunStart,
  StoredBudgetName,
  TreeTerms,
} from "./core/run-start.ts";
export type { SharedBudgetOptions, SharedBudgets, SharedLimits } from "./core/shared-budget.ts";
export {
  type Claim,
  FIRST_FENCE,
  foldRunRecord,
  NO_OWNER,
  type ReadOptions,
  type RunQuery,
  type RunRecord,
} from "./core/store.ts";
export type { RunTools, ShownTool } from "./core/tool-set.ts";
export {
  checkTotalsQuery,
  interruptedTally,
  notAMark,
  type RefusalTally,
  type RunTally,
  refusalTally,
  runTally,
  type Tally,
  type Totals,
  type TotalsQuery,
} from "./core/totals.ts";
export type { StoredBudget, StoredLimits } from "./core/units.ts";
