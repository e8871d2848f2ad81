/** `sous/embed`: what a program needs that puts subagents into its own tools, panels and logs. */

export type {
  OutsideAction,
  OutsideAgent,
  OutsideAgents,
  OutsideAllowance,
  OutsideAnswer,
  OutsideCall,
  OutsideHost,
  OutsideSession,
  SessionRequest,
} from "./core/outside-agent.ts";
export { outsideModel, SessionLost } from "./core/outside-agent.ts";
export type {
  ChildControl,
  ChildInfo,
  ChildReport,
  ChildStatus,
  SpawnOptions,
  SpawnReply,
  SpawnRequest,
} from "./core/spawn.ts";
export {
  SubagentError,
  type SubagentToolCall,
  type SubagentToolResult,
  trackSubagents,
} from "./subagents/callbacks.ts";
export type { ChildState, ChildStores } from "./subagents/child-stores.ts";
export type {
  NamedAgentInput,
  ParallelSubagentInput,
  SubagentCancelInput,
  SubagentDelegateInput,
  SubagentInput,
  SubagentReportInput,
  SubagentSendInput,
  SubagentSpawnInput,
  SubagentWaitInput,
} from "./subagents/input-types.ts";
export type {
  FactoryDefinition,
  FactoryOptions,
  NamedAgentResult,
  SubagentFactory,
} from "./subagents/named-agent.ts";
export type { ParallelOutput, ParallelResult } from "./subagents/parallel.ts";
export { type ProgressStep, type SubagentProgress, trackProgress } from "./subagents/progress.ts";
export type { RefusalMetadata, ReportMetadata, StartedMetadata } from "./subagents/report.ts";
export type { ToolLog } from "./subagents/tool-logs.ts";
export type { LogLevel } from "./telemetry/log.ts";
export { createLifecycleLog, type LifecycleLog, type LifecycleLogOptions } from "./telemetry/log.ts";
