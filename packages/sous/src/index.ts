/** `sous`: agents, tools, runs, budgets, approval and stores. */

export { type AgentDefinition, type AgentOptions, agent, type ForeignModel, type ModelChoice } from "./core/agent.ts";
export type {
  ApprovalAnswer,
  ApprovalPolicy,
  ApprovalRequest,
  Approve,
  HookCall,
  HookDecision,
  Hooks,
  OpenQuestion,
  RuleAnswer,
} from "./core/approval.ts";
export type { ConversationLimits } from "./core/conversation.ts";
export {
  type ErrorType,
  ModelError,
  type ModelErrorKind,
  StoreError,
  ToolFailure,
  UserError,
} from "./core/errors.ts";
export type { EventListener, EventOf, SousEvent, StoredEvent } from "./core/event.ts";
export type { Budget, DelegationLimits, HoldingState, LimitState, OnExhausted, SpendingState } from "./core/limits.ts";
export type {
  AssistantMessage,
  FilePart,
  Message,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolMessage,
  ToolResultPart,
  UserInput,
  UserMessage,
} from "./core/message.ts";
export type { FinishReason, Model, ModelAnswer, ModelRequest, OnDelta, ToolDefinition } from "./core/model.ts";
export type { RunStatus, StopReason } from "./core/outcome.ts";
export {
  type AgentSummary,
  type FailureKind,
  type ForkOptions,
  type ModelOptions,
  type ReservedId,
  type ResumeOptions,
  RunError,
  type RunHandle,
  type RunOptions,
  type RunResult,
  type RuntimeOptions,
} from "./core/runtime.ts";
export type { AnySchema, JsonSchema, StandardSchema } from "./core/schema.ts";
export type {
  RootBudget,
  SharedBudget,
  SharedBudgetOptions,
  SharedBudgets,
  SharedLimits,
} from "./core/shared-budget.ts";
export type { CancelMode, SummaryMode } from "./core/spawn.ts";
export type { RunQuery, RunRecord, Store } from "./core/store.ts";
export {
  type CleanUp,
  type Tool,
  type ToolCategory,
  type ToolContext,
  type ToolEffect,
  type ToolOptions,
  ToolRegistry,
  type ToolResult,
  type ToolTier,
  tool,
} from "./core/tool.ts";
export type { Price, Usage } from "./core/usage.ts";
export {
  createRuntime,
  type FanOutOptions,
  fanOut,
  fork,
  type Runtime,
  registerSubagentTools,
  resume,
  run,
  subagentFactory,
} from "./runtime.ts";
export { openMemoryStore } from "./store/memory.ts";
export type {
  SubagentCallbacks,
  SubagentInfo,
  SubagentResult,
} from "./subagents/callbacks.ts";
export type { SubagentToolsOptions } from "./subagents/register.ts";
export { readOnlyTools } from "./tools/read-only.ts";
