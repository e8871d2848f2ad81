/** `sous resume`: goes on with a kept run after a crash or a stop. What is finished is not done again. */

import { ModelError } from "../../core/errors.ts";
import type { RunResult } from "../../core/runtime.ts";
import { assembleStored } from "../assemble-stored.ts";
import { EXIT, exitCodeOf, isTokenLimit, usageError } from "../exit-codes.ts";
import { inert, inertLine } from "../inert.ts";
import { catchInterrupts } from "../interrupts.ts";
import { warnOfLoss } from "../keep-runs.ts";
import { openRuns } from "../open-runs.ts";
import { DISPLAY_OPTIONS, quoted, readColor, readOptions, readWhole, refusePositionals } from "../options.ts";
import { openOutput, printJson, tell } from "../output.ts";
import { databaseFile } from "../paths.ts";
import { RUN_OPTIONS, readRunFlags } from "../run-flags.ts";
import { resultJson } from "../run-json.ts";
import { treeLines } from "../tree.ts";
import { watchRun } from "../watch-run.ts";
import { chooseRun, goOn, type Way } from "./resume-stored.ts";
import { raisedResume } from "./run-ending.ts";

const COMMAND = "sous resume";

const OPTIONS = {
  ...DISPLAY_OPTIONS,
  last: { type: "boolean", default: false },
  fork: { type: "boolean", default: false },
  at: { type: "string" },
  budget: { type: "string" },
  "db-path": { type: "string" },
  "require-store": RUN_OPTIONS["require-store"],
  config: RUN_OPTIONS.config,
  bare: RUN_OPTIONS.bare,
  allow: RUN_OPTIONS.allow,
  yes: RUN_OPTIONS.yes,
  "max-turns": RUN_OPTIONS["max-turns"],
  timeout: RUN_OPTIONS.timeout,
  quiet: RUN_OPTIONS.quiet,
  json: { type: "boolean", default: false },
} as const;

export async function resume(parameters: readonly string[]): Promise<number> {
  const { values, positionals } = readOptions(COMMAND, parameters, OPTIONS);
  const [given, ...rest] = values.last ? ["last", ...positionals] : positionals;
  refusePositionals(COMMAND, rest);
  // Here `--budget` is about tokens, and more of them.
  const { budget: _more, ...others } = values;
  const flags = readRunFlags(others);
  const way: Way = {
    isFork: values.fork,
    at: values.at === undefined ? undefined : readWhole("at", values.at, 0),
    moreTokens: values.budget === undefined ? undefined : readMoreTokens(values.budget),
    seconds: flags.limits.seconds,
    maxTurns: flags.limits.maxTurns,
  };
  if (way.at !== undefined && !way.isFork) throw usageError("--at needs --fork: a run that goes on goes on at its end");
  const display = { color: readColor(values.color), isAscii: values.ascii };
  const progress = openOutput(process.stderr, display);
  using interrupt = catchInterrupts();
  await using store = await openRuns(databaseFile(values["db-path"], process.env), "write");
  const stored = await chooseRun(store, given, way);
  await using assembled = await assembleStored({ ...stored, store }, { flags, cwd: process.cwd(), env: process.env });
  const { result, tree, cause } = await watchRun({
    clock: assembled.clock,
    style: flags.log.isQuiet ? undefined : progress.style,
    earlier: way.isFork ? [] : stored.events,
    start: (onEvent) => goOn(assembled, stored, way, { onEvent, signal: interrupt.signal }),
  });
  if (values.json) printJson(resultJson(result));
  else if (result.text !== "") openOutput(process.stdout, display).printText(inert(result.text));
  if (!flags.log.isQuiet) progress.print(["", ...treeLines(tree, progress.columns, progress.style)]);
  if (result.error !== undefined) tell(`error: ${inertLine(result.error.message)}${howToRaise(result)}`);
  else if (result.lost !== undefined) warnOfLoss(result.lost);
  const isKeyWrong = cause instanceof ModelError && cause.kind === "auth";
  return isKeyWrong ? EXIT.key : exitCodeOf(result, interrupt.exitCode());
}

function readMoreTokens(given: string): number {
  if (!/^\+?[1-9]\d{0,14}$/.test(given))
    throw usageError(`--budget is a number of tokens to add, such as +20000; found ${quoted(given)}`);
  return Number(given);
}

function howToRaise({ error, runId }: RunResult): string {
  return error !== undefined && isTokenLimit(error.message) ? `. ${raisedResume(runId)} allows more.` : "";
}
