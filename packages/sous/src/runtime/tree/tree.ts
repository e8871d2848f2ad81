/** One tree of runs as its root and its caller see it. */

import type { AgentDefinition } from "../../core/agent.ts";
import type { Redactor } from "../../core/clean-text.ts";
import { Conversation } from "../../core/conversation.ts";
import { messageOf } from "../../core/errors.ts";
import type { LimitState, SpendingState } from "../../core/limits.ts";
import type { RunOutcome } from "../../core/outcome.ts";
import type { Run } from "../../core/run.ts";
import type { CancelMode } from "../../core/spawn.ts";
import type { Store } from "../../core/store.ts";
import type { Journal, TreePorts } from "../../core/tree-ports.ts";
import { checkPrice } from "../budget/admission.ts";
import type { AgentBook, AgentEntry } from "../subagents/agent-book.ts";
import { makeRun, type RunPlan, startRun, type Work } from "./lifecycle.ts";
import { closeParkedRun, parkedRuns } from "./park.ts";
import { followUpOf, historyOf, type Spending, type TreeParts } from "./parts.ts";
import { addElsewhere, deniedIn, recordsBelow } from "./placing/elsewhere.ts";
import { placedProfile } from "./placing/placed-profile.ts";
import { Ports } from "./ports.ts";
import { newState, type TreeState } from "./state.ts";

/** The request for a run of the root, besides its agent. */
export type RootRequest = Pick<RunPlan, "runId" | "task" | "scope" | "summarizes"> &
  Partial<Pick<RunPlan, "origin" | "earlier">>;

export class Tree {
  readonly ports: TreePorts;
  readonly #state: TreeState;
  /** The start of the root, while it runs; `#usedMs` is the time it ran otherwise. */
  #startedAt: number | undefined;
  #usedMs = 0;

  constructor(parts: TreeParts) {
    this.#state = newState(parts);
    this.ports = new Ports(this.#state);
  }

  /** For those that place its root instead of running it. */
  get state(): TreeState {
    return this.#state;
  }

  get book(): AgentBook {
    return this.#state.book;
  }

  get redactor(): Redactor {
    return this.ports.redactor;
  }

  /** Calls that needed a person when there was none. */
  get denied(): TreeState["denied"] {
    return this.#state.denied;
  }

  /** True when it waits for an answer that comes later: no process works on it. */
  get isParked(): boolean {
    return this.#state.parked.has(undefined);
  }

  /** Ends a run that waits for an answer, while others are still at work. False when none of them is any more. */
  closeParked(run: Run, mode: CancelMode): boolean {
    if (this.isParked) return false;
    closeParkedRun(this.#state, run, mode);
    return true;
  }

  /** The reason why not everything that happened was stored. */
  get lost(): string | undefined {
    return this.#state.parts.asking.journal.degraded;
  }

  /** The agent of the root, before its first run. */
  async openRoot(agentId: string, definition: AgentDefinition): Promise<AgentEntry> {
    const { parts, book, earlierRuns } = this.#state;
    const { root: account, budget } = parts.spending;
    const first = parts.earlier?.first;
    const profile =
      first?.placed === undefined
        ? await parts.profiles.root(definition)
        : await placedProfile(parts.profiles, definition, first);
    await checkPrice(profile, account);
    const known = earlierRuns?.rootEntry(profile);
    if (known !== undefined) return known;
    const { name: label } = definition;
    return book.add({ agentId, parent: undefined, path: label, label, profile, account, budget, isBackground: false });
  }

  /** Runs the root once. `work` replaces the agent loop. */
  async runRoot(entry: AgentEntry, request: RootRequest, work?: Work): Promise<{ run: Run; outcome: RunOutcome }> {
    const { parts } = this.#state;
    const { clock } = this.ports;
    const plan = await this.#planRoot(entry, request);
    const run = makeRun(this.#state, plan, this.ports);
    // A root that only holds others together draws on nothing itself.
    run.holding = work === undefined ? parts.spending.root.enter(entry.path) : undefined;
    this.#startedAt = clock.monotonic() - run.usedMs;
    const outcome = await startRun(this.#state, run, plan, work);
    this.#usedMs = clock.monotonic() - this.#startedAt;
    this.#startedAt = undefined;
    try {
      await this.ports.settled();
      await parts.spending.root.flushed();
      if (run.isParked) await this.#leave();
      return { run, outcome };
    } catch (error) {
      // The end could not be stored, and a caller that requires a store has to know.
      run.cause = error;
      return { run, outcome: { ...outcome, status: "failed", fault: { type: "store", message: messageOf(error) } } };
    } finally {
      this.#state.elsewhere?.view?.stop();
      if (this.lost !== undefined) parts.records.endWithLoss(); // guard: end-with-loss
    }
  }

  /** Adds what this run of the root had done elsewhere to its result. Undefined when nothing was. */
  addElsewhere(store: Pick<Store, "tree" | "read">, runId: string): Promise<void> | undefined {
    const { elsewhere, parts } = this.#state;
    return elsewhere === undefined || parts.worker !== undefined ? undefined : this.#addElsewhere(store, runId);
  }

  async #addElsewhere(store: Pick<Store, "tree" | "read">, runId: string): Promise<void> {
    const { book, denied, parts } = this.#state;
    const records = await store.tree(parts.records.rootId);
    const known = new Set(records.map(({ agentId }) => agentId).filter((agentId) => book.get(agentId) !== undefined));
    addElsewhere(this.#state, records, ({ agentId }) => !known.has(agentId));
    const own = records.find(({ id }) => id === runId)?.journalId;
    const below = recordsBelow(records, runId).filter(({ journalId }) => journalId !== own);
    denied.push(...(await deniedIn(store, below)));
  }

  /** Nothing of the tree is at work: shows which runs wait, and lets any process resume it. */
  async #leave(): Promise<void> {
    const { parts } = this.#state;
    for (const { who } of parkedRuns(this.#state)) parts.asking.journal.delta(who, { type: "park" });
    await parts.records.release();
  }

  /** Begins with the task alone, with what was said before, or where the run stood when its process ended. */
  async #planRoot(entry: AgentEntry, request: RootRequest): Promise<RunPlan> {
    const { runId, task, scope, origin, earlier, summarizes } = request;
    const { parts, earlierRuns } = this.#state;
    const { profile } = entry;
    if (profile === undefined) throw new Error("The root has no profile");
    const own = { entry, runId, parent: undefined, profile, call: undefined, summary: undefined, scope, earlier };
    if (earlier !== undefined && earlierRuns !== undefined) {
      const { start } = earlier.state;
      const conversation = await earlierRuns.conversationOf(earlier, profile);
      const { summaryPrompt: prompt, placed } = start;
      const summary = placed?.summary && { ...placed.summary, prompt };
      return { ...own, task: start.task, conversation, origin: start.origin, summary };
    }
    const isFirst = runId === entry.agentId;
    const from = origin ?? (isFirst ? undefined : followUpOf(parts, entry.lastRunId));
    const history = from?.kind === "branch" ? from.history : isFirst ? [] : await historyOf(parts, entry.lastRunId);
    const conversation = new Conversation([...history, task], profile.tools.bytes);
    return { ...own, task, conversation, origin: from, summarizes };
  }

  get hasTimeLimit(): boolean {
    return this.#state.parts.spending.budget.durationMs !== undefined;
  }

  /** Every limit that holds, and who holds what of it. */
  spending(): SpendingState {
    const { parts, book } = this.#state;
    const usedMs = this.#startedAt === undefined ? this.#usedMs : this.ports.clock.monotonic() - this.#startedAt;
    return spendingState(parts.spending, book, usedMs);
  }
}

/** `usedMs` is how long the root has run. */
function spendingState(spending: Spending, book: AgentBook, usedMs: number): SpendingState {
  const { root, children, childTime, budget } = spending;
  const limits = new Map<string, LimitState>();
  const add = (limit: LimitState) => void limits.set(`${limit.unit} ${limit.of}`, limit);
  if (budget.durationMs !== undefined)
    add({ of: "tree", unit: "durationMs", limit: budget.durationMs, spent: usedMs, reserved: 0 });
  const accounts = new Set([root, children, ...[...book.live].map(({ account }) => account)]);
  for (const account of accounts) for (const limit of account.limits()) add(limit);
  const time = childTime.state();
  if (time !== undefined) add(time);
  return { limits: [...limits.values()], runs: root.holdings() };
}

/** Most of a limit is spent: an event of the run that came near it, or of the root. */
export function tellBudgetNear(path: string | undefined, limit: LimitState, book: AgentBook, journal: Journal): void {
  const entry = path === undefined ? undefined : book.at(path);
  const run = entry?.run ?? [...book.live].find(({ parent }) => parent === undefined);
  if (run !== undefined) journal.delta(run.who, { type: "budget-near", limit });
}
