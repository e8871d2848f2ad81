/** The one gate for children: every path that makes or revives one goes through here, in the same order. */

import { type Admission, pay } from "./budget/admission.ts";
import { Conversation } from "./core/conversation.ts";
import { BudgetExceeded, messageOf, ToolFailure, UserError } from "./core/errors.ts";
import type { Account, Budget, RunSlot } from "./core/limits.ts";
import { type Message, userMessage } from "./core/message.ts";
import type { RunOutcome } from "./core/outcome.ts";
import { Refused } from "./core/refused.ts";
import { Cancelled, type Run, type RunProfile, type SummaryPlan, TimedOut, timeLimit } from "./core/run.ts";
import { Scope } from "./core/scope.ts";
import type { ChildReport, SpawnOptions, SpawnReply, SpawnRequest } from "./core/spawn.ts";
import { truncateUtf8 } from "./core/truncate.ts";
import { closedPrefix, forkTask } from "./fork.ts";
import { repairHistory } from "./loop/repair-history.ts";
import { lastWordsNeed } from "./model/ask-for-run.ts";
import { type AgentEntry, childInfo } from "./subagents/agent-book.ts";
import { addBackgroundChild, addOutsideChild, childGone } from "./subagents/background-children.ts";
import { checkDepth, checkRequest } from "./subagents/check-spawn.ts";
import type { Tree } from "./tree.ts";
import type { Start, TreeParts } from "./tree-parts.ts";

const NOT_STARTED = "Subagent cancelled before it started";

const NO_HISTORY: readonly Message[] = [];

/** A child that has passed the checks of its input and its rights, and has neither paid nor got a path. */
type Draft = Omit<Start, "entry" | "runId" | "parent"> & {
  readonly label: string;
  readonly parent: Run;
  readonly account: Account;
  /** Set for a follow-up: it keeps its place. */
  readonly entry: AgentEntry | undefined;
};

export class Gate {
  readonly #tree: Tree;
  readonly #parts: TreeParts;
  readonly #ordinarySummary: SummaryPlan;

  constructor(tree: Tree, parts: TreeParts) {
    this.#tree = tree;
    this.#parts = parts;
    this.#ordinarySummary = { mode: parts.limits.summary, prompt: undefined, maxBytes: parts.limits.outputMaxSize };
  }

  /** In this order: depth, input, rights, ledger, path, place, record, start. Each refusal is a reply and costs nothing. */
  spawn(parent: Run, callId: string, request: SpawnRequest): Promise<SpawnReply> {
    try {
      checkDepth(parent.who.depth + 1, this.#parts.limits.maxDepth);
      checkRequest(request, parent);
      const building = this.#parts.profiles.child(parent.profile, request);
      if (building instanceof Promise) return this.#afterBuilding(building, parent, callId, request);
      return this.#admit(this.#draft(parent, callId, request, building), request.options);
    } catch (error) {
      return Promise.resolve(this.#refuse(error, parent, request.label));
    }
  }

  async #afterBuilding(
    building: Promise<RunProfile>,
    parent: Run,
    callId: string,
    request: SpawnRequest,
  ): Promise<SpawnReply> {
    try {
      return await this.#admit(this.#draft(parent, callId, request, await building), request.options);
    } catch (error) {
      return this.#refuse(error, parent, request.label);
    }
  }

  #draft(parent: Run, callId: string, request: SpawnRequest, profile: RunProfile): Draft {
    const { label, index = 0, options } = request;
    const isFork = options?.context === "fork";
    const message = userMessage(isFork ? forkTask(request, profile) : request.task);
    const history = isFork ? closedPrefix(parent.conversation.messages) : NO_HISTORY;
    return {
      label,
      entry: undefined,
      parent,
      profile,
      account: this.#openAccount(parent, options?.budget ?? profile.budget),
      task: message,
      conversation: new Conversation([...history, message], profile.tools.bytes),
      origin: isFork ? { kind: "fork", runId: parent.who.runId, messages: history.length } : undefined,
      call: { callId, index },
      summary: this.#summary(options),
      scope: new Scope(parent.scope),
    };
  }

  /** Shared by all children that do not ask for something of their own. */
  #summary(options: SpawnOptions | undefined): SummaryPlan {
    if (options?.summary === undefined && options?.summaryPrompt === undefined) return this.#ordinarySummary;
    const { mode, maxBytes } = this.#ordinarySummary;
    return { mode: options.summary ?? mode, prompt: options.summaryPrompt, maxBytes };
  }

  /**
   * A follow-up is a new run under the same path, narrowed by what the parent may pass on now. One from outside the tree
   * has a parent that does not wait for it.
   */
  async revive(parent: Run, entry: AgentEntry, message: string, from: "parent" | "outside"): Promise<SpawnReply> {
    const { profiles, records, limits } = this.#parts;
    const { status } = entry;
    // From now on it is alive: a second message is for this run, not for another one beside it.
    entry.status = "running";
    try {
      checkDepth(entry.depth, limits.maxDepth);
      await this.#tree.settled();
      const profile = profiles.revived(entry.profile, parent.profile);
      const task = userMessage(message);
      const history = repairHistory(await records.messages(entry.lastRunId));
      const draft: Draft = {
        label: entry.label,
        entry,
        parent,
        profile,
        account: entry.account,
        task,
        conversation: new Conversation([...history, task], profile.tools.bytes),
        origin: { kind: "follow-up", runId: entry.lastRunId },
        call: undefined,
        summary: this.#ordinarySummary,
        scope: new Scope(parent.scope),
      };
      return await this.#admit(draft, undefined, from);
    } catch (error) {
      return this.#refuse(error, parent, entry.label);
    } finally {
      if (entry.status === "running") entry.status = status;
    }
  }

  #refuse(error: unknown, parent: Run, label: string): SpawnReply {
    const refusal = toRefusal(error);
    if (refusal === undefined) throw error;
    const { errorType, message } = refusal;
    // Nothing comes after the end of a run, not even the refusal of a child that somebody wanted of it.
    if (this.#tree.book.isLive(parent)) parent.emit({ type: "spawn-refused", label, errorType, message });
    return { kind: "refused", errorType, message };
  }

  #openAccount(parent: Run, budget: Budget | undefined): Account {
    const account = parent.parent === undefined ? this.#parts.spending.children : parent.account;
    return budget === undefined ? account : account.open(budget);
  }

  /** Pays for the start and runs the child: in the background, or while its parent rests. */
  async #admit(draft: Draft, options?: SpawnOptions, from: "parent" | "outside" = "parent"): Promise<SpawnReply> {
    const { parent, label, scope } = draft;
    const link = options?.signal === undefined ? undefined : stopWith(scope, options.signal);
    let isResting = false;
    try {
      const paying = this.#pay(draft);
      const { lastWords, place } = paying instanceof Promise ? await paying : paying;
      // A tool can keep its context, and a message can come from outside: whoever wanted the child may have ended.
      if (!this.#tree.book.isLive(parent)) scope.abort(new Cancelled(NOT_STARTED));
      const start = this.#named(draft, options?.background === true);
      const run = this.#tree.makeRun(start);
      start.entry.run = run;
      run.lastWords = lastWords;
      if (options?.keepToolLog) run.toolLog = [];
      if (options?.background === true) {
        addBackgroundChild(parent, run, label, this.#runChild(run, start, place));
        return { kind: "started", child: childInfo(start.entry) };
      }
      if (from === "outside") return { kind: "ended", report: await this.#runForOthers(run, start, place) };
      parent.waitingFor = `its child ${label}`;
      parent.slot?.rest();
      parent.openChildren += 1;
      isResting = true;
      return { kind: "ended", report: await this.#runChild(run, start, place) };
    } catch (error) {
      return this.#refuse(error, parent, label);
    } finally {
      link?.[Symbol.dispose]();
      if (isResting) childGone(parent);
      // A stopped parent needs no place any more.
      if (isResting && parent.slot !== undefined && !parent.scope.aborted) await parent.slot.wake(parent.scope);
    }
  }

  #pay({ account, conversation, profile, scope }: Draft): Admission | Promise<Admission> {
    const { childTime, slots } = this.#parts.spending;
    const giveUp = (error: unknown): never => {
      scope[Symbol.dispose]();
      throw scope.aborted ? new Refused("cancelled", NOT_STARTED) : error;
    };
    try {
      const lastWords = lastWordsNeed(conversation.promptTokens, profile);
      const paying = pay({ account, lastWords, scope, childTime, slots });
      return paying instanceof Promise ? paying.catch(giveUp) : paying;
    } catch (error) {
      return giveUp(error);
    }
  }

  /** After all checks, and synchronously: the order of starts is the order of path numbers. */
  #named({ label, account, ...draft }: Draft, isBackground: boolean): Start {
    const { book } = this.#tree;
    const { parent, profile } = draft;
    const runId = this.#parts.records.newId();
    const above = book.get(parent.who.agentId);
    const entry = draft.entry ?? book.add({ agentId: runId, parent: above, label, profile, account, isBackground });
    const { task, conversation, origin, call, summary, scope } = draft;
    return { entry, runId, parent, profile, task, conversation, origin, call, summary, scope };
  }

  /** The parent goes on meanwhile. */
  #runForOthers(run: Run, start: Start, place: Admission["place"]): Promise<ChildReport> {
    const ended = this.#runChild(run, start, place);
    if (start.parent !== undefined && !run.scope.aborted) addOutsideChild(start.parent, run, ended);
    return ended;
  }

  #runChild(run: Run, start: Start, place: Admission["place"]): Promise<ChildReport> {
    if (!(place instanceof Promise) && !run.scope.aborted) return this.#startChild(run, start, place);
    return this.#takePlace(run, start, place).then((slot) => this.#startChild(run, start, slot));
  }

  #startChild(run: Run, start: Start, slot: RunSlot): Promise<ChildReport> {
    const { childTime } = this.#parts.spending;
    run.slot = slot;
    this.#setDeadline(run);
    childTime.start();
    return this.#tree
      .execute(run, start)
      .finally(() => childTime.end())
      .then((outcome) => this.#report(run, start, outcome));
  }

  async #takePlace(run: Run, start: Start, place: Admission["place"]): Promise<RunSlot> {
    try {
      const slot = await place;
      if (!run.scope.aborted) return slot;
      slot[Symbol.dispose]();
      throw run.scope.reason;
    } catch (error) {
      if (!run.scope.aborted) throw error;
      run.account.undoExecution();
      this.#neverStarted(run, start);
      throw new Refused("cancelled", NOT_STARTED);
    }
  }

  #neverStarted(run: Run, start: Start): void {
    this.#tree.leave(run);
    start.entry.run = undefined;
    if (start.origin?.kind !== "follow-up") this.#tree.book.forget(start.entry);
  }

  #setDeadline(run: Run): void {
    const timeoutMs = timeLimit(run.profile);
    if (timeoutMs === undefined) return;
    run.deadline = this.#parts.spending.deadlines.add(timeoutMs, () => {
      run.scope.abort(new TimedOut(`Subagent timed out after ${timeoutMs} ms`, run.who.runId));
    });
  }

  /** What the parent hears: bounded, with the bill of everything below. */
  #report(run: Run, { entry, parent }: Start, outcome: RunOutcome): ChildReport {
    const { usage, costUsd } = run.total();
    parent?.billBelow(usage, costUsd);
    if (run.lacksConsent && parent !== undefined) parent.lacksConsent = true;
    const { text, truncated, originalBytes, keptBytes } = truncateUtf8(outcome.text, this.#parts.limits.outputMaxSize);
    return {
      ...childInfo(entry),
      runId: run.who.runId,
      outcome,
      text,
      truncation: truncated ? { originalBytes, keptBytes } : undefined,
      toolLog: run.toolLog,
      totalUsage: usage,
      totalCostUsd: costUsd,
    };
  }
}

/** Aborts the scope when the signal does. */
function stopWith(scope: Scope, signal: AbortSignal): Disposable {
  const stop = () => scope.abort(new Cancelled("Subagent cancelled"));
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  return { [Symbol.dispose]: () => signal.removeEventListener("abort", stop) };
}

/** What the model may read; anything else is a fault of ours and goes up. */
function toRefusal(error: unknown): Refused | undefined {
  if (error instanceof Refused) return error;
  if (error instanceof BudgetExceeded) return new Refused("quota", error.message);
  if (error instanceof ToolFailure) return new Refused("quota", error.message);
  if (error instanceof UserError) return new Refused("invalid_input", messageOf(error));
  return undefined;
}
