/** `sous resume`: continues a stored run after a crash or a stop. What is finished is not done again. */

import { ModelError } from "../../core/errors.ts";
import type { RunResult } from "../../core/runtime.ts";
import { assembleStored } from "../assemble-stored.ts";
import { type DatabaseFlags, findDatabase, sameDatabase } from "../database-place.ts";
import { EXIT, exitCodeOf, usageError } from "../exit-codes.ts";
import { folderNote, isElsewhere } from "../find-run.ts";
import { thisFolder } from "../folders.ts";
import { inert, inertLine } from "../inert.ts";
import { catchInterrupts } from "../interrupts.ts";
import { warnOfLoss } from "../keep-runs.ts";
import { raisedResume, raiseOf } from "../more-of-limit.ts";
import { openRuns } from "../open-runs.ts";
import { DISPLAY_OPTIONS, readColor, readOptions, readWhole, refusePositionals } from "../options.ts";
import { openOutput, printJson, tell } from "../output.ts";
import { RUN_OPTIONS, readMoney, readRunFlags } from "../run-flags.ts";
import { resultJson } from "../run-json.ts";
import { treeLines } from "../tree.ts";
import { watchRun } from "../watch-run.ts";
import { chooseRun, goOn, type ResumePlace, type Way } from "./resume-stored.ts";
import { endingSentence } from "./run-ending.ts";
import { openRunLog, overheard } from "./run-log.ts";

const COMMAND = "sous resume";

const OPTIONS = {
  ...DISPLAY_OPTIONS,
  last: { type: "boolean", default: false },
  here: { type: "boolean", default: false },
  fork: { type: "boolean", default: false },
  at: { type: "string" },
  "add-budget": { type: "string" },
  "add-tokens": { type: "string" },
  "db-path": { type: "string" },
  "require-store": RUN_OPTIONS["require-store"],
  config: RUN_OPTIONS.config,
  bare: RUN_OPTIONS.bare,
  tools: RUN_OPTIONS.tools,
  "deny-tools": RUN_OPTIONS["deny-tools"],
  "no-delegate": RUN_OPTIONS["no-delegate"],
  allow: RUN_OPTIONS.allow,
  yes: RUN_OPTIONS.yes,
  "max-turns": RUN_OPTIONS["max-turns"],
  timeout: RUN_OPTIONS.timeout,
  quiet: RUN_OPTIONS.quiet,
  verbose: RUN_OPTIONS.verbose,
  "log-format": RUN_OPTIONS["log-format"],
  "log-level": RUN_OPTIONS["log-level"],
  "log-file": { type: "string" },
  json: { type: "boolean", default: false },
} as const;

export async function resume(parameters: readonly string[]): Promise<number> {
  refuseNewLimits(parameters);
  const { values, positionals } = readOptions(COMMAND, parameters, OPTIONS);
  const [given, ...rest] = values.last ? ["last", ...positionals] : positionals;
  refusePositionals(COMMAND, rest);
  const flags = readRunFlags(values);
  const typed = { dbPath: flags.keep.dbPath, configFile: flags.configFile };
  const way: Way = {
    isFork: values.fork,
    at: values.at === undefined ? undefined : readWhole("at", values.at, 0),
    moreTokens: values["add-tokens"] === undefined ? undefined : readWhole("add-tokens", values["add-tokens"], 1),
    moreUsd: values["add-budget"] === undefined ? undefined : readMoney("add-budget", values["add-budget"]),
    seconds: flags.limits.seconds,
    maxTurns: flags.limits.maxTurns,
  };
  if (way.at !== undefined && !way.isFork)
    throw usageError("--at requires --fork: without it a run continues from its last turn");
  const display = { color: readColor(values.color), isAscii: values.ascii };
  const progress = openOutput(process.stderr, display);
  using interrupt = catchInterrupts();
  const place = { cwd: process.cwd(), env: process.env };
  await using store = await openRuns(await findDatabase(typed, place), "write");
  const search: ResumePlace = {
    cwd: thisFolder(),
    elsewhere: values.here ? "take" : "refuse",
    again: (id, ...options) => `${[COMMAND, inertLine(id, 60), ...options].join(" ")}${sameDatabase(typed)}`,
  };
  const stored = await chooseRun(store, given, way, search);
  const file = values["log-file"];
  const optionFiles = file === undefined ? [] : [file];
  await using assembled = await assembleStored({ ...stored, store }, { flags, ...place, optionFiles });
  const note = folderNote(stored.record, search);
  if (note !== undefined) tell(note);
  using log = await openRunLog({ flags: flags.log, file, env: process.env, enabled: assembled.isLogged });
  const isShown = !flags.log.isQuiet && !(log?.isOnStderr === true && flags.log.format === "json");
  // A live region and the lines of a log would draw over each other.
  const style = log?.isOnStderr === true ? { ...progress.style, isLive: false } : progress.style;
  const runtime = overheard(assembled.runtime, log?.onEvent);
  const { result, tree, cause } = await watchRun({
    clock: assembled.clock,
    style: isShown ? style : undefined,
    earlier: way.isFork ? [] : stored.events,
    start: (onEvent) => goOn({ ...assembled, runtime }, stored, way, { onEvent, signal: interrupt.signal }),
  });
  log?.settle(result.lost === undefined);
  if (values.json) printJson(resultJson(result));
  else if (result.text !== "") openOutput(process.stdout, display).printText(inert(result.text));
  if (isShown) progress.print(["", ...treeLines(tree, progress.columns, progress.style)]);
  // A copy belongs to the folder in which it was made.
  const isHere = !way.isFork && isElsewhere(stored.record, search.cwd);
  const facts = { stoppedBy: interrupt.reason(), isKept: result.lost === undefined, flags: typed };
  const sentence = raisedSentence(result, typed, isHere) ?? endingSentence(result, facts);
  if (sentence !== undefined) tell(sentence);
  if (result.lost !== undefined && result.error?.type !== "store") warnOfLoss(result.lost);
  const isKeyWrong = cause instanceof ModelError && cause.kind === "auth";
  return isKeyWrong ? EXIT.key : exitCodeOf(result, interrupt.exitCode());
}

/** The limits of a new run: a person who types them here wants more, or less, than the run has. */
function refuseNewLimits(parameters: readonly string[]): void {
  const [option] = parameters.flatMap((word) => /^--(?:budget|max-tokens-total)(?==|$)/.exec(word) ?? []);
  if (option === undefined) return;
  throw usageError(
    `${COMMAND} has no option ${option}: a run that continues has its own limits. --add-budget USD raises its money, --add-tokens N its tokens.`,
  );
}

/** Only what `sous resume` can raise: its limits of tokens, money and time. */
function raisedSentence({ error, runId, lost }: RunResult, typed: DatabaseFlags, isHere: boolean): string | undefined {
  const raise = error === undefined || lost !== undefined ? undefined : raiseOf(error.message);
  if (error === undefined || raise === undefined) return undefined;
  const added = isHere ? `${raise.added} --here` : raise.added;
  return `error: ${inertLine(error.message)}. Continue with more: ${raisedResume(runId, { ...raise, added }, typed)}`;
}
