/** Continues a stored tree: takes its claim, folds its journal, keeps its terms. */

import { type AgentDefinition, agent } from "../../core/agent.ts";
import { UserError, withDefaults } from "../../core/errors.ts";
import type { EventOf, StoredEvent } from "../../core/event.ts";
import { type Budget, narrowerLimits } from "../../core/limits.ts";
import { messageFrom } from "../../core/message.ts";
import { readHistory } from "../../core/read-history.ts";
import type {
  ForkOptions,
  MessageOptions,
  ResumeOptions,
  RunHandle,
  RunOptions,
  RunResult,
  RuntimeOptions,
} from "../../core/runtime.ts";
import { FAN_OUT } from "../../core/spawn.ts";
import type { RunRecord, Store } from "../../core/store.ts";
import { spanOfRun } from "../../core/trace-context.ts";
import { repairHistory } from "../../loop/repair-history.ts";
import type { AgentEntry } from "../../subagents/agent-book.ts";
import { fanOutTask, fanOutWidth, holderOf, runFanOut } from "../fan-out.ts";
import { type OpenTree, openTree, type Shared, type TreeOptions } from "../open.ts";
import { rootHandle } from "../root-handle.ts";
import { RootRun } from "../root-run.ts";
import { type EarlierRun, EarlierTree } from "./earlier-tree.ts";
import { GivenAnswers } from "./given-answers.ts";

/** The message to a run that had ended, when none is given. Text a model reads: snapshotted. */
export const GO_ON = "You were stopped before you had finished. Continue where you stopped.";

type Parts = Omit<Shared, "runOptions">;

/** Continues a tree after a crash or a stop. Finished work is not repeated. */
export function resumeRoot<Output>(
  runId: string,
  parts: Parts,
  options: ResumeOptions & MessageOptions,
): RunHandle<Output> {
  return rootHandle(runId, continuedRun(runId, parts, options));
}

async function continuedRun(runId: string, parts: Parts, options: ResumeOptions & MessageOptions): Promise<RootRun> {
  const record = await rootRecord(runId, parts.store);
  if (options.message === undefined && (await lastOfRoot(record, parts.store)).status === "completed")
    throw new UserError(`Run ${runId} has completed. Give it a message to continue with, or fork it.`);
  const stored = await openStored(record, parts, options, (start) => definitionOf(start, parts, options.agent));
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
    limit: number | undefined;
    runOptions: RunOptions & Pick<ResumeOptions, "answers">;
  },
): Promise<RunResult<Output>[]> {
  const { definition, inputs, limit, runOptions } = given;
  const named = await parts.store.run(runId);
  // The results of a fan-out name the runs of its inputs.
  const record = await rootRecord(named?.rootId ?? runId, parts.store);
  if (record.agent !== FAN_OUT) throw new UserError(`Run ${runId} is not a fan-out; use resume()`);
  if (record.task !== fanOutTask(inputs)) throw new UserError(`The fan-out ${runId} was made on other inputs`);
  if (record.endedAt !== undefined) throw new UserError(`The fan-out ${runId} has ended: nothing is left to do`);
  const terms = { ...runOptions, sharedBudget: runOptions.budget?.from };
  const { opened, earlier } = await openStored(record, parts, terms, () => holderOf(definition));
  return runFanOut({ opened, earlier }, definition, { inputs, atOnce: fanOutWidth(inputs, limit) });
}

/** A new tree that begins with what a run had said and heard by the end of a turn. The old one stays as it is. */
export function forkRoot<Output>(runId: string, parts: Parts, options: ForkOptions): RunHandle<Output> {
  return rootHandle(runId, branchedRun(runId, parts, options));
}

async function branchedRun(runId: string, parts: Parts, options: ForkOptions): Promise<RootRun> {
  const record = await rootRecord(runId, parts.store);
  const events = await parts.store.read(record.rootId, { runId });
  const [start] = events;
  if (start?.type !== "run-start") throw new UserError(`Run ${runId} has no beginning in this store`);
  const { before, turn } = endOfTurn(events, options.afterTurn);
  const stored = readHistory(parts.store, record.rootId);
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

type StoredTree = { opened: OpenTree; root: AgentEntry; earlier: EarlierRun };

/** Takes the claim of the tree and brings it back. When that fails the claim is given back. */
async function openStored(
  { rootId }: RunRecord,
  parts: Parts,
  options: ResumeOptions,
  define: (start: EventOf<"run-start">) => AgentDefinition,
): Promise<StoredTree> {
  const { store } = parts;
  const lost = (await store.run(rootId))?.lost; // guard: refuse-a-lost-run
  if (lost !== undefined)
    throw new UserError(`Run ${rootId} cannot be resumed, because not all of it was stored. ${lost}`);
  const { fence } = await store.claim(rootId);
  try {
    const recorded = new EarlierTree(await store.read(rootId));
    const answers = new GivenAnswers(recorded.events, options.answers);
    const { start } = recorded.root.state;
    const { signal, onEvent } = options;
    const runOptions = { ...toRunOptions(start, options, parts.options.limits), signal, onEvent };
    const opened = openTree({ ...parts, runOptions }, { rootId, fence, recorded, answers });
    const root = await opened.tree.openRoot(rootId, define(start));
    if (recorded.root.state.end === undefined) opened.tree.denied.push(...deniedIn(recorded));
    return { opened, root, earlier: recorded.root };
  } catch (error) {
    await store.release(rootId, fence);
    throw error;
  }
}

async function rootRecord(runId: string, store: Store): Promise<RunRecord> {
  const record = await store.run(runId);
  if (record === undefined) throw new UserError(`No run with the id ${runId} in this store`);
  if (record.parentId !== null)
    throw new UserError(`Run ${runId} is a child: a tree is continued as a whole, so name its root, ${record.rootId}`);
  return record;
}

/** The latest run of the root: one that was followed up has several. */
async function lastOfRoot(record: RunRecord, store: Store): Promise<RunRecord> {
  if (record.endedAt === undefined) return record;
  const runs = await store.tree(record.rootId);
  return runs.findLast(({ parentId }) => parentId === null) ?? record;
}

/** The terms the tree was begun under. What it shared with others cannot be stored, and must not be forgotten. */
function toRunOptions(
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
  const limits = terms && narrowerLimits(terms.limits, own);
  return { ...terms, limits, budget: { ...sumOf(budget, addBudget), from: sharedBudget } };
}

/** A limit that is not set stays so. */
function sumOf(budget: Budget | undefined, more: Budget | undefined): Budget | undefined {
  if (budget === undefined || more === undefined) return budget;
  const sum: Budget = { ...budget };
  for (const unit of ["tokens", "costUsd", "seconds", "executions"] as const) {
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

function deniedIn({ events, root }: EarlierTree): RunResult["denied"] {
  const asked = new Map<string, EventOf<"approval-request">>();
  const denied: RunResult["denied"] = [];
  for (const event of events) {
    if (event.seq < root.state.start.seq) continue;
    if (event.type === "approval-request") asked.set(`${event.runId} ${event.callId}`, event);
    if (event.type !== "approval-end" || event.by !== "nobody") continue;
    const question = asked.get(`${event.runId} ${event.callId}`);
    if (question === undefined) continue;
    const { toolName, input, toolReason } = question;
    denied.push({ path: event.path, toolName, input, ...(toolReason !== undefined && { toolReason }) });
  }
  return denied;
}
