/** Which stored run is meant, and how it is continued: in its own tree, or in a copy. */

import type { AgentDefinition } from "../../core/agent.ts";
import type { EventListener, EventOf, StoredEvent } from "../../core/event.ts";
import type { Budget } from "../../core/limits.ts";
import { foldRunState } from "../../core/run-state.ts";
import type { RunHandle } from "../../core/runtime.ts";
import type { RunRecord, Store } from "../../core/store.ts";
import type { StoredAssembly } from "../application/stored.ts";
import { CommandError } from "../exit-codes.ts";
import { findRun, type SearchPlace } from "../stored/find-run.ts";
import { inertLine } from "../terminal/inert.ts";

/** What is asked of it; undefined is "as it was". */
export type Way = {
  isFork: boolean;
  at: number | undefined;
  moreTokens: number | undefined;
  moreUsd: number | undefined;
  /** From now on, however long it took before. */
  seconds: number | undefined;
  maxTurns: number | undefined;
};

export type ResumePlace = Pick<SearchPlace, "cwd" | "elsewhere"> & {
  /** The command that continues another run of the same database. */
  again(id: string, ...options: string[]): string;
};

export type StoredRun = { record: RunRecord; events: readonly StoredEvent[]; start: EventOf<"run-start"> };

/** The run that is meant, with what is known of it. Throws a `CommandError` when the command line cannot continue it. */
export async function chooseRun(
  store: Store,
  given: string | undefined,
  way: Way,
  place: ResumePlace,
): Promise<StoredRun> {
  const { again } = place;
  const record = await findRun(store, given, { ...place, takenBy: (other) => again(other, "--here") });
  const id = inertLine(record.id, 60);
  if (record.parentId !== null)
    throw new CommandError(`Run ${id} is a child, and a tree is continued as a whole: ${again(record.rootId)}`);
  const events = await store.read(record.rootId);
  const start = events.findLast(
    (event) => event.type === "run-start" && (way.isFork ? event.runId === record.id : event.parentId === null),
  );
  if (start?.type !== "run-start") throw new CommandError(`Run ${id} has no beginning in this database`);
  if (!way.isFork && hasCompleted(start.runId, events))
    throw new CommandError(
      `Run ${id} has completed. To continue from one of its turns in a copy: ${again(start.runId, "--fork")}`,
    );
  if (way.moreTokens !== undefined && start.budget?.tokens === undefined)
    throw new CommandError(`Run ${id} has no limit of tokens that --add-tokens could raise`);
  if (way.moreUsd !== undefined && start.budget?.costUsd === undefined)
    throw new CommandError(`Run ${id} has no limit of money that --add-budget could raise`);
  return { record, events, start };
}

/** Asked of the last run of the root: a stopped run that was resumed has completed, although its record says `cancelled`. */
function hasCompleted(runId: string, events: readonly StoredEvent[]): boolean {
  return events.some((event) => event.type === "run-end" && event.runId === runId && event.status === "completed");
}

export function goOn(
  { runtime, agent }: Pick<StoredAssembly, "runtime" | "agent">,
  stored: StoredRun,
  way: Way,
  watch: { onEvent: EventListener; signal: AbortSignal },
): RunHandle {
  const { record, start } = stored;
  const { maxTurns = agent.maxTurns } = way;
  if (way.isFork) {
    const budget = budgetOfFork(start.budget, way);
    return runtime.fork(record.id, { agent: agent.with({ maxTurns }), afterTurn: way.at, ...watch, budget });
  }
  const time = timeFor(stored, agent, way.seconds);
  const addBudget = { tokens: way.moreTokens ?? 0, costUsd: way.moreUsd ?? 0, seconds: time.moreSeconds };
  return runtime.resume(record.id, {
    agent: agent.with({ maxTurns, timeoutMs: time.timeoutMs }),
    ...watch,
    addBudget,
  });
}

/** A copy has spent nothing yet, and used no time. */
function budgetOfFork(budget: Budget | undefined, { moreTokens = 0, moreUsd = 0, seconds }: Way): Budget | undefined {
  const tokens = budget?.tokens === undefined ? undefined : budget.tokens + moreTokens;
  const costUsd = budget?.costUsd === undefined ? undefined : budget.costUsd + moreUsd;
  return { ...budget, tokens, costUsd, seconds: seconds ?? budget?.seconds };
}

type Time = { timeoutMs: number | undefined; moreSeconds: number };

/** The limits of a run count from its very beginning; what is typed counts from now. */
function timeFor({ events, start }: StoredRun, agent: AgentDefinition, seconds: number | undefined): Time {
  if (seconds === undefined) return { timeoutMs: agent.timeoutMs, moreSeconds: 0 };
  const last = foldRunState(events.filter(({ runId }) => runId === start.runId));
  const usedMs = last === undefined || last.end !== undefined ? 0 : last.usedMs;
  const timeoutMs = Math.ceil(usedMs + seconds * 1000);
  const limit = start.budget?.seconds;
  if (limit === undefined) return { timeoutMs, moreSeconds: 0 };
  let earlierMs = 0;
  for (const event of events) {
    if (event.type === "run-end" && event.agentId === start.agentId) earlierMs += event.durationMs;
  }
  return { timeoutMs, moreSeconds: earlierMs / 1000 + timeoutMs / 1000 - limit };
}
