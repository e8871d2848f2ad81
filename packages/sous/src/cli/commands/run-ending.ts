/** What a headless run ends with: its exit code, and the sentence a person reads on stderr. */

import { MissingKey, ModelError, messageOf, StoreError, UserError } from "../../core/errors.ts";
import { type RunResult, withoutRun } from "../../core/runtime.ts";
import { type DatabaseFlags, sameDatabase } from "../database-place.ts";
import { describeInput } from "../describe-call.ts";
import { CommandError, EXIT, exitCodeOf } from "../exit-codes.ts";
import { plural } from "../figures.ts";
import { inertLine } from "../inert.ts";
import { raisedResume, raiseOf } from "../more-of-limit.ts";
import { exitCodeFor } from "../report-error.ts";

/** How a run came to its end. */
export type Ended = {
  result: RunResult;
  /** What was thrown when it failed. */
  cause: unknown;
};

/** `whenCancelled` says what stopped it. */
export function exitCodeOfEnded({ result, cause }: Ended, whenCancelled: number): number {
  return result.status === "failed" && isAboutKey(cause) ? EXIT.key : exitCodeOf(result, whenCancelled);
}

function isAboutKey(cause: unknown): boolean {
  return cause instanceof MissingKey || (cause instanceof ModelError && cause.kind === "auth");
}

/** The closed set of error types has no word of its own for what happens before a run. */
export function failureBefore(error: unknown): RunResult {
  const message = messageOf(error);
  const code = exitCodeFor(error);
  if (code === EXIT.key) return withoutRun("failed", { type: "model", message });
  if (error instanceof StoreError) return withoutRun("failed", { type: "store", message });
  const isMistake = code !== EXIT.failed || error instanceof UserError || error instanceof CommandError;
  return withoutRun("failed", { type: isMistake ? "invalid_input" : "crash", message });
}

export type EndingFacts = {
  /** The signal that stopped it. */
  stoppedBy: string | undefined;
  /** It can be continued. */
  isKept: boolean;
  /** What was typed about its database. */
  flags: DatabaseFlags;
};

/** One sentence with cause and remedy; undefined when all is well. */
export function endingSentence(result: RunResult, facts: EndingFacts): string | undefined {
  const { stoppedBy, isKept, flags } = facts;
  const message = inertLine(result.error?.message ?? "");
  switch (result.status) {
    case "completed":
      return undefined;
    case "incomplete":
      return result.stopReason === "consent" ? consentSentence(result.denied) : TURNS;
    case "cancelled": {
      const command = `sous resume ${result.runId}${sameDatabase(flags)}`;
      const resume = isKept && result.runId !== "" ? ` Continue it: ${command}` : "";
      return `stopped${stoppedBy === undefined ? "" : ` by ${stoppedBy}`}: ${message}.${resume}`;
    }
    case "budget_exceeded":
    case "timeout":
      return `error: ${message}. ${whatThereIs(result)} ${moreOf(message, result.runId, facts)}`.trimEnd();
    case "refused":
    case "failed":
      return `error: ${message}`;
    default:
      return result.status satisfies never;
  }
}

function whatThereIs({ text }: RunResult): string {
  return text.trim() === "" ? "There is no answer." : "The answer may not be complete.";
}

/** The option that sets the limit which was reached, and for a stored run the command that continues it with more. */
function moreOf(message: string, runId: string, { isKept, flags }: EndingFacts): string {
  const raise = raiseOf(message);
  if (raise === undefined) return "";
  if (!isKept || runId === "") return `${raise.option} allows more.`;
  return `${raise.option} allows more. Continue this run: ${raisedResume(runId, raise, flags)}`;
}

const TURNS = "warning: the run is out of turns, so its answer is not complete: --max-turns allows more";

const MOST_SHOWN = 5;

function consentSentence(denied: RunResult["denied"]): string {
  const shown = denied.slice(0, MOST_SHOWN).map(({ path, toolName, input }) => {
    const what = describeInput(input);
    return `${inertLine(toolName, 60)}${what === "" ? "" : ` ${what}`} (${inertLine(path, 120)})`;
  });
  const more = denied.length > MOST_SHOWN ? `, and ${denied.length - MOST_SHOWN} more` : "";
  const actions = plural(denied.length, "action");
  return `error: ${actions} needed consent and no one could be asked: ${shown.join(", ")}${more}. --allow 'tool(pattern)' allows some, --yes all that no rule denies.`;
}
