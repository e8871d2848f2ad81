/** What passes through the one gate for children: the request, the reply, and the control over live ones. */

import type { AgentDefinition } from "./agent.ts";
import type { ErrorType } from "./errors.ts";
import type { Budget } from "./limits.ts";
import type { Model } from "./model.ts";
import type { RunOutcome } from "./outcome.ts";
import type { AnySchema } from "./schema.ts";
import type { ToolLogEntry } from "./tool-log.ts";
import type { Usage } from "./usage.ts";

export type SpawnRequest = {
  label: string;
  task: string;
  /** Which call of the parent asks, and its place in a fan-out: together they name the child across a restart. */
  index?: number | undefined;
  /** A definition, or the name of one the parent knows. */
  agent?: AgentDefinition | string | undefined;
  /** What the call narrows or sets; every field can only take away from what the parent may pass on. */
  options?: SpawnOptions | undefined;
};

/** What one call may say about its child, as in the input of the `subagent` tool. */
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
  /** Called at the very end of the child, before its place is free for another. */
  onEnd?: ((outcome: RunOutcome) => void) | undefined;
  /** Never ask for a summary (`never`), always (`always`); the runtime's setting when unset. */
  summary?: SummaryMode | undefined;
  /** A share of what is left; asking for more than that is refused. */
  budget?: Budget | undefined;
  /** Keep what its tools did for the report. */
  keepToolLog?: boolean | undefined;
};

export type SummaryMode = "auto" | "always" | "never";

export type SpawnReply =
  /** No child was made and nothing was spent; the message is for the model. */
  | { kind: "refused"; errorType: ErrorType; message: string }
  /** The child runs in the background. */
  | { kind: "started"; child: ChildInfo }
  /** The child is at work and reads the message before its next turn. */
  | { kind: "told"; child: ChildInfo }
  | { kind: "ended"; report: ChildReport };

/** Who a child is. `agentId` is stable over follow-ups, `runId` is one execution. */
export type ChildInfo = {
  agentId: string;
  runId: string;
  path: string;
  label: string;
  depth: number;
  /** The definition's name, or `subagent` for one made up by a call. */
  agentName: string;
};

/** A finished child as its parent may know it. The numbers include everything below the child. */
export type ChildReport = ChildInfo & {
  outcome: RunOutcome;
  /** The text for the parent: the summary or the final answer, cut to the report limit. */
  text: string;
  /** Set when it was cut; the whole stays in the store. */
  truncation: { originalBytes: number; keptBytes: number } | undefined;
  /** Its parent has `subagent_report`, which reads the whole. */
  isFetchable: boolean;
  /** What its tools did, when the request asked for it. */
  toolLog: readonly ToolLogEntry[] | undefined;
  totalUsage: Usage;
  totalCostUsd: number | null;
};

export type ChildStatus = ChildInfo & {
  /** `waiting`: it has not started yet, because its budget or a place is missing. */
  status: "waiting" | "running" | RunOutcome["status"];
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
