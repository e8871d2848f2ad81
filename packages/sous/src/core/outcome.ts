/** The endings of a run. Every ending is a value: docs/reference/outcomes.md lists them, `words/outcomes.ts` says what follows from each. */

import type { ErrorType } from "./errors.ts";
import type { Usage } from "./usage.ts";
import type { ModelErrorKind } from "./words/model-errors.ts";
import { OUTCOMES } from "./words/outcomes.ts";

/** The status of a run that has ended. */
export type RunStatus = "completed" | "incomplete" | "budget_exceeded" | "timeout" | "cancelled" | "refused" | "failed";

/** The status of a stored run that has no end. */
export type UnendedStatus = "queued" | "running" | "interrupted" | "waiting";

/** The reason why a run is `incomplete`. */
export type StopReason = "turns" | "consent";

/** The ending of a run in which an action lacked approval, and the state of a run that is parked. */
export const LACKS_APPROVAL = { status: "incomplete", stopReason: "consent" } as const;

/** A fault in an event: a sentence, its kind, that of the failure of a model, and the stack for a developer. */
export type Fault = {
  type: ErrorType;
  message: string;
  kind?: ModelErrorKind | undefined;
  stack?: string | undefined;
};

/** The ending of one run, and what it used. */
export type RunOutcome = {
  status: RunStatus;
  stopReason: StopReason | undefined;
  /** The final text, or what there was when the run was stopped. */
  text: string;
  /** The parsed answer when the agent has an output schema and gave a valid one. */
  output?: unknown;
  fault: Fault | undefined;
  turns: number;
  toolCount: number;
  /** This run alone; the runs below it have their own. */
  usage: Usage;
  /** This run alone; null when a price is unknown. */
  costUsd: number | null;
  /** Whole milliseconds. */
  durationMs: number;
};

/** True for a run that failed because its model takes no more calls for now. */
export function isForRate(fault: { readonly kind?: string | undefined } | undefined): boolean {
  return fault?.kind === "rate_limit" || fault?.kind === "overloaded";
}

/** True for the two endings whose text is a usable result. */
export function isSuccess(outcome: Pick<RunOutcome, "status">): boolean {
  return OUTCOMES[outcome.status].success;
}

/** Tells the kind of error of a run without a usable result, in the closed set of words; undefined when it has one. */
export function errorTypeOf(outcome: Pick<RunOutcome, "status" | "fault">): ErrorType | undefined {
  if (isSuccess(outcome)) return undefined;
  if (outcome.fault !== undefined) return outcome.fault.type;
  return OUTCOMES[outcome.status].errorType;
}

/** The status of a run that could not begin or continue, by the reason for it. */
export function statusOfRefusal(type: ErrorType): RunStatus {
  return type === "quota" ? "budget_exceeded" : type === "cancelled" ? "cancelled" : "failed";
}

/** The word for reports, logs and metrics: `complete`, `incomplete`, else the outcome's own. */
export function completionStatus(status: RunStatus): string {
  return OUTCOMES[status].reported;
}
