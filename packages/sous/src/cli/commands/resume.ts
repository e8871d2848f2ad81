/** `sous resume`: goes on with a kept run after a crash or a stop. What is finished is not done again. */

import { ModelError } from "../../core/errors.ts";
import type { EventListener, EventOf, StoredEvent } from "../../core/event.ts";
import type { RunResult } from "../../core/runtime.ts";
import type { RunRecord, Store } from "../../core/store.ts";
import { assembleStored, type StoredAssembly } from "../assemble-stored.ts";
import { CommandError, EXIT, exitCodeOf, usageError } from "../exit-codes.ts";
import { findRun } from "../find-run.ts";
import { inert, inertLine } from "../inert.ts";
import { catchInterrupts } from "../interrupts.ts";
import { warnOfLoss } from "../keep-runs.ts";
import { openRuns } from "../open-runs.ts";
import { DISPLAY_OPTIONS, readColor, readOptions, readWhole, refusePositionals } from "../options.ts";
import { openOutput, printJson, tell } from "../output.ts";
import { databaseFile } from "../paths.ts";
import { RUN_OPTIONS, readRunFlags } from "../run-flags.ts";
import { resultJson } from "../run-json.ts";
import { treeLines } from "../tree.ts";
import { watchRun } from "../watch-run.ts";

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
  json: { type: "boolean", default: false },
} as const;

export async function resume(parameters: readonly string[]): Promise<number> {
  const { values, positionals } = readOptions(COMMAND, parameters, OPTIONS);
  const [given, ...rest] = values.last ? ["last", ...positionals] : positionals;
  refusePositionals(COMMAND, rest);
  const way: Way = {
    isFork: values.fork,
    at: values.at === undefined ? undefined : readWhole("at", values.at, 0),
    moreTokens: values.budget === undefined ? undefined : readWhole("budget", values.budget.replace(/^\+/, ""), 1),
  };
  if (way.at !== undefined && !way.isFork) throw usageError("--at needs --fork: a run that goes on goes on at its end");
  const display = { color: readColor(values.color), isAscii: values.ascii };
  const progress = openOutput(process.stderr, display);
  using interrupt = catchInterrupts();
  await using store = await openRuns(databaseFile(values["db-path"], process.env), "write");
  const stored = await chooseRun(store, given, way);
  // Here `--budget` is about tokens, and more of them.
  const { budget: _more, ...others } = values;
  const flags = readRunFlags(others);
  await using assembled = await assembleStored({ ...stored, store }, { flags, cwd: process.cwd(), env: process.env });
  const { result, tree, cause } = await watchRun({
    clock: assembled.clock,
    style: progress.style,
    earlier: way.isFork ? [] : stored.events,
    start: (onEvent) => goOn(assembled, stored, way, { onEvent, signal: interrupt.signal }),
  });
  if (values.json) printJson(resultJson(result));
  else if (result.text !== "") openOutput(process.stdout, display).printText(inert(result.text));
  progress.print(["", ...treeLines(tree, progress.columns, progress.style)]);
  if (result.error !== undefined) tell(`error: ${inertLine(result.error.message)}`);
  else if (result.lost !== undefined) warnOfLoss(result.lost);
  const isKeyWrong = cause instanceof ModelError && cause.kind === "auth";
  return isKeyWrong ? EXIT.key : exitCodeOf(result, interrupt.exitCode());
}

type Way = { isFork: boolean; at: number | undefined; moreTokens: number | undefined };
type StoredRun = { record: RunRecord; events: readonly StoredEvent[]; start: EventOf<"run-start"> };

/** The run that is meant, with what is known of it. Throws a `CommandError` when the command line cannot go on with it. */
async function chooseRun(store: Store, given: string | undefined, way: Way): Promise<StoredRun> {
  const record = given === undefined ? await lastInterrupted(store) : await findRun(store, given);
  const id = inertLine(record.id, 60);
  if (record.parentId !== null)
    throw new CommandError(
      `Run ${id} is a child, and a tree goes on as a whole: ${COMMAND} ${inertLine(record.rootId, 60)}`,
    );
  if (record.status === "completed" && !way.isFork)
    throw new CommandError(
      `Run ${id} has completed. To go on from one of its turns in a copy: ${COMMAND} ${id} --fork`,
    );
  const events = await store.read(record.rootId);
  const start = events.findLast(
    (event) => event.type === "run-start" && (way.isFork ? event.runId === record.id : event.parentId === null),
  );
  if (start?.type !== "run-start") throw new CommandError(`Run ${id} has no beginning in this database`);
  if (way.moreTokens !== undefined && start.budget?.tokens === undefined)
    throw new CommandError(`Run ${id} has no limit of tokens that --budget could raise`);
  return { record, events, start };
}

async function lastInterrupted(store: Store): Promise<RunRecord> {
  const [newest] = await store.list({ rootsOnly: true, status: "interrupted", limit: 1 });
  if (newest !== undefined) return newest;
  throw new CommandError(
    `No run was interrupted. ${COMMAND} ID goes on with one that was stopped; sous replay --list shows them.`,
  );
}

function goOn(
  { runtime, agent }: StoredAssembly,
  { record, start }: StoredRun,
  { isFork, at, moreTokens: tokens = 0 }: Way,
  watch: { onEvent: EventListener; signal: AbortSignal },
): PromiseLike<RunResult> {
  if (!isFork) return runtime.resume(record.id, { agent, ...watch, moreBudget: { tokens } });
  const { budget } = start;
  const more = budget?.tokens === undefined ? {} : { budget: { ...budget, tokens: budget.tokens + tokens } };
  return runtime.fork(record.id, { agent, at, ...watch, ...more });
}
