/** `sous resume`: continues a stored run after a crash or a stop. What is finished is not done again. */

import type { RunResult } from "../../core/runtime.ts";
import { assembleStored } from "../application/stored.ts";
import { usageError } from "../exit-codes.ts";
import { thisFolder } from "../files/paths.ts";
import { chooseRun, goOn, type ResumePlace, type Way } from "../run/continue.ts";
import { endingSentence, exitCodeOfRun, raisedResume, raiseOf } from "../run/ending.ts";
import { openRunLog, overheard } from "../run/log.ts";
import { watchRun } from "../run/watch.ts";
import { type DatabaseFlags, findDatabase, openRuns, sameDatabase, warnOfLoss } from "../stored/database.ts";
import { folderNote, isElsewhere } from "../stored/find-run.ts";
import { resultJson } from "../stored/run-json.ts";
import { readOptions, readWhole, refusePositionals } from "../table/options.ts";
import { RESUME } from "../table/run-entries.ts";
import { readMoney, readRunFlags } from "../table/run-flags.ts";
import { inert, inertLine } from "../terminal/inert.ts";
import { catchInterrupts } from "../terminal/interrupts.ts";
import { openOutput, printJson, tell } from "../terminal/output.ts";
import { treeLines } from "../view/tree-lines.ts";

const COMMAND = "sous resume";

export async function resume(parameters: readonly string[]): Promise<number> {
  refuseNewLimits(parameters);
  const { values, positionals } = readOptions(RESUME, parameters);
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
  const display = { color: values.color, isAscii: values.ascii };
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
  const { result, tree } = await watchRun({
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
  return exitCodeOfRun(result, interrupt.exitCode());
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
