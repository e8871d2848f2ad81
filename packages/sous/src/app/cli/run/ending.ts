/** Says in one sentence how a run ended, with the command that continues it. */

import { readMcpName } from "../../../core/mcp-names.ts";
import { isForRate } from "../../../core/outcome.ts";
import type { RunResult } from "../../../core/runtime.ts";
import { endingRow, OUTCOMES } from "../../../core/words/outcomes.ts";
import { kindOf, readAction } from "../../../runtime/rights/action.ts";
import { EXIT, exitCodeOf } from "../exit-codes.ts";
import { type DatabaseFlags, resumeCommand } from "../stored/database.ts";
import { inertLine, plural } from "../terminal/text.ts";
import { describeInput } from "../view/plain-lines.ts";
import { questionsSentence } from "./questions.ts";

/** The exit code of a run that began; `whenCancelled` says what stopped it. */
export function exitCodeOfRun(result: RunResult, whenCancelled: number): number {
  return result.error?.kind === "auth" ? EXIT.key : exitCodeOf(result, whenCancelled);
}

export type EndingFacts = {
  /** The signal that stopped it. */
  stoppedBy?: string | undefined;
  /** It can be continued. */
  isStored: boolean;
  /** The options about its database. */
  flags: DatabaseFlags;
};

/** One sentence with cause and remedy; undefined when all is well. */
export function endingSentence(result: RunResult, facts: EndingFacts): string | undefined {
  const { stoppedBy, isStored, flags } = facts;
  const message = inertLine(result.error?.message ?? "");
  const { kind } = OUTCOMES[result.status];
  switch (kind) {
    case "done":
      return rateSentence(result);
    case "partial":
      if (result.questions.length > 0) return questionsSentence(result.questions, result.runId, flags);
      return partialSentence(result);
    case "stopped": {
      const resume = isStored && result.runId !== "" ? ` Continue it: ${resumeCommand(result.runId, flags)}` : "";
      return `stopped${stoppedBy === undefined ? "" : ` by ${stoppedBy}`}: ${message}.${resume}`;
    }
    case "limit":
      return `error: ${message}. ${whatThereIs(result)} ${moreOf(message, result.runId, facts)}`.trimEnd();
    case "fault":
      return `error: ${message}`;
    default:
      return kind satisfies never;
  }
}

/** Children that their model refused to the end: the answer was made without them. */
function rateSentence({ agents }: RunResult): string | undefined {
  const [first, ...others] = agents.filter(({ depth, error }) => depth > 0 && isForRate(error));
  if (first === undefined) return undefined;
  const children = agents.filter(({ depth }) => depth > 0);
  const count = `${others.length + 1} of ${plural(children.length, "child", "children")}`;
  return `warning: ${count} failed for the rate limit of the model: ${inertLine(first.path, 120)}: ${inertLine(first.error?.message ?? "")}. --require-all makes such a run fail.`;
}

function whatThereIs({ text }: RunResult): string {
  return text.trim() === "" ? "No answer was given." : "The answer may not be complete.";
}

/** The option that sets the limit which was reached, and for a stored run the command that continues it with more. */
function moreOf(message: string, runId: string, { isStored, flags }: EndingFacts): string {
  const raise = raiseOf(message);
  if (raise === undefined) return "";
  if (!isStored || runId === "") return `${raise.option} allows more.`;
  return `${raise.option} allows more. Continue this run: ${resumeCommand(runId, flags, raise.added)}`;
}

function partialSentence(result: RunResult): string {
  const { warning } = endingRow(result);
  return warning === undefined ? approvalSentence(result.denied) : `warning: ${warning}`;
}

const MAX_SHOWN = 5;

function approvalSentence(denied: RunResult["denied"]): string {
  const [ofTool] = denied.filter(({ toolReason }) => toolReason !== undefined);
  if (ofTool !== undefined) return toolSentence(ofTool, denied.length - 1);
  const shown = denied.slice(0, MAX_SHOWN).map(actionOf);
  const more = denied.length > MAX_SHOWN ? `, and ${denied.length - MAX_SHOWN} more` : "";
  const actions = plural(denied.length, "action");
  return `error: ${actions} needed consent and no one could be asked: ${shown.join(", ")}${more}. --allow '${ruleFor(denied)}' allows what no rule asks about, --yes all that no rule denies.`;
}

/** No rule answers what a tool asks by itself, and neither does `--yes`. */
function toolSentence(denied: RunResult["denied"][number], others: number): string {
  const why = inertLine(denied.toolReason ?? "", 400).replace(/\.$/, "");
  const more = others === 0 ? "" : ` ${plural(others, "other action")} needed consent too: denied of --json lists all.`;
  const server = readMcpName(denied.toolName)?.server;
  const other =
    server === undefined ? "" : `; or read the change with sous mcp check ${server}, and approve it with --approve`;
  return `error: ${actionOf(denied)} needs an answer of a person, whatever rules allow: ${why}. Use it once in sous chat, and answer the question there${other}.${more}`;
}

function actionOf({ path, toolName, input }: RunResult["denied"][number]): string {
  const what = describeInput(input);
  return `${inertLine(toolName, 60)}${what === "" ? "" : ` ${what}`} (${inertLine(path, 120)})`;
}

/** The rule that allows the first of them, where one word is enough to say it. */
function ruleFor([first]: RunResult["denied"]): string {
  if (first !== undefined && readMcpName(first.toolName) !== undefined) return inertLine(first.toolName, 64);
  if (first === undefined || kindOf(first.toolName) !== "agents") return "tool(pattern)";
  const { toolName, input } = first;
  const action = readAction({ ...NOWHERE, toolName, input });
  const [name = ""] = action.kind === "agents" ? action.names : [];
  return /^[A-Za-z0-9][\w-]{0,47}$/.test(name) ? `subagent(${name})` : "subagent";
}

const NOWHERE = { runId: "", path: "", agent: "", above: [], callId: "", cwd: "/" };

/** The option with which a stored run that reached a limit is continued. */
type Raise = {
  /** The option that sets this limit of a new run. */
  readonly option: string;
  /** The options of `sous resume` that allow enough for the step that was refused. */
  readonly added: string;
};

/** Reads the raise from the sentence of the limit, which also says how much was needed. Undefined when it is about something else. */
export function raiseOf(sentence: string): Raise | undefined {
  const [, unit, needed, limit] =
    /^(Token|Cost|Time) limit (?:exceeded|reached): \$?([\d.]{1,20})s?\/\$?([\d.]{1,20})/.exec(sentence) ?? [];
  // Twice what was refused, because the last words of the run and a longer conversation have to be paid as well.
  const more = Math.max(Number(limit), 2 * Number(needed) - Number(limit));
  switch (unit) {
    case "Token":
      return { option: "--max-tokens-total", added: `--add-tokens ${roundedUp(more, 0)}` };
    case "Cost":
      return { option: "--budget", added: `--add-budget ${roundedUp(more, 4)}` };
    case "Time":
      return moreTime(Number(limit));
    default: {
      const [, milliseconds] = /^The run timed out after ([\d.]{1,20}) ms/.exec(sentence) ?? [];
      return milliseconds === undefined ? undefined : moreTime(Number(milliseconds) / 1000);
    }
  }
}

function moreTime(seconds: number): Raise {
  return { option: "--timeout", added: `--timeout ${Math.max(1, Math.ceil(seconds))}s` };
}

/** Rounded up to two significant digits, with at most this many decimals. */
function roundedUp(given: number, decimals: number): string {
  const least = 10 ** -decimals;
  const amount = Math.max(given, least);
  const unit = Math.max(least, 10 ** (Math.floor(Math.log10(amount)) - 1));
  return Number((Math.ceil(amount / unit - 1e-9) * unit).toFixed(decimals)).toString();
}
