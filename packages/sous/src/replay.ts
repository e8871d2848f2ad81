/** `sous/replay`: stored runs read, run again, compared, exported and imported. */

export type { RefusalTally, RunTally, Tally, Totals, TotalsQuery } from "./core/totals.ts";
export {
  type ComparisonOptions,
  compareRuns,
  type RunsComparison,
  type StepDifference,
} from "./replay/comparison.ts";
export {
  type AgentDiff,
  type AgentSide,
  type DiffMark,
  type DiffRow,
  type DiffSide,
  type DiffTotals,
  diffRuns,
  type RunsDiff,
} from "./replay/diff-runs.ts";
export type { RunStep } from "./replay/run-steps.ts";
export { type Rerun, type RerunOptions, rerun } from "./rerun.ts";
export {
  conversations,
  type PruneOptions,
  type StoredConversation,
  type StoredConversationMetadata,
  type StoredConversationQuery,
  type StoredConversationSummary,
  type StoredConversations,
} from "./store/conversations.ts";
export { type ExportFormat, exportTree } from "./store/export/tree.ts";
export { type ImportedTree, type ImportOptions, importTree } from "./store/import/tree.ts";
