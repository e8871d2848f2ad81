/** What a headless run ends with: its exit code, and the sentence a person reads on stderr. */

import { MissingKey, ModelError, messageOf, StoreError } from "../../core/errors.ts";
import { type RunResult, withoutRun } from "../../core/runtime.ts";
import { describeInput } from "../describe-call.ts";
import { EXIT, exitCodeOf, isTokenLimit } from "../exit-codes.ts";
import { plural } from "../figures.ts";
import { inertLine } from "../inert.ts";
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
  return withoutRun("failed", { type: code === EXIT.failed ? "crash" : "invalid_input", message });
}

export type EndingFacts = {
  /** The signal that stopped it. */
  stoppedBy: string | undefined;
  /** It can be gone on with. */
  isKept: boolean;
};

/** One sentence with cause and remedy; undefined when all is well. */
export function endingSentence(result: RunResult, { stoppedBy, isKept }: EndingFacts): string | undefined {
  const message = inertLine(result.error?.message ?? "");
  switch (result.status) {
    case "completed":
      return undefined;
    case "incomplete":
      return result.stopReason === "consent" ? consentSentence(result.denied) : TURNS;
    case "cancelled": {
      const resume = isKept && result.runId !== "" ? ` Go on with it: sous resume ${result.runId}` : "";
      return `stopped${stoppedBy === undefined ? "" : ` by ${stoppedBy}`}: ${message}.${resume}`;
    }
    case "budget_exceeded":
      return `error: ${message}. ${whatThereIs(result)} ${moreOf(message, isKept ? result.runId : "")}`.trimEnd();
    case "timeout":
      return `error: ${message}. ${whatThereIs(result)} --timeout allows more.`;
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

/** The option that sets the limit which bit. `keptRun` is the id of the run, if it can be continued. */
function moreOf(message: string, keptRun: string): string {
  if (message.startsWith("Cost limit")) return "--budget allows more.";
  if (!isTokenLimit(message)) return "";
  return keptRun === ""
    ? "--max-tokens-total allows more."
    : `--max-tokens-total allows more, and ${raisedResume(keptRun)} continues this run.`;
}

/** How a stored run is continued with a larger limit of tokens. */
export function raisedResume(runId: string): string {
  return `sous resume ${runId} --budget +TOKENS`;
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
  return `error: ${actions} needed consent and nobody was there: ${shown.join(", ")}${more}. --allow 'tool(pattern)' allows some, --yes all that no rule denies.`;
}
