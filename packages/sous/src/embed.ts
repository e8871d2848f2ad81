/** `sous/embed`: what a program needs that puts subagents into its own tools, panels and logs, or brings models and agents of its own. */

export type { LogLevel } from "./bridges/telemetry/log.ts";
export { createLifecycleLog, type LifecycleLog, type LifecycleLogOptions } from "./bridges/telemetry/log.ts";
export type {
  ExternalAction,
  ExternalAgent,
  ExternalAgents,
  ExternalAllowance,
  ExternalAnswer,
  ExternalCall,
  ExternalHost,
  ExternalSession,
  LentToolName,
  SessionRequest,
} from "./core/external-agent.ts";
export { externalModel, SessionLost } from "./core/external-agent.ts";
export type { HoldingState, LimitState, SpendingState } from "./core/limits.ts";
export type { ReasoningPart, ToolCallPart, ToolMessage, ToolResultPart } from "./core/message.ts";
export type {
  FinishReason,
  ModelAnswer,
  ModelCaller,
  ModelRequest,
  ModelSettings,
  OnDelta,
  RateReport,
  ToolDefinition,
} from "./core/model.ts";
export type { ReservedId } from "./core/runtime.ts";
export type {
  ChildControl,
  ChildInfo,
  ChildReport,
  ChildStatus,
  SpawnOptions,
  SpawnReply,
  SpawnRequest,
  SummaryMode,
} from "./core/spawn.ts";
export type { ToolCounts, ToolLogEntry } from "./core/tool-log.ts";
export type { IsSampled, TraceContext } from "./core/trace-context.ts";
export {
  type SubagentCallbacks,
  SubagentError,
  type SubagentInfo,
  type SubagentResult,
  type SubagentToolCall,
  type SubagentToolResult,
  trackSubagents,
} from "./runtime/subagents/callbacks.ts";
export type { ChildState, ChildStores } from "./runtime/subagents/child-stores.ts";
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
} from "./runtime/subagents/input.ts";
export type {
  FactoryDefinition,
  FactoryOptions,
  NamedAgentResult,
  SubagentFactory,
} from "./runtime/subagents/named-agent.ts";
export type { ParallelOutput, ParallelResult } from "./runtime/subagents/parallel.ts";
export { type ProgressStep, type SubagentProgress, trackProgress } from "./runtime/subagents/progress.ts";
export type { SubagentToolsOptions } from "./runtime/subagents/register.ts";
export type { RefusalMetadata, ReportMetadata, StartedMetadata } from "./runtime/subagents/report.ts";
export type { ToolLog } from "./runtime/subagents/tool-logs.ts";
export { registerSubagentTools, subagentFactory } from "./runtime.ts";
