/** Progress of children, folded from the one event stream: what a status line needs, one value per step. */

import type { EventListener, RunStart, SousEvent } from "../core/event.ts";
import { isSuccess } from "../core/outcome.ts";
import { describeInput } from "./tool-logs.ts";

export type SubagentProgress = {
  childId: string;
  childRunId: string;
  path: string;
  name: string;
  nickname: string | undefined;
  model: string;
  maxTurns: number;
  currentTurn: number;
  /** The tool it is in, or was in last. */
  toolName: string | undefined;
  toolContext: string | undefined;
  toolCount: number;
  totalTokens: number;
  completed: boolean;
  /** Known when completed. */
  success: boolean | undefined;
};

/** A listener for `onEvent` that reports every step of every child; the root is not a child. */
export function trackProgress(onProgress: (progress: SubagentProgress) => void): EventListener {
  const live = new Map<string, SubagentProgress>();
  return (event) => {
    if (event.parentId === null) return;
    if (event.type === "run-start") live.set(event.runId, begin(event));
    const progress = live.get(event.runId);
    if (progress === undefined || !advance(progress, event)) return;
    if (progress.completed) live.delete(event.runId);
    // Returned, so that whoever publishes the event hears of an async sink that fails.
    return onProgress({ ...progress });
  };
}

function begin(event: SousEvent & RunStart): SubagentProgress {
  return {
    childId: event.agentId,
    childRunId: event.runId,
    path: event.path,
    name: event.agent,
    nickname: event.nickname,
    model: event.model,
    maxTurns: event.maxTurns,
    currentTurn: 0,
    toolName: undefined,
    toolContext: undefined,
    toolCount: 0,
    totalTokens: 0,
    completed: false,
    success: undefined,
  };
}

/** True when there is something new to tell. */
function advance(progress: SubagentProgress, event: SousEvent): boolean {
  switch (event.type) {
    case "run-start":
      return true;
    case "turn-start":
      progress.currentTurn = event.turn;
      return true;
    case "message-end":
      progress.totalTokens += event.usage.totalTokens;
      return true;
    case "tool-call-start":
      progress.toolName = event.toolName;
      progress.toolContext = describeInput(event.toolName, event.input);
      progress.toolCount += 1;
      return true;
    case "run-end":
      progress.completed = true;
      progress.success = isSuccess(event);
      progress.totalTokens = event.usage.totalTokens;
      return true;
    case "text-delta":
    case "reasoning-delta":
    case "budget-wait":
    case "budget-near":
    case "tool-call-end":
    case "approval-request":
    case "approval-end":
    case "budget-warning":
    case "retry":
    case "prune":
    case "truncation":
    case "spawn-refused":
    case "stalled":
    case "steer":
    case "notice":
    case "report":
    case "resume":
      return false;
    default:
      return event satisfies never;
  }
}
