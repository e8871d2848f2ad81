/** Continues a stored tree: reads it once, takes its claim, keeps its terms. */

import { type AgentDefinition, agent } from "../../../core/agent.ts";
import type { NewMail } from "../../../core/engine.ts";
import { UserError, withDefaults } from "../../../core/errors.ts";
import type { EventOf, StoredEvent } from "../../../core/event.ts";
import type { Budget } from "../../../core/limits.ts";
import { messageFrom } from "../../../core/message.ts";
import { readHistory } from "../../../core/read-history.ts";
import type {
  ForkOptions,
  ResumeOptions,
  RunHandle,
  RunOptions,
  RunResult,
  RuntimeOptions,
} from "../../../core/runtime.ts";
import { FAN_OUT } from "../../../core/spawn.ts";
import { DamageError, type RunRecord, type Store } from "../../../core/store.ts";
import { spanOfRun } from "../../../core/trace-context.ts";
import { fromStored, fromStoredLimits } from "../../../core/units.ts";
import { BUDGET_UNITS, narrowerLimits } from "../../../core/words/limits.ts";
import { repairHistory } from "../../loop/repair-history.ts";
import type { AgentEntry } from "../../subagents/agent-book.ts";
import { fanOutTask, holderOf, runFanOut } from "../fan-out.ts";
import { type OpenTree, openTree, type Shared, type TreeOptions } from "../open.ts";
import { divideAnswers } from "../placing/questions-elsewhere.ts";
import { rootHandle } from "../root-handle.ts";
import { RootRun } from "../root-run.ts";
import type { EarlierRun } from "./earlier-run.ts";
import { EarlierTree } from "./earlier-tree.ts";
import { GivenAnswers } from "./given-answers.ts";
import { noBeginning, recordOf, refuseChild, refuseCompleted, refuseDamaged, refuseLost } from "./refusals.ts";

/** The message to a run that had ended, when none is given. Text a model reads: snapshotted. */
export const GO_ON = "You were stopped before you had finished. Continue where you stopped.";

type Parts = Omit<Shared, "runOptions">;

/** Continues a tree after a crash or a stop. Finished work is not repeated. `earlier` is the tree, if the caller has read it. */
export function resumeRoot<Output>(
  runId: string,
  parts: Parts,
  options: ResumeOptions,
  earlier?: EarlierTree,
): RunHandle<Output> {
  return rootHandle(runId, resumedRun(runId, parts, options, earlier));
}

async function resumedRun(
  runId: string,
  parts: Parts,
  options: ResumeOptions,
  read: EarlierTree | undefined,
): Promise<RootRun> {
  const { rootId } = await rootRecord(runId, parts.store);
  const refuse = ({ root }: EarlierTree): void => {
    if (options.message === undefined) refuseCompleted(runId, root.state);
  };
  const define = (start: EventOf<"run-start">) => definitionOf(start, parts, options.agent);
  const stored = await openEarlier({ rootId, read, refuse, define }, parts, options);
  const { opened, earlier } = stored;
  const root = Promise.resolve(stored.root);
  if (earlier.state.end === undefined)
    return new RootRun(opened, root, { runId: earlier.runId, task: earlier.state.start.task, earlier });
  const task = messageFrom(options.message ?? GO_ON);
  return new RootRun(opened, root, { runId: parts.newId(), task, summarizes: options.summarizes });
}

/** Continues a fan-out: results come from the journal, interrupted children continue, the rest start. */
export async function resumeFanOut<Output>(
  runId: string,
  parts: Parts,
  given: {
    definition: AgentDefinition;
    inputs: readonly string[];
    atOnce: number;
    runOptions: RunOptions & Pick<ResumeOptions, "answers">;
  },
): Promise<RunResult<Output>[]> {
  const { definition, inputs, atOnce, runOptions } = given;
  const named = await parts.store.run(runId);
  // The results of a fan-out name the runs of its inputs.
  const { rootId, agent: name, task } = await rootRecord(named?.rootId ?? runId, parts.store);
  if (name !== FAN_OUT) throw new UserError(`Run ${runId} is not a fan-out; use resume()`);
  if (task !== fanOutTask(inputs)) throw new UserError(`The fan-out ${runId} was made on other inputs`);
  const refuse = ({ root }: EarlierTree): void => {
    if (root.state.end !== undefined) throw new UserError(`The fan-out ${runId} has ended: nothing is left to do`);
  };
  const terms = { ...runOptions, sharedBudget: runOptions.budget?.from };
  const define = () => holderOf(definition);
  const { opened, earlier } = await openEarlier({ rootId, refuse, define }, parts, terms);
  return runFanOut({ opened, earlier }, definition, { inputs, atOnce });
}

/** A new tree that begins with what a run had said and heard by the end of a turn. The old one stays as it is. */
export function forkRoot<Output>(
  runId: string,
  parts: Parts,
  options: ForkOptions,
  earlier?: EarlierTree,
): RunHandle<Output> {
  return rootHandle(runId, branchedRun(runId, parts, options, earlier));
}

async function branchedRun(
  runId: string,
  parts: Parts,
  options: ForkOptions,
  earlier: EarlierTree | undefined,
): Promise<RootRun> {
  const { rootId: origin } = await rootRecord(runId, parts.store);
  const reader = earlier?.reader() ?? parts.store;
  const events = await reader.read(origin, { runId });
  const [start] = events;
  if (start?.type !== "run-start") throw noBeginning(runId);
  const { before, turn } = endOfTurn(events, options.afterTurn);
  const read: Store["read"] = async (id, which) => (which?.runId === runId ? events : reader.read(id, which));
  const stored = readHistory({ read }, origin);
  const isWhole = options.afterTurn === undefined;
  const history = repairHistory(isWhole ? await stored.continuation(runId) : await stored.messages(runId, before));
  const definition = definitionOf(start, parts, options.agent);
  const terms = toRunOptions(start, { sharedBudget: options.budget?.from }, parts.options.limits);
  const { signal, onEvent, budget, limits, summarizes } = options;
  const opened = openTree({ ...parts, runOptions: withDefaults(terms, { signal, onEvent, budget, limits }) });
  const { rootId } = opened;
  const root = opened.tree.openRoot(rootId, definition);
  const task = messageFrom(options.message ?? GO_ON);
  return new RootRun(opened, root, {
    runId: rootId,
    task,
    origin: { kind: "branch", runId, turn, history, traceparent: spanOfRun(runId, runId, start.traceparent) },
    summarizes,
  });
}

/** The tree that is resumed. */
type Resuming = {
  readonly rootId: string;
  /** The tree, if the caller has read it. */
  readonly read?: EarlierTree | undefined;
  /** Throws a `UserError` for a tree that is not to be resumed. */
  refuse(earlier: EarlierTree): void;
  define(start: EventOf<"run-start">): AgentDefinition;
};

type OpenedEarlier = { opened: OpenTree; root: AgentEntry; earlier: EarlierRun };

/**
 * Reads the tree, takes its claim and brings it back. When that fails the claim is given back. A tree that is refused is not
 * claimed: its owner could not continue it any more.
 */
async function openEarlier(
  { rootId, read, refuse, define }: Resuming,
  parts: Parts,
  options: ResumeOptions,
): Promise<OpenedEarlier> {
  const { store } = parts;
  const record = await recordOf(rootId, store);
  const lost = record.lost; // guard: refuse-a-lost-run
  refuseLost(rootId, lost);
  if (record.damage !== undefined) refuseDamaged(rootId, new DamageError(record.damage));
  const tree = read ?? (await EarlierTree.read(store, rootId).catch((error) => refuseDamaged(rootId, error)));
  refuse(tree);
  const { fence } = await store.claim(rootId);
  try {
    await tree.readOn(store);
    refuse(tree);
    const { own, elsewhere } = await divideAnswers(store, options.answers);
    const answers = new GivenAnswers(tree.questions, own);
    await continueElsewhere(tree, parts, elsewhere);
    const { start, end } = tree.root.state;
    const { signal, onEvent } = options;
    const runOptions = { ...toRunOptions(start, options, parts.options.limits), signal, onEvent };
    const opened = openTree({ ...parts, runOptions }, { fence, tree, answers });
    const root = await opened.tree.openRoot(rootId, define(start));
    if (end === undefined) opened.tree.denied.push(...tree.denied);
    return { opened, root, earlier: tree.root };
  } catch (error) {
    await store.release(rootId, fence);
    throw error;
  }
}

/** Placed children are found again, and get the answers to their questions. */
async function continueElsewhere(
  { rootId, placed }: EarlierTree,
  parts: Parts,
  mail: readonly NewMail[],
): Promise<void> {
  if (placed.ids.length === 0 && mail.length === 0) return;
  if (parts.placed === undefined)
    throw new UserError(`Run ${rootId} has children on workers: give createRuntime() an engine, as when it began`);
  const { placing } = parts.placed;
  placed.setEnds(await placing.ends(placed.ids));
  if (mail.length === 0) return;
  const ends = new Map((await placing.journals(rootId)).map(({ journalId, lastSeq }) => [journalId, lastSeq]));
  for (const { to } of mail) parts.placed.expectTaking(to, ends.get(to) ?? 0);
  await placing.post(mail);
}

async function rootRecord(runId: string, store: Store): Promise<RunRecord> {
  const record = await recordOf(runId, store);
  refuseChild(record);
  return record;
}

/** The terms the tree was begun under. What it shared with others cannot be stored, and must not be forgotten. */
export function toRunOptions(
  { terms, budget, runId }: EventOf<"run-start">,
  { addBudget, sharedBudget }: Pick<ResumeOptions, "addBudget" | "sharedBudget">,
  own: RuntimeOptions["limits"],
): TreeOptions {
  const name = terms?.sharedBudget;
  if (name !== undefined && sharedBudget === undefined)
    throw new UserError(
      `Run ${runId} drew on the shared budget ${JSON.stringify(name)}: open it with sharedBudget() of its store and pass it as sharedBudget, to fork() as budget.from`,
    );
  // The origin of the tree is not known, so the limits of this runtime hold as well.
  const limits = terms && narrowerLimits(fromStoredLimits(terms.limits), own);
  return { ...terms, limits, budget: { ...sumOf(budget && fromStored(budget), addBudget), from: sharedBudget } };
}

/** A limit that is not set stays so. */
function sumOf(budget: Budget | undefined, more: Budget | undefined): Budget | undefined {
  if (budget === undefined || more === undefined) return budget;
  const sum: Budget = { ...budget };
  for (const unit of BUDGET_UNITS) {
    const [had, added] = [budget[unit], more[unit]];
    if (had !== undefined && added !== undefined) sum[unit] = had + added;
  }
  return sum;
}

function definitionOf(
  start: EventOf<"run-start">,
  { options }: Parts,
  given: AgentDefinition | undefined,
): AgentDefinition {
  const { agent: name, runId, rights } = start;
  if (name === FAN_OUT)
    throw new UserError(`Run ${runId} is a fan-out: call fanOut with the same inputs and resumes: "${start.agentId}"`);
  if (given !== undefined && given.name !== name)
    throw new UserError(`Run ${runId} was made by the agent ${name}, not by ${given.name}`);
  const known = given ?? options.agents?.find((each) => each.name === name);
  if (known !== undefined) return known;
  const tools = [...new Set([...rights.use, ...rights.delegate])];
  if (tools.length > 0)
    throw new UserError(
      `Run ${runId} needs the definition of its agent ${name}, because functions are not stored (its tools: ${tools.join(", ")}). Pass it as agent, or in agents.`,
    );
  const { instructions, model, maxTurns, nickname } = start;
  return agent({ name, nickname, instructions, model, maxTurns, delegate: true });
}

/** Everything before this event belongs to the turn or an earlier one. */
function endOfTurn(events: readonly StoredEvent[], at: number | undefined): { before: number; turn: number } {
  const turns = events.filter((event) => event.type === "message-end").map((event) => event.turn);
  const last = turns.at(-1) ?? 0;
  if (at === undefined) return { before: Number.POSITIVE_INFINITY, turn: last };
  if (!Number.isInteger(at) || at < 0 || at > last)
    throw new UserError(
      `The run has ${last} ${last === 1 ? "turn" : "turns"}, so a fork can begin after turn 0 to ${last}; found ${at}`,
    );
  const next = events.find((event) => event.type === "turn-start" && event.turn > at);
  return { before: next?.seq ?? Number.POSITIVE_INFINITY, turn: at };
}
