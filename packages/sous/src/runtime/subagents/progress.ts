/** Progress of children, folded from the one event stream: what a status line needs, one value per step. */

import type { EventListener, EventOf, SousEvent } from "../../core/event.ts";
import { isSuccess } from "../../core/outcome.ts";
import { labelIn } from "./paths.ts";
import { describeInput } from "./tool-logs.ts";

/** The latest step of a child. */
export type ProgressStep =
  | "run-start"
  | "resume"
  | "turn-start"
  | "message-end"
  | "tool-start"
  | "tool-end"
  | "run-end";

/** The progress of a child. */
export type SubagentProgress = {
  childId: string;
  childRunId: string;
  path: string;
  /** The name of its definition; of a child that began in another process, its label. */
  name: string;
  nickname: string | undefined;
  /** Undefined for a child that began in another process. */
  model: string | undefined;
  /** Undefined for a child that began in another process. */
  maxTurns: number | undefined;
  currentTurn: number;
  /** The latest step. */
  step: ProgressStep;
  /** The tool call that began or ended last. Several may run at once. */
  toolCallId: string | undefined;
  toolName: string | undefined;
  toolContext: string | undefined;
  /** True when that call succeeded; undefined while it runs. */
  toolSuccess: boolean | undefined;
  /** Calls of its model, as in the result of the run; what an external agent does by itself is not among them. */
  toolCount: number;
  totalTokens: number;
  /** The child has ended. */
  completed: boolean;
  /** True when the child succeeded; known when completed. */
  success: boolean | undefined;
};

/** A listener for `onEvent` that reports every step of every child, and the start and end of each of its tools. */
export function trackProgress(onProgress: (progress: SubagentProgress) => void): EventListener {
  const live = new Map<string, Tracked>();
  return (event) => {
    // The root is not a child.
    if (event.parentId === null) return;
    const isStart = event.type === "run-start" || event.type === "resume";
    if (isStart) live.set(event.runId, { progress: begin(event), contexts: new Map() });
    const tracked = live.get(event.runId);
    if (tracked === undefined || !advance(tracked, event)) return;
    if (tracked.progress.completed) live.delete(event.runId);
    // Returned, so that the bus sees an async listener that fails.
    return onProgress({ ...tracked.progress });
  };
}

type Tracked = {
  readonly progress: SubagentProgress;
  /** The contexts of the calls that run now, by call. */
  readonly contexts: Map<string, string>;
};

function begin(event: EventOf<"run-start" | "resume">): SubagentProgress {
  const start = event.type === "run-start" ? event : undefined;
  return {
    childId: event.agentId,
    childRunId: event.runId,
    path: event.path,
    name: start?.agent ?? labelIn(event.path),
    nickname: start?.nickname,
    model: start?.model,
    maxTurns: start?.maxTurns,
    currentTurn: 0,
    step: event.type,
    toolCallId: undefined,
    toolName: undefined,
    toolContext: undefined,
    toolSuccess: undefined,
    toolCount: 0,
    totalTokens: 0,
    completed: false,
    success: undefined,
  };
}

/** True when something changed. */
function advance({ progress, contexts }: Tracked, event: SousEvent): boolean {
  switch (event.type) {
    case "run-start":
    case "resume":
      return true;
    case "turn-start":
      progress.step = "turn-start";
      progress.currentTurn = event.turn;
      return true;
    case "message-end":
      progress.step = "message-end";
      progress.totalTokens += event.usage.totalTokens;
      return true;
    case "tool-call-start":
      contexts.set(event.callId, describeInput(event.toolName, event.input));
      showTool(progress, event, contexts);
      progress.step = "tool-start";
      progress.toolCount += 1;
      return true;
    case "tool-call-end":
      showTool(progress, event, contexts);
      contexts.delete(event.callId);
      progress.step = "tool-end";
      progress.toolSuccess = !event.isError;
      return true;
    case "outside-call":
      contexts.set(event.callId, event.title === event.name ? describeInput(event.name, event.input) : event.title);
      showTool(progress, { callId: event.callId, toolName: event.name }, contexts);
      progress.step = event.phase === "start" ? "tool-start" : "tool-end";
      if (event.phase === "start") return true;
      contexts.delete(event.callId);
      progress.toolSuccess = event.isError !== true;
      return true;
    case "run-end":
      progress.step = "run-end";
      progress.completed = true;
      progress.success = isSuccess(event);
      progress.totalTokens = event.usage.totalTokens;
      return true;
    default:
      return false;
  }
}

function showTool(
  progress: SubagentProgress,
  { callId, toolName }: { callId: string; toolName: string },
  contexts: ReadonlyMap<string, string>,
): void {
  progress.toolCallId = callId;
  progress.toolName = toolName;
  progress.toolContext = contexts.get(callId);
  progress.toolSuccess = undefined;
}
