/** One tree of runs: a root, everything below it, and what they share. The only place where a run starts a run. */

import { checkPrice } from "./budget/check-price.ts";
import { setDeadline } from "./budget/run-deadline.ts";
import { rest } from "./budget/run-slots.ts";
import type { Reader } from "./child-report.ts";
import type { AgentDefinition } from "./core/agent.ts";
import type { ApprovalAnswer, ApprovalRequest, Approve } from "./core/approval.ts";
import { messageOf, UserError } from "./core/errors.ts";
import type { StoredBody, TreeTerms } from "./core/event.ts";
import type { SpendingState } from "./core/limits.ts";
import { type Message, textOf } from "./core/message.ts";
import type { RunOutcome } from "./core/outcome.ts";
import { type AskOptions, type BilledAnswer, Run, type TreePorts } from "./core/run.ts";
import type { ChildControl, SpawnReply, SpawnRequest } from "./core/spawn.ts";
import { EarlierRuns } from "./earlier-runs.ts";
import { RunListeners } from "./events/run-listeners.ts";
import { Gate } from "./gate.ts";
import { askPerson } from "./loop/ask-consent.ts";
import { repairHistory } from "./loop/repair-history.ts";
import { resumeRun } from "./loop/resume-run.ts";
import { runAgent } from "./loop/run-agent.ts";
import { tellHook } from "./loop/run-hooks.ts";
import { askForRun, reserveFor } from "./model/ask-for-run.ts";
import type { RecordedCall } from "./recorded.ts";
import { rootStart } from "./root-start.ts";
import { spendingState } from "./spending-state.ts";
import { AgentBook, type AgentEntry } from "./subagents/agent-book.ts";
import { closeChildren, nextReport } from "./subagents/background-children.ts";
import { type ControlPorts, childControl } from "./subagents/child-control.ts";
import { type RootStart, type Start, type TreeParts, termsOf } from "./tree-parts.ts";

export class Tree implements TreePorts {
  readonly clock: TreePorts["clock"];
  readonly cwd: string;
  readonly redactor: TreePorts["redactor"];
  readonly rules: TreePorts["rules"];
  readonly maxDepth: number;
  readonly conversation: TreePorts["conversation"];
  readonly onExhausted: TreePorts["onExhausted"];
  readonly onLiveChildren: TreePorts["onLiveChildren"];
  readonly book: AgentBook = new AgentBook();
  readonly denied: { path: string; toolName: string; input: unknown }[] = [];
  /** Set when the tree goes on after a restart. */
  readonly earlierRuns: EarlierRuns | undefined;
  readonly #parts: TreeParts;
  readonly #control: ControlPorts;
  readonly #gate: Gate;
  readonly #listeners: RunListeners;
  readonly #terms: TreeTerms;
  /** When the root began, while it runs, and how long it ran otherwise. */
  #startedAt: number | undefined;
  #usedMs = 0;

  constructor(parts: TreeParts) {
    this.#parts = parts;
    this.earlierRuns = parts.recorded && new EarlierRuns(parts.recorded, this.book, parts);
    this.#gate = new Gate(this, parts);
    this.#listeners = new RunListeners(parts.asking.journal);
    this.clock = parts.asking.clock;
    this.cwd = parts.settings.cwd;
    this.redactor = parts.settings.redactor;
    this.rules = parts.rules;
    this.maxDepth = parts.limits.maxDepth;
    this.conversation = parts.settings.conversation;
    this.onExhausted = parts.settings.onExhausted;
    this.onLiveChildren = parts.settings.onLiveChildren;
    this.#terms = termsOf(parts);
    this.#control = {
      book: this.book,
      revive: (parent, entry, message, callId) => this.#gate.revive(parent, entry, message, callId),
      hasRevived: ({ who }, callId) => callId !== undefined && parts.recorded?.has(who.runId, callId) === true,
      whileResting: (parent, work) => this.whileResting(parent, work),
      endText: parts.records.endText,
    };
  }

  emit(run: Run, body: StoredBody): void {
    run.beats += 1;
    this.#parts.asking.journal.append(run.who, body);
  }

  /** Why not everything that happened was kept. */
  get lost(): string | undefined {
    return this.#parts.asking.journal.degraded;
  }

  settled(): Promise<void> | undefined {
    return this.#parts.asking.journal.settled();
  }

  ask(run: Run, options: AskOptions): Promise<BilledAnswer> {
    return askForRun(run, options, this.#parts.asking);
  }

  approve(run: Run, request: ApprovalRequest): Promise<ApprovalAnswer> | undefined {
    const { approve } = this.#parts;
    if (approve !== undefined) return this.whileResting(run, () => this.#askPerson(run, request, approve));
    this.#deny(request);
    return undefined;
  }

  /** The time of all children stops too, unless another of them is at work. */
  async #askPerson(run: Run, request: ApprovalRequest, approve: Approve): Promise<ApprovalAnswer> {
    const { childTime } = this.#parts.spending;
    const waiting: Run[] = [];
    for (let each = run; each.parent !== undefined; each = each.parent) waiting.push(each);
    for (const each of waiting) childTime.pause(each);
    try {
      return await askPerson(run, request, approve);
    } catch (error) {
      // Whoever should have asked is broken: that is nobody, too.
      if (!run.work.aborted) this.#deny(request);
      throw error;
    } finally {
      for (const each of waiting) childTime.resume(each);
    }
  }

  #deny({ path, toolName, input }: ApprovalRequest): void {
    this.denied.push({ path, toolName, input });
  }

  childrenOf(run: Run, callId: string | undefined): ChildControl {
    return childControl(run, this.#control, callId);
  }

  /** Who reads the report of a child. */
  readerOf(parent: Run | undefined): Reader {
    return { parent, maxBytes: this.#parts.limits.outputMaxSize, redactor: this.redactor };
  }

  backgroundCalls(run: Run): RecordedCall[] {
    return this.earlierRuns?.backgroundCalls(run) ?? [];
  }

  closeOrphans(run: Run): void {
    this.earlierRuns?.closeOrphans(run);
  }

  async nextReport(run: Run): Promise<boolean> {
    if (run.background === undefined || run.background.size === 0) return false;
    return this.whileResting(run, () => nextReport(run));
  }

  closeChildren(run: Run): Promise<void> | undefined {
    const hasBackground = run.background !== undefined && run.background.size > 0;
    return hasBackground || run.openChildren > 0 ? closeChildren(run) : undefined;
  }

  /** The root of the tree, before its first run. */
  async openRoot(agentId: string, definition: AgentDefinition): Promise<AgentEntry> {
    const { root: account, budget } = this.#parts.spending;
    const profile = await this.#parts.profiles.root(definition);
    await checkPrice(profile, account);
    const known = this.earlierRuns?.restoredRoot(profile);
    if (known !== undefined) return known;
    const { name: label } = definition;
    const made = { agentId, parent: undefined, path: label, label, profile, account, budget };
    return this.book.add({ ...made, isBackground: false });
  }

  /** Runs the root, or goes on with it after an earlier run. `work` replaces the agent loop. */
  async runRoot(
    entry: AgentEntry,
    given: RootStart,
    work?: Parameters<typeof runAgent>[1],
  ): Promise<{ run: Run; outcome: RunOutcome }> {
    const start = await rootStart(this, entry, given);
    const run = this.makeRun(start);
    // What only holds others together draws on nothing itself.
    run.holding = work === undefined ? this.#parts.spending.root.enter(entry.path) : undefined;
    this.setDeadline(run, entry);
    this.#startedAt = this.clock.monotonic() - run.usedMs;
    const outcome = await this.execute(run, start, work);
    this.#usedMs = this.clock.monotonic() - this.#startedAt;
    this.#startedAt = undefined;
    try {
      await Promise.all([this.settled(), this.#parts.spending.root.flushed()]);
      return { run, outcome };
    } catch (error) {
      // Its end could not be kept, and whoever asked for a store wants to know.
      run.cause = error;
      return { run, outcome: { ...outcome, status: "failed", fault: { type: "store", message: messageOf(error) } } };
    } finally {
      if (this.lost !== undefined) this.#parts.records.endWithLoss();
    }
  }

  /** What an earlier run said and heard. Throws a `UserError` when not all of it was kept: half a memory is worse than none. */
  async history(runId: string): Promise<Message[]> {
    const { journal } = this.#parts.asking;
    // A loss that makes this reject is told below, like any other.
    await journal.settled()?.catch(() => {});
    if (journal.degraded === undefined) return repairHistory(await this.#parts.records.continuation(runId));
    throw new UserError(`This tree cannot be continued, because not all of it was kept. ${journal.degraded}`);
  }

  setDeadline(run: Run, { budget, durationMs: usedMs }: AgentEntry): void {
    const limit = { timeoutMs: run.profile.timeoutMs, seconds: budget?.seconds, usedMs };
    run.deadline = setDeadline(run, limit, this.#parts.spending.deadlines, this.clock);
  }

  nextPath(parent: Run, label: string): string {
    const above = this.book.get(parent.who.agentId);
    if (above === undefined) throw new Error(`${parent.who.path} is not in the tree`);
    return this.book.nextPath(above, label);
  }

  /** Every limit that holds, and who holds what of it. */
  spending(): SpendingState {
    const usedMs = this.#startedAt === undefined ? this.#usedMs : this.clock.monotonic() - this.#startedAt;
    return spendingState(this.#parts.spending, this.book, usedMs);
  }

  spawn(parent: Run, callId: string, request: SpawnRequest): Promise<SpawnReply> {
    return this.#gate.spawn(parent, callId, request);
  }

  /** A run that waits for a child or a person holds no place, so that those it waits for can have one. */
  whileResting<T>(run: Run, work: () => Promise<T>): Promise<T> {
    return run.slot === undefined ? work() : rest(run.slot, run, work);
  }

  makeRun({ entry, runId, parent, profile, task, conversation, summary, scope, earlier }: Start): Run {
    const { agentId, path, depth, account } = entry;
    const who = { runId, agentId, parentId: parent?.who.runId ?? null, path, depth };
    const about = { who, parent, task: textOf(task), profile, conversation, summary };
    const run = new Run({ ...about, scope, tree: this, account });
    for (const message of conversation.messages) {
      if (message.role !== "assistant") continue;
      for (const part of message.content) if (part.type === "tool-call") run.callIds.add(part.callId);
    }
    if (earlier !== undefined) this.earlierRuns?.giveBack(run, earlier);
    return run;
  }

  /** Records the start and runs the loop to its end. */
  execute(
    run: Run,
    { entry, task, origin, call, summary, summarizes, earlier }: Start,
    work?: Parameters<typeof runAgent>[1],
  ): Promise<RunOutcome> {
    const { profile } = run;
    this.book.started(entry, run);
    if (profile.hooks?.onEvent !== undefined) this.#listeners.add(run.who.runId, profile.hooks.onEvent);
    if (earlier !== undefined) {
      if (run.hasAnswered) run.holding?.keep(reserveFor(run, run.conversation.promptTokens));
      return runAgent(run, (each) => resumeRun(each, earlier.state, work));
    }
    run.emit({
      type: "run-start",
      agent: profile.agentName,
      nickname: profile.nickname,
      label: entry.label,
      task,
      model: profile.model.id,
      instructions: profile.instructions,
      notes: profile.notes,
      maxTurns: profile.maxTurns,
      rights: profile.storedRights,
      origin,
      call,
      summaryPrompt: summary?.prompt,
      ...(summarizes === true && { summarizes }),
      timeoutMs: profile.timeoutMs,
      budget: entry.budget,
      terms: run.parent === undefined ? this.#terms : undefined,
      cwd: run.parent === undefined ? this.#parts.settings.folder : undefined,
    });
    return runAgent(run, work);
  }

  ended(run: Run, outcome: RunOutcome | undefined): void {
    run.endWaits();
    if (run.parent !== undefined) this.#parts.spending.childTime.end();
    this.book.ended(run, outcome);
    if (outcome?.fault !== undefined) void tellHook(run, outcome.fault.message);
    if (outcome !== undefined) run.onEnd?.(outcome);
    this.leave(run);
  }

  /** Gives back whatever the run holds, also when it never started. */
  leave(run: Run): void {
    run.deadline?.[Symbol.dispose]();
    run.firstCall?.lease[Symbol.dispose]();
    run.firstCall = undefined;
    run.slot?.[Symbol.dispose]();
    run.slot = undefined;
    run.holding?.[Symbol.dispose]();
    run.scope[Symbol.dispose]();
  }
}
