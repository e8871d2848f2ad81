/** Callbacks for embedders: a thin view of the one event stream. */

import { type ErrorType, UserError } from "../../core/errors.ts";
import type { EventListener, EventOf } from "../../core/event.ts";
import { isExternalModel } from "../../core/model.ts";
import { nearest } from "../../core/nearest.ts";
import { type OptionKind, objectOf } from "../../core/option-kinds.ts";
import { isSuccess, type RunOutcome } from "../../core/outcome.ts";
import { labelIn } from "./paths.ts";

/** A child that starts. */
export type SubagentInfo = {
  /** The same over its follow-ups. */
  id: string;
  description: string;
  mode: "spawn" | "delegate";
  /** `lead/scout#2`, unique in the tree. */
  path: string;
  depth: number;
};

/** The end of a child. */
export type SubagentResult = {
  /** The final text, or the partial text of a child that was stopped. */
  text: string;
  turns: number;
  /** Whole milliseconds. */
  durationMs: number;
};

/** A tool call of a child, or something that an external agent does by itself: `toolName` is what the agent calls it. */
export type SubagentToolCall = { callId: string; toolName: string; input: unknown };

/** The result of a tool call of a child. */
export type SubagentToolResult = {
  callId: string;
  toolName: string;
  /** The text that the child's model reads; of an external agent what it says of its own call, at most 4 KB. */
  output: string;
  isError: boolean;
  durationMs: number;
};

/** The error of a child that gave no usable result. `type` is the kind of failure, as in reports and metrics. */
export class SubagentError extends Error {
  override name = "SubagentError";
  readonly type: ErrorType;
  /** The result, with the partial text. */
  readonly result: SubagentResult;

  constructor(message: string, type: ErrorType, result: SubagentResult) {
    super(message);
    this.type = type;
    this.result = result;
  }
}

/**
 * All optional. A child that starts has `onSubagentStart` first and exactly one `onSubagentComplete` or `onSubagentError` last,
 * also when it is cancelled or times out; a follow-up starts it again under the same id. A child that is refused before it
 * starts has none of them: the tool's result says why. A callback that throws or rejects has no effect on the run.
 */
export type SubagentCallbacks = {
  onSubagentStart?(info: SubagentInfo): void;
  onSubagentStreamDelta?(id: string, text: string): void;
  onSubagentToolCallStart?(id: string, call: SubagentToolCall): void;
  onSubagentToolCallEnd?(id: string, result: SubagentToolResult): void;
  onSubagentComplete?(id: string, result: SubagentResult): void;
  onSubagentError?(id: string, error: SubagentError): void;
};

/**
 * A listener for `onEvent` that calls back for every child of a tree, however it was started. Children of
 * `registerSubagentTools` with callbacks of their own call both.
 */
export function trackSubagents(callbacks: SubagentCallbacks): EventListener {
  checkCallbacks(callbacks);
  const live = new Map<string, EventListener>();
  return (event) => {
    if (event.parentId === null) return;
    if (event.type === "run-start") {
      const mode = isExternalModel(event.model) ? "delegate" : "spawn";
      live.set(event.runId, toListener(callbacks, { description: event.label, mode }));
    }
    // It started in another process; only its path is known here.
    if (event.type === "resume")
      live.set(event.runId, toListener(callbacks, { description: labelIn(event.path), mode: "spawn" }));
    const listener = live.get(event.runId);
    if (event.type === "run-end") live.delete(event.runId);
    // Returned, so that the bus sees a callback that rejects.
    return listener?.(event);
  };
}

/** The listener for the events of one child. A child with a tree of its own has levels above it. */
export function toListener(
  callbacks: SubagentCallbacks,
  child: Pick<SubagentInfo, "description" | "mode">,
  levelsAbove = 0,
): EventListener {
  /** The times at which the calls of an external agent began, by call. */
  const begun = new Map<string, number>();
  return (event) => {
    const { agentId: id, path } = event;
    const depth = event.depth + levelsAbove;
    switch (event.type) {
      case "run-start":
      case "resume":
        return callbacks.onSubagentStart?.({ id, ...child, path, depth });
      case "text-delta":
        return callbacks.onSubagentStreamDelta?.(id, event.text);
      case "tool-call-start": {
        const { callId, toolName, input } = event;
        return callbacks.onSubagentToolCallStart?.(id, { callId, toolName, input });
      }
      case "tool-call-end":
        return callbacks.onSubagentToolCallEnd?.(id, toToolResult(event));
      case "outside-call": {
        const { callId, name: toolName, input, phase, output = "", isError = false, time } = event;
        if (phase === "start") {
          begun.set(callId, time);
          return callbacks.onSubagentToolCallStart?.(id, { callId, toolName, input });
        }
        const durationMs = Math.max(0, Math.round(time - (begun.get(callId) ?? time)));
        begun.delete(callId);
        return callbacks.onSubagentToolCallEnd?.(id, { callId, toolName, output, isError, durationMs });
      }
      case "run-end":
        if (isSuccess(event)) return callbacks.onSubagentComplete?.(id, toResult(event));
        return callbacks.onSubagentError?.(id, toError(event));
      default:
        return undefined;
    }
  };
}

function toToolResult(event: EventOf<"tool-call-end">): SubagentToolResult {
  const { callId, toolName, output, isError, durationMs } = event;
  return { callId, toolName, output, isError, durationMs: Math.round(durationMs) };
}

function toResult({ text, turns, durationMs }: RunOutcome): SubagentResult {
  return { text, turns, durationMs: Math.round(durationMs) };
}

function toError(end: EventOf<"run-end">): SubagentError {
  const { fault, status } = end;
  return new SubagentError(fault?.message ?? status, fault?.type ?? "crash", toResult(end));
}

const NAMES: readonly string[] = Object.keys({
  onSubagentStart: true,
  onSubagentStreamDelta: true,
  onSubagentToolCallStart: true,
  onSubagentToolCallEnd: true,
  onSubagentComplete: true,
  onSubagentError: true,
} satisfies Record<keyof SubagentCallbacks, true>);

/** `checkCallbacks` says more about what is in them. */
export const CALLBACKS: OptionKind<SubagentCallbacks> = objectOf(`an object of functions (${NAMES.join(", ")})`);

/** Throws a `UserError` for a name that would never be called. */
export function checkCallbacks(callbacks: SubagentCallbacks): void {
  if (!CALLBACKS.takes(callbacks))
    throw new UserError(`callbacks must be ${CALLBACKS.wants}; found ${CALLBACKS.found(callbacks)}`);
  for (const name of namesIn(callbacks)) {
    if (!NAMES.includes(name)) throw new UserError(`Unknown callback: ${name}. ${hintFor(name)}`);
    const callback = (callbacks as Record<string, unknown>)[name];
    if (callback !== undefined && typeof callback !== "function")
      throw new UserError(`The callback ${name} is not a function`);
  }
}

/** All names of a plain object. Of an instance, only names that look like callbacks: it may have its own state. */
function namesIn(callbacks: object): string[] {
  const prototype: unknown = Object.getPrototypeOf(callbacks);
  if (prototype === Object.prototype || prototype === null) return Object.keys(callbacks);
  const names = new Set<string>();
  for (let each: unknown = callbacks; isOwnLevel(each); each = Object.getPrototypeOf(each)) {
    for (const name of Object.getOwnPropertyNames(each)) if (/^on[A-Z]/.test(name)) names.add(name);
  }
  return [...names];
}

function isOwnLevel(level: unknown): level is object {
  return typeof level === "object" && level !== null && level !== Object.prototype;
}

function hintFor(name: string): string {
  const lower = name.toLowerCase();
  const given = /^on(?!subagent)/.test(lower) ? `onsubagent${lower.slice(2)}` : lower;
  const byLower = new Map(NAMES.map((each) => [each.toLowerCase(), each]));
  const meant = byLower.get(nearest(given, byLower.keys()) ?? "");
  return meant === undefined ? `Known callbacks: ${NAMES.join(", ")}.` : `Did you mean ${meant}?`;
}
