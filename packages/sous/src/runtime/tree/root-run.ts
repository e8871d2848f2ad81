/** One run of a root while it happens and after its end: what a handle is a view of, and its result. */

import type { OpenQuestion } from "../../core/approval.ts";
import type { Redactor } from "../../core/clean-text.ts";
import type { Deadlines } from "../../core/clock.ts";
import { ignore, MissingKey, ModelError, StaleOwner, UserError } from "../../core/errors.ts";
import type { SousEvent } from "../../core/event.ts";
import type { LimitState } from "../../core/limits.ts";
import type { UserMessage } from "../../core/message.ts";
import { type RunOutcome, statusOfRefusal } from "../../core/outcome.ts";
import type { Run } from "../../core/run.ts";
import { type AgentSummary, type RunResult, withoutRun } from "../../core/runtime.ts";
import { Cancelled, onDispose, Scope } from "../../core/scope.ts";
import type { CancelMode, SpawnReply } from "../../core/spawn.ts";
import { addCost, addUsage, noUsage } from "../../core/usage.ts";
import { isNear, NEAR } from "../budget/funds.ts";
import { type EventIteration, iterateEvents, iterateSince } from "../events/iterate.ts";
import { openQuestions, toOpenQuestion } from "../rights/open-questions.ts";
import type { AgentEntry } from "../subagents/agent-book.ts";
import { stopRun } from "../subagents/child-control.ts";
import type { Work } from "./lifecycle.ts";
import type { OpenTree } from "./open.ts";
import { questionsElsewhere } from "./placing/questions-elsewhere.ts";
import type { EarlierTree } from "./restore/earlier-tree.ts";
import { type RootRequest, type Tree, tellBudgetNear } from "./tree.ts";

/** The beginning of a run of the root. */
type RootBeginning = Pick<RootRequest, "runId" | "task" | "origin" | "earlier" | "summarizes">;

/** The end of a run; `cause` is what was thrown when it failed. */
export type EndedRoot = { result: RunResult; cause: unknown };

export class RootRun {
  readonly id: string;
  /** Rejects only when the run could not begin. */
  readonly ended: Promise<EndedRoot>;
  readonly #opened: OpenTree;
  readonly #root: Promise<AgentEntry>;
  readonly #scope = new Scope();
  readonly #iterations = new Set<EventIteration>();
  /** The last event that was shown before this run: the first reader gets everything after it. */
  readonly #after: number;
  #isRead = false;
  #isOver = false;

  /** The run starts when `root` is there, at the earliest a microtask later. */
  constructor(opened: OpenTree, root: Promise<AgentEntry>, beginning: RootBeginning, work?: Work) {
    this.id = beginning.runId;
    this.#opened = opened;
    this.#root = root;
    this.#after = opened.journal.shownSeq;
    this.ended = this.#run(beginning, work);
    opened.last = this.ended;
  }

  async #run(beginning: RootBeginning, work: Work): Promise<EndedRoot> {
    try {
      const root = await this.#root;
      const { tree } = this.#opened;
      const scope = this.#scope;
      const { run, outcome } = await runOnce(this.#opened, scope, () =>
        tree.runRoot(root, { ...beginning, scope }, work),
      );
      const adding = tree.addElsewhere(this.#opened.store, this.id);
      if (adding !== undefined) await adding;
      const questions = tree.isParked ? await readQuestions(this.#opened) : [];
      return { result: rootResult(run, outcome, tree, questions), cause: run.cause };
    } finally {
      this.#finish();
    }
  }

  #finish(): void {
    this.#isOver = true;
    for (const each of this.#iterations) each.finish();
    this.#iterations.clear();
  }

  /** Iterates from the beginning of the run for the first reader, and from the next event for the others. */
  iterate(): AsyncIterator<SousEvent> {
    const { journal, store, rootId } = this.#opened;
    const options = { journal, store, rootId, runId: this.id };
    const iterator = this.#isRead ? iterateEvents(options) : iterateSince(this.#after, options);
    this.#isRead = true;
    if (this.#isOver) iterator.finish();
    else this.#iterations.add(iterator);
    return iterator;
  }

  steer(path: string, text: string, by: { callId?: string; mail?: number } = {}): boolean {
    const { book } = this.#opened.tree;
    const said = textFrom(text);
    const live = book.at(path)?.run ?? placedAbove(book.live, path);
    if (live?.placed !== undefined) {
      live.placed.steer(path, said, by.callId);
      return true;
    }
    // One that waits for an answer that comes later is resumed from the store, and would not have read it.
    if (live === undefined || live.isParked) return false;
    live.receive({ kind: "steer", text: said, ...by });
    return true;
  }

  cancel(path: string | undefined, mode: CancelMode, by: { callId?: string; mail?: number } = {}): boolean {
    const { tree, rootAgentId } = this.#opened;
    const live = path === undefined ? tree.book.get(rootAgentId)?.run : tree.book.at(path)?.run;
    const above = path === undefined || live !== undefined ? undefined : placedAbove(tree.book.live, path);
    if (above?.placed !== undefined) {
      above.placed.stop(mode, undefined, path);
      return true;
    }
    const isMeant = path !== undefined || live?.who.runId === this.id;
    if (live?.isParked === true) return tree.closeParked(live, mode);
    if (live !== undefined && isMeant) stopRun(live, mode, tree.book, by);
    else if (path !== undefined || this.#isOver) return false;
    // It may be stopped before it has begun.
    else this.#scope.abort(new Cancelled("The run was cancelled"));
    return true;
  }

  spending(): ReturnType<OpenTree["tree"]["spending"]> {
    return this.#opened.tree.spending();
  }

  async send(path: string, message: string): Promise<string> {
    const { tree } = this.#opened;
    textFrom(message);
    const entry = tree.book.at(path);
    const parent = entry?.parent?.run;
    if (entry === undefined) throw new UserError(`No agent at ${path}`);
    if (tree.isParked) throw new UserError(waits(this.id));
    if (entry.parent === undefined)
      throw new UserError(`${path} is the root: use steer() while it runs, then followUp()`);
    if (parent === undefined) throw new UserError(`The parent of ${path} has ended: continue the root with followUp()`);
    const reply = await tree.ports.childrenOf(parent, undefined).send(entry.agentId, message);
    if (reply.kind === "refused") throw new UserError(reply.message);
    return reply.kind === "ended" ? tree.redactor.text(reply.report.outcome.text) : "";
  }

  /** Starts when all runs of the tree that were asked for before it have ended. */
  followUp(task: UserMessage, summarizes: boolean | undefined): RootRun {
    const root = this.#opened.last.catch(ignore).then(() => {
      if (this.#opened.tree.isParked) throw new UserError(waits(this.id));
      return this.#root;
    });
    return new RootRun(this.#opened, root, { runId: this.#opened.newId(), task, summarizes });
  }
}

function waits(runId: string): string {
  return `Run ${runId} waits for an answer: continue it with resume(), and give the answer in answers`;
}

/** The questions that a parked tree waits for. */
export async function readQuestions({
  store,
  rootId,
  earlier,
}: Pick<OpenTree, "store" | "rootId"> & { readonly earlier?: EarlierTree | undefined }): Promise<OpenQuestion[]> {
  await earlier?.readOn(store);
  const own = earlier === undefined ? openQuestions(await store.read(rootId)) : earlier.questions.list();
  return [...own.map(toOpenQuestion), ...(await questionsElsewhere(store, rootId))];
}

/** Links the caller's signal and watches for silence while the root runs; nothing is left behind after it. */
export async function runOnce<T>(opened: OpenTree, scope: Scope, work: () => Promise<T>): Promise<T> {
  const { runOptions, tree, deadlines, rootAgentId } = opened;
  const { signal } = runOptions;
  const stop = () => {
    const root = tree.book.get(rootAgentId)?.run;
    if (root?.scope === scope) stopRun(root, "stop", tree.book);
    else scope.abort(new Cancelled("The run was cancelled"));
  };
  if (signal?.aborted) stop();
  else signal?.addEventListener("abort", stop, { once: true });
  using _watch = watchSilence(() => tree.book.live, deadlines);
  using _time = watchTreeTime(opened);
  try {
    return await work();
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

/** Notifies once when the root has used most of the time that its tree has. */
function watchTreeTime({ tree, deadlines, journal }: OpenTree): Disposable | undefined {
  if (!tree.hasTimeLimit) return undefined;
  const ofTree = (): LimitState | undefined =>
    tree.spending().limits.find(({ of, unit }) => of === "tree" && unit === "durationMs");
  const limit = ofTree();
  if (limit === undefined || isNear(limit)) return undefined;
  return deadlines.add(limit.limit * NEAR - limit.spent, () => {
    const now = ofTree();
    if (now !== undefined) tellBudgetNear(undefined, now, tree.book, journal);
  });
}

/** The live run that works elsewhere and has the run with this path below it. */
function placedAbove(live: Iterable<Run>, path: string): Run | undefined {
  for (const run of live) if (run.placed !== undefined && path.startsWith(`${run.who.path}/`)) return run;
  return undefined;
}

/** Text that is said to a run, checked: callers may pass anything. */
function textFrom(input: string): string {
  if (typeof input !== "string") throw new UserError("What is said to a run must be text");
  if (input.trim() === "") throw new UserError("What is said to a run cannot be empty");
  return input;
}

const SILENCE_MS = 60_000;

/** Records which runs have been silent for a while. One deadline for the whole tree; disposing ends the watch. */
function watchSilence(liveRuns: () => Iterable<Run>, deadlines: Deadlines): Disposable {
  let beatsBefore = new Map<Run, { beats: number; seconds: number }>();
  const look = (): void => {
    const beats = new Map<Run, { beats: number; seconds: number }>();
    for (const run of liveRuns()) {
      // The worker that has it watches it.
      if (run.placed !== undefined) continue;
      const before = beatsBefore.get(run);
      const isSilent = before?.beats === run.beats;
      const seconds = isSilent ? before.seconds + SILENCE_MS / 1000 : 0;
      if (isSilent) run.emit({ type: "stalled", seconds, waitingFor: run.waitingFor });
      beats.set(run, { beats: run.beats, seconds });
    }
    beatsBefore = beats;
    deadline = deadlines.add(SILENCE_MS, look);
  };
  let deadline = deadlines.add(SILENCE_MS, look);
  return onDispose(() => deadline[Symbol.dispose]());
}

/** After a follow-up the figures are still those of the whole tree; the ending and what was denied are this run's own. */
function rootResult(run: Run, outcome: RunOutcome, tree: Tree, questions: OpenQuestion[]): RunResult {
  const agents = summariesOf(run.who.agentId, tree);
  const usage = noUsage();
  let costUsd: number | null = 0;
  for (const each of agents) {
    addUsage(usage, each.usage); // guard: usage-of-children
    costUsd = addCost(costUsd, each.costUsd);
  }
  const { runId } = run.who;
  const own = fromOutcome(outcome, tree.redactor);
  const kind = outcome.status === "failed" ? kindOf(run.cause) : undefined;
  const error = own.error && kind ? { ...own.error, kind } : own.error;
  const denied = tree.denied.splice(0);
  return { ...own, error, usage, costUsd, runId, agents, denied, questions, lost: tree.lost };
}

/** The faults of agents quote what models and providers said. */
function summariesOf(agentId: string, { book, redactor }: Tree): AgentSummary[] {
  return book.summaries(agentId).map((each) => {
    if (each.error === undefined) return each;
    return { ...each, error: { ...each.error, message: redactor.text(each.error.message) } };
  });
}

/** One input of a fan-out. A refused one is a failed result of its own; nothing is thrown. */
export function toResult<Output>(reply: SpawnReply, tree: Tree, questions: readonly OpenQuestion[]): RunResult<Output> {
  if ((reply.kind === "ended" || reply.kind === "parked") && reply.report !== undefined) {
    const { outcome, totalUsage, totalCostUsd, runId, agentId, path } = reply.report;
    const isBelow = (other: string) => other === path || other.startsWith(`${path}/`);
    return {
      ...fromOutcome(outcome, tree.redactor),
      usage: totalUsage,
      costUsd: totalCostUsd,
      runId,
      agents: summariesOf(agentId, tree),
      denied: tree.denied.filter((each) => isBelow(each.path)),
      questions: reply.kind === "parked" ? questions.filter((each) => isBelow(each.path)) : [],
      lost: tree.lost,
    } as RunResult<Output>;
  }
  const message = reply.kind === "refused" ? reply.message : "The child runs in the background";
  const errorType = reply.kind === "refused" ? reply.errorType : "crash";
  return { ...withoutRun(statusOfRefusal(errorType), { type: errorType, message }), lost: tree.lost };
}

function kindOf(cause: unknown): NonNullable<RunResult["error"]>["kind"] {
  if (cause instanceof ModelError) return cause.kind;
  if (cause instanceof MissingKey) return "auth";
  return cause instanceof StaleOwner ? "taken_over" : undefined;
}

function fromOutcome(
  outcome: RunOutcome,
  redactor: Redactor,
): Pick<RunResult, "status" | "stopReason" | "text" | "output" | "turns" | "durationMs" | "error"> {
  const { status, stopReason, text, output, turns, durationMs, fault } = outcome;
  // Providers quote the key that they refuse.
  const error = fault && { type: fault.type, message: redactor.text(fault.message) };
  return { status, stopReason, text, output, turns, durationMs, error };
}
