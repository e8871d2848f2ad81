/** `sous/replay`: stored runs read, run again, compared, exported and imported. */

export { readMessages } from "./core/read-history.ts";
export { type ReadTreeOptions, readTree } from "./core/read-tree.ts";
export type { RerunOptions } from "./rerun/stage.ts";
export { type Rerun, rerun } from "./rerun.ts";
export type { StepDifference } from "./storage/replay/comparison.ts";
export {
  type AgentDiff,
  type AgentSide,
  type DiffMark,
  type DiffRow,
  type DiffSide,
  type DiffTotals,
  diffRuns,
  type RunsDiff,
} from "./storage/replay/diff-runs.ts";
export type { RunStep } from "./storage/replay/run-steps.ts";
export { type ExportFormat, exportTree } from "./storage/store/export/tree.ts";
export { type ImportedTree, type ImportOptions, importTree } from "./storage/store/import/tree.ts";
