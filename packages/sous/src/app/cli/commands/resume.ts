/** `sous resume`: continues a stored run after a crash or a stop, in its own tree or in a copy. What is finished is not done again. */

import type { AgentDefinition } from "../../../core/agent.ts";
import { toAnswerKey } from "../../../core/approval.ts";
import type { EventOf } from "../../../core/event.ts";
import type { Budget } from "../../../core/limits.ts";
import type { ResumeOptions, RunHandle, RunResult } from "../../../core/runtime.ts";
import { DamageError, type RunRecord, type Store } from "../../../core/store.ts";
import { fromStored, secondsToMs } from "../../../core/units.ts";
import type { EarlierTree } from "../../../runtime/tree/restore/earlier-tree.ts";
import { assembleStored, type StoredAssembly } from "../application/stored.ts";
import { CommandError, usageError } from "../exit-codes.ts";
import { processContext, thisFolder } from "../files/paths.ts";
import { endingSentence, exitCodeOfRun, raiseOf } from "../run/ending.ts";
import { openRunLog } from "../run/log.ts";
import { answerLater, answersOf } from "../run/questions.ts";
import { progressStyle, watchRun } from "../run/watch.ts";
import { damageSentence } from "../stored/damage.ts";
import {
  type DatabaseFlags,
  databaseFlags,
  findDatabase,
  openRuns,
  resumeCommand,
  warnOfLoss,
} from "../stored/database.ts";
import { findRun, folderNote, isElsewhere, type RunSearch } from "../stored/find-run.ts";
import { resultJson } from "../stored/run-json.ts";
import { readOptions, refusePositionals } from "../table/options.ts";
import { RESUME } from "../table/run-entries.ts";
import { readRunFlags } from "../table/run-flags.ts";
import { catchInterrupts, openUnlessInterrupted } from "../terminal/interrupts.ts";
import { openOutput, printJson, tell } from "../terminal/output.ts";
import { inert, inertLine } from "../terminal/text.ts";
import { treeLines } from "../view/tree-lines.ts";

const COMMAND = "sous resume";

export async function resume(parameters: readonly string[]): Promise<number> {
  refuseNewLimits(parameters);
  const { values, positionals } = readOptions(RESUME, parameters);
  const [given, ...rest] = values.last ? ["last", ...positionals] : positionals;
  refusePositionals(COMMAND, rest);
  const flags = readRunFlags(values);
  const typed = databaseFlags(flags);
  const how: Continuation = {
    isFork: values.fork,
    at: values.at,
    moreTokens: values["add-tokens"],
    moreUsd: values["add-budget"],
    seconds: values.timeout,
    maxTurns: flags.maxTurns,
  };
  const typedAnswers = { approve: values.approve ?? [], deny: values.deny ?? [] };
  const isAnswered = typedAnswers.approve.length + typedAnswers.deny.length > 0;
  if (isAnswered && how.isFork)
    throw usageError("--approve and --deny answer the questions of the run itself, and not of a copy");
  if (how.at !== undefined && !how.isFork)
    throw usageError("--at requires --fork: without it a run continues from its last turn");
  const progress = openOutput(process.stderr, values);
  using interrupt = catchInterrupts();
  const context = processContext();
  await using store = await openRuns(await findDatabase(typed, context), "write");
  const search: ResumeSearch = {
    cwd: thisFolder(),
    elsewhere: values.here ? "take" : "refuse",
    again: (id, ...options) => resumeCommand(id, typed, ...options),
    flags: typed,
  };
  const stored = await chooseRun(store, given, how, search);
  const file = values["log-file"];
  const open = stored.earlier.questions.list();
  const isUnnamed = given === undefined || given === "last";
  const isBare = typedAnswers.approve.some((key) => toAnswerKey(key).digest === undefined);
  if (isBare && isUnnamed) await refuseIfSeveralWait(store, search);
  const answers = isAnswered ? answersOf(typedAnswers, open) : {};
  const hasNoQuestions = isAnswered && open.length === 0;
  if (hasNoQuestions && isUnnamed) await refuseIfAnotherWaits(store, search, stored.record);
  // One answer is none to the other questions: those stay open.
  const ask = values.park || isAnswered ? answerLater : undefined;
  const request = { flags, ...context, ask, optionFiles: [file], signal: interrupt.signal };
  await using assembled = await openUnlessInterrupted(assembleStored({ ...stored, store }, request), interrupt);
  const note = folderNote(stored.record, search);
  if (note !== undefined) tell(note);
  if (hasNoQuestions) tell(`Run ${inertLine(stored.record.id, 60)} has no open questions to answer; it continues.`);
  using log = await openRunLog({ flags: flags.log, file, env: process.env, enabled: assembled.isLogged });
  const style = progressStyle(progress.style, flags.log, log);
  const { result, tree } = await watchRun({
    clock: assembled.clock,
    style,
    earlier: how.isFork ? [] : stored.earlier.events,
    start: (show) => {
      const onEvent = log === undefined ? show : [log.onEvent, show];
      return continueRun(assembled, stored, { ...how, answers }, { onEvent, signal: interrupt.signal });
    },
  });
  log?.settle(result.lost === undefined);
  if (values.json) printJson(resultJson(result));
  else if (result.text !== "") openOutput(process.stdout, values).printText(inert(result.text));
  if (style !== undefined) progress.print(["", ...treeLines(tree, progress.columns, progress.style)]);
  // A copy belongs to the folder in which it was made.
  const isHere = !how.isFork && isElsewhere(stored.record, search.cwd);
  const facts = { stoppedBy: interrupt.reason(), isStored: result.lost === undefined, flags: typed };
  const sentence = raisedSentence(result, typed, isHere) ?? endingSentence(result, facts);
  if (sentence !== undefined) tell(sentence);
  warnOfLoss(result);
  return exitCodeOfRun(result, interrupt.exitCode());
}

/** Questions of different runs can have one id: a yes with neither its run nor its digest could be one to another question. */
async function refuseIfSeveralWait(store: Store, search: ResumeSearch): Promise<void> {
  const waiting = await waitingRuns(store, search);
  if (waiting.length > 1) throw unclear("Several runs of this folder wait for an answer", waiting, search);
}

/** An answer that was typed without a run may be meant for the one that waits: another one is not continued in its place. */
async function refuseIfAnotherWaits(store: Store, search: ResumeSearch, chosen: RunRecord): Promise<void> {
  const waiting = await waitingRuns(store, search);
  const what = `Run ${inertLine(chosen.id, 60)} has no open questions, and another run of this folder waits for an answer`;
  if (waiting.length > 0) throw unclear(what, [chosen, ...waiting], search);
}

function waitingRuns(store: Store, { cwd }: ResumeSearch): Promise<RunRecord[]> {
  return store.list({ cwd, status: "waiting", rootsOnly: true, limit: MAX_NAMED });
}

function unclear(what: string, runs: readonly RunRecord[], { again }: ResumeSearch): CommandError {
  const commands = runs.map(({ id, task }) => `  ${again(inertLine(id, 60))}  ${JSON.stringify(inertLine(task, 60))}`);
  return new CommandError(`${what}. Name the one that you mean:\n${commands.join("\n")}`);
}

/** Max runs that a sentence names. */
const MAX_NAMED = 10;

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
  const command = resumeCommand(runId, typed, raise.added, ...(isHere ? ["--here"] : []));
  return `error: ${inertLine(error.message)}. Continue with more: ${command}`;
}

/** The changes that are asked for; undefined is "as it was". */
export type Continuation = {
  isFork: boolean;
  at: number | undefined;
  moreTokens: number | undefined;
  moreUsd: number | undefined;
  /** The time limit from now on, however long the run took before. */
  seconds: number | undefined;
  maxTurns: number | undefined;
  /** The answers to its open questions. */
  answers?: ResumeOptions["answers"];
};

type ResumeSearch = Pick<RunSearch, "cwd" | "elsewhere"> & {
  /** The command that continues another run of the same database. */
  again(id: string, ...options: string[]): string;
  /** The options that find the same database. */
  readonly flags?: DatabaseFlags | undefined;
};

/** `start` is that of the run to continue, or to copy. */
type StoredRun = { record: RunRecord; earlier: EarlierTree; start: EventOf<"run-start"> };

/** The run that is meant, with its tree. Throws a `UserError` or a `CommandError` when the command line cannot continue it. */
export async function chooseRun(
  store: Store,
  given: string | undefined,
  how: Continuation,
  search: ResumeSearch,
): Promise<StoredRun> {
  const { again, flags } = search;
  const [{ EarlierTree }, { noBeginning, refuseChild, refuseCompleted }] = await Promise.all([
    import("../../../runtime/tree/restore/earlier-tree.ts"),
    import("../../../runtime/tree/restore/refusals.ts"),
  ]);
  const trees = new Map<string, EarlierTree>();
  const isWhole = async (found: RunRecord): Promise<boolean> => {
    const { rootId } = found;
    try {
      if (!trees.has(rootId)) trees.set(rootId, await EarlierTree.read(store, rootId));
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
      found.damage ??= error.message;
    }
    return found.damage === undefined;
  };
  const passedOver = new Set<RunRecord>();
  const record = await findRun(store, given, {
    ...search,
    takenBy: (other) => again(other, "--here"),
    async isPassedOver(found) {
      if (!(await isWhole(found))) passedOver.add(found);
      return passedOver.has(found);
    },
  });
  const id = inertLine(record.id, 60);
  passedOver.delete(record);
  for (const each of passedOver)
    tell(`Run ${inertLine(each.id, 60)} is passed over for ${id}. ${damageSentence(each, flags)}`);
  refuseChild({ ...record, id, rootId: inertLine(record.rootId, 60) }, again(record.rootId));
  const earlier = (await isWhole(record)) ? trees.get(record.rootId) : undefined;
  if (earlier === undefined) throw new CommandError(`Run ${id}: ${damageSentence(record, flags)}`);
  const start = (how.isFork ? earlier.run(record.id) : earlier.root)?.state.start;
  if (start === undefined) throw noBeginning(id);
  if (!how.isFork) refuseCompleted(id, earlier.root.state, again(start.runId, "--fork"));
  if (how.moreTokens !== undefined && start.budget?.tokens === undefined)
    throw new CommandError(`Run ${id} has no limit of tokens that --add-tokens could raise`);
  if (how.moreUsd !== undefined && start.budget?.costUsd === undefined)
    throw new CommandError(`Run ${id} has no limit of money that --add-budget could raise`);
  return { record, earlier, start };
}

export function continueRun(
  { runtime, agent }: Pick<StoredAssembly, "runtime" | "agent">,
  stored: StoredRun,
  how: Continuation,
  watch: Pick<ResumeOptions, "onEvent" | "signal">,
): RunHandle {
  const { record, start, earlier } = stored;
  const { maxTurns = agent.maxTurns } = how;
  if (how.isFork) {
    const budget = budgetOfFork(start.budget && fromStored(start.budget), how);
    const options = { agent: agent.with({ maxTurns }), afterTurn: how.at, ...watch, budget };
    return runtime.fork(record.id, options, earlier);
  }
  const time = timeFor(stored, agent, how.seconds);
  const addBudget = { tokens: how.moreTokens ?? 0, costUsd: how.moreUsd ?? 0, durationMs: time.moreMs };
  const resumed = agent.with({ maxTurns, timeoutMs: time.timeoutMs });
  return runtime.resume(record.id, { agent: resumed, ...watch, addBudget, answers: how.answers }, earlier);
}

/** A copy has spent nothing yet, and used no time. */
function budgetOfFork(
  budget: Budget | undefined,
  { moreTokens = 0, moreUsd = 0, seconds }: Continuation,
): Budget | undefined {
  const tokens = budget?.tokens === undefined ? undefined : budget.tokens + moreTokens;
  const costUsd = budget?.costUsd === undefined ? undefined : budget.costUsd + moreUsd;
  return { ...budget, tokens, costUsd, durationMs: seconds === undefined ? budget?.durationMs : secondsToMs(seconds) };
}

/** The limits of a run count from its very beginning; what is typed counts from now. */
function timeFor({ earlier, start }: StoredRun, agent: AgentDefinition, seconds: number | undefined) {
  if (seconds === undefined) return { timeoutMs: agent.timeoutMs, moreMs: 0 };
  const { end, usedMs } = earlier.root.state;
  const timeoutMs = Math.ceil((end === undefined ? usedMs : 0) + seconds * 1000);
  const limitMs = start.budget && fromStored(start.budget).durationMs;
  if (limitMs === undefined) return { timeoutMs, moreMs: 0 };
  let endedMs = 0;
  for (const { state } of earlier.runs)
    if (state.start.agentId === start.agentId) endedMs += state.end?.durationMs ?? 0;
  return { timeoutMs, moreMs: endedMs + timeoutMs - limitMs };
}
