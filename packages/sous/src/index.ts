/** `sous`: agents, tools, runs, budgets, approval and stores. */

export { type AgentDefinition, type AgentOptions, agent, type ForeignModel, type ModelChoice } from "./core/agent.ts";
export type {
  ApprovalAnswer,
  ApprovalPolicy,
  ApprovalRequest,
  Approve,
  CallTarget,
  HookCall,
  HookDecision,
  Hooks,
  OpenQuestion,
  RuleAnswer,
} from "./core/approval.ts";
export type { Clock, Host } from "./core/clock.ts";
export type { ConversationLimits } from "./core/conversation.ts";
export { type ErrorType, ModelError, StoreError, ToolFailure, UserError } from "./core/errors.ts";
export type { EventListener, EventOf, SousEvent, StoredEvent } from "./core/event.ts";
export type { Budget, OnExhausted } from "./core/limits.ts";
export type { AssistantMessage, FilePart, Message, TextPart, UserInput, UserMessage } from "./core/message.ts";
export type { Model } from "./core/model.ts";
export type { Effort, ProviderOptions, ToolChoice } from "./core/model-options.ts";
export type { RunStatus, StopReason } from "./core/outcome.ts";
export {
  type AgentSummary,
  type ForkOptions,
  type ModelOptions,
  type ResumeOptions,
  RunError,
  type RunHandle,
  type RunOptions,
  type RunResult,
  type RuntimeOptions,
} from "./core/runtime.ts";
export type { AnySchema, JsonSchema, OutputOf, StandardSchema } from "./core/schema.ts";
export type { RootBudget, SharedBudget } from "./core/shared-budget.ts";
export type { CancelMode } from "./core/spawn.ts";
export type { Store } from "./core/store.ts";
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
export type { DelegationLimits } from "./core/words/limits.ts";
export type { ModelErrorKind } from "./core/words/model-errors.ts";
export { createRuntime, type FanOutOptions, fanOut, fork, type Runtime, resume, run } from "./runtime.ts";
export { openMemoryStore } from "./storage/store/memory.ts";
