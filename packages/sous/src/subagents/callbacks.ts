/** Callbacks for embedders: a thin view of the one event stream. */

import type { EventListener } from "../core/event.ts";
import { isSuccess } from "../core/outcome.ts";

export type SubagentInfo = { id: string; description: string; mode: "spawn" | "delegate" };
export type SubagentResult = { text: string; turns: number; durationMs: number };
export type SubagentToolCall = { callId: string; toolName: string; input: unknown };
export type SubagentToolEnd = {
  callId: string;
  toolName: string;
  output: string;
  isError: boolean;
  durationMs: number;
};

/** All optional. Each child that starts has exactly one `onComplete` or `onError`. */
export type SubagentCallbacks = {
  onSubagentStart?(info: SubagentInfo): void;
  onStreamDelta?(info: SubagentInfo, text: string): void;
  onToolCallStart?(info: SubagentInfo, call: SubagentToolCall): void;
  onToolCallEnd?(info: SubagentInfo, end: SubagentToolEnd): void;
  onComplete?(info: SubagentInfo, result: SubagentResult): void;
  onError?(info: SubagentInfo, error: { message: string } & SubagentResult): void;
};

/** The listener of one child: it hears that child's events only. */
export function toListener(callbacks: SubagentCallbacks, child: Omit<SubagentInfo, "id">): EventListener {
  return (event) => {
    const info: SubagentInfo = { id: event.agentId, ...child };
    switch (event.type) {
      case "run-start":
        return callbacks.onSubagentStart?.(info);
      case "text-delta":
        return callbacks.onStreamDelta?.(info, event.text);
      case "tool-call-start":
        return callbacks.onToolCallStart?.(info, {
          callId: event.callId,
          toolName: event.toolName,
          input: event.input,
        });
      case "tool-call-end": {
        const { callId, toolName, output, isError, durationMs } = event;
        return callbacks.onToolCallEnd?.(info, { callId, toolName, output, isError, durationMs });
      }
      case "run-end": {
        const { text, turns, durationMs } = event;
        if (isSuccess(event)) return callbacks.onComplete?.(info, { text, turns, durationMs });
        const message = event.fault?.message ?? event.status;
        return callbacks.onError?.(info, { message, text, turns, durationMs });
      }
      default:
        return undefined;
    }
  };
}
