/** The one gate for children, as values: the request, the reply, and the control over live ones. */

import type { AgentDefinition } from "./agent.ts";
import type { ErrorType } from "./errors.ts";
import type { Budget } from "./limits.ts";
import type { Model } from "./model.ts";
import type { RunOutcome } from "./outcome.ts";
import type { AnySchema } from "./schema.ts";
import type { ToolLogEntry } from "./tool-log.ts";
import type { Usage } from "./usage.ts";
import { childTools } from "./words/tools.ts";

/** A fan-out from code: the name of the agent that holds its children together, and of the call that made them, which is none. */
export const FAN_OUT = "fan-out";

/** A child that is asked for. */
export type SpawnRequest = {
  label: string;
  task: string;
  /** The index in a fan-out of the call that asks: call and index together name the child across a restart. */
  index?: number | undefined;
  /** A definition, or the name of one the parent knows. */
  agent?: AgentDefinition | string | undefined;
  /** Set for an external agent whose call itself was approved, so the gate does not ask again. */
  approved?: true | undefined;
  /** The settings that the call narrows or sets; every field can only take away from what the parent may pass on. */
  options?: SpawnOptions | undefined;
};

/** The settings that one call may give its child, as in the input of the `subagent` tool. */
export type SpawnOptions = {
  summaryPrompt?: string | undefined;
  /** Exact: these tools and no subagent tools. */
  allowedTools?: readonly string[] | undefined;
  maxTurns?: number | undefined;
  model?: string | Model | undefined;
  systemPrompt?: string | undefined;
  timeoutMs?: number | undefined;
  outputSchema?: AnySchema | undefined;
  /** `fork` starts from the parent's history. */
  context?: "none" | "fork" | undefined;
  background?: boolean | undefined;
  /** Stops this child without stopping its siblings. */
  signal?: AbortSignal | undefined;
  /** The tree fails with this child when the rate of its model is the reason. */
  isRequired?: true | undefined;
  /** Called at the very end of the child, before its slot is free for another. */
  onEnd?: ((outcome: RunOutcome) => void) | undefined;
  /** Never ask for a summary (`never`), always (`always`); the runtime's setting when unset. */
  summary?: SummaryMode | undefined;
  /** A share of what is left; asking for more than that is refused. */
  budget?: Budget | undefined;
  /** Keep what its tools did for the report. */
  keepToolLog?: boolean | undefined;
};

/** The rule that says whether a child is asked for a summary after its task. */
export type SummaryMode = "auto" | "always" | "never";

/** The result of a request for a child: it ended, runs in the background, waits for an answer, or was refused. */
export type SpawnReply =
  /** No child was made and nothing was spent; the message is for the model. */
  | { kind: "refused"; errorType: ErrorType; message: string }
  /** The child runs in the background. */
  | { kind: "started"; child: ChildInfo }
  /** The child is at work and reads the message before its next turn. */
  | { kind: "told"; child: ChildInfo }
  | { kind: "ended"; report: ChildReport }
  /**
   * The child waits for an answer that comes later; without a report it has not started. The call that asked for it has no
   * result: `resume` makes it again.
   */
  | { kind: "parked"; report: ChildReport | undefined };

/** The identity of a child. `agentId` is stable over follow-ups, `runId` is one execution. */
export type ChildInfo = {
  agentId: string;
  runId: string;
  path: string;
  label: string;
  depth: number;
  /** The definition's name, or `subagent` for one made up by a call. */
  agentName: string;
  /** The external agent that does the work, as it is written behind `external/`; unset for an agent of ours. */
  external?: string | undefined;
};

/** A finished child as its parent may know it. The numbers include everything below the child. */
export type ChildReport = ChildInfo & {
  outcome: RunOutcome;
  /** The text for the parent: the summary or the final answer, cut to the report limit. */
  text: string;
  /** Set when it was cut; the whole stays in the store. */
  truncation: { originalBytes: number; keptBytes: number } | undefined;
  /** The parent has `subagent_report`, which reads the whole. */
  isFetchable: boolean;
  /** The log of its tools, when the request asked for it. */
  toolLog: readonly ToolLogEntry[] | undefined;
  totalUsage: Usage;
  totalCostUsd: number | null;
};

/** The state of a child. */
export type ChildStatus = ChildInfo & {
  /** `queued`: it waits for budget or a slot to start. `waiting`: for an answer that comes later. */
  status: "queued" | "waiting" | "running" | RunOutcome["status"];
  background: boolean;
  turns: number;
};

/** Control over the children of one run; everything refuses ids that are not its own children. */
export type ChildControl = {
  list(): ChildStatus[];
  /** Continues a finished child with a further message, or steers a live one. */
  send(agentId: string, message: string): Promise<SpawnReply>;
  /** The reports of the named background children (all when none are named), each delivered once. */
  wait(agentIds: readonly string[] | undefined): Promise<ChildReport[]>;
  /** Stops a child; resolves when it has stopped. */
  cancel(agentId: string, mode: CancelMode): Promise<ChildStatus | undefined>;
  /** The whole text of a finished child's last report. */
  report(agentId: string): Promise<string | undefined>;
};

/**
 * `stop` ends at once. `wrap-up` lets the run and everything below it finish what they are doing and say what they have in
 * one turn without tools. `last-words` stops its tools and its children at once; only the run itself says what it has.
 */
export type CancelMode = "stop" | "wrap-up" | "last-words";

/** The names of the runtime's own tools for children, and sentences that belong to them. */
export function isSubagentToolName(name: string): boolean {
  return name === "subagent" || name === "parallel_subagent" || name.startsWith("subagent_");
}

/** The prompt for a summary when the call gives none. Text a model reads. */
export const SUMMARY_PROMPT = "Summarize your findings concisely";

const FOLLOW_UPS = childTools("follow-up");
const DESCRIBED = childTools("start-described");

/**
 * The labels of the children that a call asks for, from an input that was not checked; the name of the tool stands for
 * one that is missing.
 */
export function askedLabels(toolName: string, input: unknown): string[] {
  if (FOLLOW_UPS.includes(toolName)) return [];
  const { label, description, tasks } = fieldsOf(input);
  if (toolName === "subagent") return [labelOr(toolName, label)];
  if (DESCRIBED.includes(toolName)) return [labelOr(toolName, description)];
  if (toolName !== "parallel_subagent") return [toolName.replace(/^subagent_/, "")];
  const asked = Array.isArray(tasks) ? tasks : [];
  return asked.length === 0 ? [toolName] : asked.map((task) => labelOr(toolName, fieldsOf(task).label));
}

/** The models that a call names for its children, by their index, from an input that was not checked; undefined where it names none. */
export function askedModels(toolName: string, input: unknown): unknown[] {
  if (toolName === "subagent") return [fieldsOf(input).model];
  const { tasks } = toolName === "parallel_subagent" ? fieldsOf(input) : {};
  return Array.isArray(tasks) ? tasks.map((task) => fieldsOf(task).model) : [];
}

function fieldsOf(input: unknown): Record<string, unknown> {
  return typeof input === "object" && input !== null ? { ...input } : {};
}

function labelOr(toolName: string, label: unknown): string {
  return typeof label === "string" && label.trim() !== "" ? label : toolName;
}

/** Relied on by people and tests. */
export function depthMessage(maxDepth: number, depth: number): string {
  return `Maximum subagent recursion depth (${maxDepth}) exceeded. Current depth: ${depth}. Do this part of the work yourself.`;
}
