/** The one gate for children: every path that makes or revives one goes through here, in the same order. */

import { type Admission, pay } from "./budget/admission.ts";
import { checkSeconds } from "./budget/run-deadline.ts";
import { wakeUp } from "./budget/run-slots.ts";
import { Conversation } from "./core/conversation.ts";
import { type Account, type Budget, type RunSlot, smallerBudget } from "./core/limits.ts";
import { type Message, userMessage } from "./core/message.ts";
import type { RunOutcome } from "./core/outcome.ts";
import { Refused, toRefusal } from "./core/refused.ts";
import { Cancelled, type Run, type RunProfile, type SummaryPlan } from "./core/run.ts";
import { Scope } from "./core/scope.ts";
import type { ChildReport, SpawnOptions, SpawnReply, SpawnRequest } from "./core/spawn.ts";
import { truncateUtf8 } from "./core/truncate.ts";
import { closedPrefix, forkTask } from "./fork.ts";
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
  readonly above: Account;
  readonly account: Account;
  readonly budget: Budget | undefined;
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
    const budget = smallerBudget(profile.budget, options?.budget);
    checkSeconds(budget?.seconds, parent);
    const above = this.#accountBelow(parent);
    const isFork = options?.context === "fork";
    const message = userMessage(isFork ? forkTask(request, profile) : request.task);
    const history = isFork ? closedPrefix(parent.conversation.messages) : NO_HISTORY;
    return {
      label: this.#tree.redactor.text(label), // It becomes part of the path, which every event carries.
      entry: undefined,
      parent,
      profile,
      above,
      account: budget === undefined ? above : above.open(budget),
      budget,
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
    const { profiles, limits } = this.#parts;
    const { status } = entry;
    // From now on it is alive: a second message is for this run, not for another one beside it.
    entry.status = "running";
    try {
      checkDepth(entry.depth, limits.maxDepth);
      const history = await this.#tree.history(entry.lastRunId);
      const profile = profiles.revived(entry.profile, parent.profile);
      const task = userMessage(message);
      const draft: Draft = {
        label: entry.label,
        entry,
        parent,
        profile,
        above: this.#accountBelow(parent),
        account: entry.account,
        budget: entry.budget,
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

  /** What the children of this run draw on, and where their starts are counted. */
  #accountBelow(parent: Run | undefined): Account {
    return parent?.parent === undefined ? this.#parts.spending.children : parent.account;
  }

  /** Pays for the start and runs the child: in the background, or while its parent rests. */
  async #admit(draft: Draft, options?: SpawnOptions, from: "parent" | "outside" = "parent"): Promise<SpawnReply> {
    const { parent, label, scope } = draft;
    let link = options?.signal && stopWith(scope, options.signal);
    const isAwaited = options?.background !== true && from === "parent";
    // Before the child asks for a place: a parent that waits for it is at work no longer.
    const resting = isAwaited ? parent.slot : undefined;
    resting?.rest();
    if (isAwaited) parent.openChildren += 1;
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
      run.onEnd = options?.onEnd;
      if (options?.background === true) {
        const kept = link;
        link = undefined;
        const ended = this.#runChild(run, start, place).finally(() => kept?.[Symbol.dispose]());
        addBackgroundChild(parent, run, label, ended);
        return { kind: "started", child: childInfo(start.entry) };
      }
      if (from === "outside") return { kind: "ended", report: await this.#runForOthers(run, start, place) };
      parent.waitingFor = `its child ${label}`;
      return { kind: "ended", report: await this.#runChild(run, start, place) };
    } catch (error) {
      return this.#refuse(error, parent, label);
    } finally {
      link?.[Symbol.dispose]();
      if (isAwaited) childGone(parent);
      if (resting !== undefined) await wakeUp(resting, parent.scope);
    }
  }

  #pay({ parent, above, account, conversation, profile, scope }: Draft): Admission | Promise<Admission> {
    const { childTime, slots } = this.#parts.spending;
    const giveUp = (error: unknown): never => {
      scope[Symbol.dispose]();
      throw scope.aborted ? new Refused("cancelled", NOT_STARTED) : error;
    };
    try {
      checkWrapUp(parent);
      const lastWords = lastWordsNeed(conversation.promptTokens, profile);
      const paying = pay({ above, account, lastWords, scope, childTime, slots });
      return paying instanceof Promise ? paying.catch(giveUp) : paying;
    } catch (error) {
      return giveUp(error);
    }
  }

  /** After all checks, and synchronously: the order of starts is the order of path numbers. */
  #named(draft: Draft, isBackground: boolean): Start {
    const { book } = this.#tree;
    const { parent, profile, label, account, budget } = draft;
    const runId = this.#parts.records.newId();
    const above = book.get(parent.who.agentId);
    const made = { agentId: runId, parent: above, label, profile, account, budget, isBackground };
    const entry = draft.entry ?? book.add(made);
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
    this.#tree.setDeadline(run, start.entry);
    childTime.start();
    // Its end is told to the clock by the tree, together with everything else it gives back.
    return this.#tree.execute(run, start).then((outcome) => this.#report(run, start, outcome));
  }

  /** The wait may have been long: what was true when it began is looked at again. */
  async #takePlace(run: Run, start: Start, place: Admission["place"]): Promise<RunSlot> {
    try {
      run.slot = await place;
      run.scope.throwIfAborted();
      checkWrapUp(run.parent);
      this.#parts.spending.childTime.check();
      return run.slot;
    } catch (error) {
      this.#accountBelow(run.parent).undoExecution();
      this.#neverStarted(run, start);
      throw run.scope.aborted ? new Refused("cancelled", NOT_STARTED) : error;
    }
  }

  #neverStarted(run: Run, start: Start): void {
    this.#tree.leave(run);
    start.entry.run = undefined;
    if (start.origin?.kind !== "follow-up") this.#tree.book.forget(start.entry);
  }

  /** What the parent hears: bounded, with the bill of everything below. */
  #report(run: Run, { entry, parent }: Start, outcome: RunOutcome): ChildReport {
    const { usage, costUsd } = run.total();
    parent?.billBelow(usage, costUsd);
    if (run.lacksConsent && parent !== undefined) parent.lacksConsent = true;
    const whole = this.#tree.redactor.text(outcome.text);
    const { text, truncated, originalBytes, keptBytes } = truncateUtf8(whole, this.#parts.limits.outputMaxSize);
    const isFetchable = parent?.profile.tools.byName.has("subagent_report") === true;
    return {
      ...childInfo(entry),
      runId: run.who.runId,
      outcome,
      text,
      truncation: truncated ? { originalBytes, keptBytes, isFetchable } : undefined,
      toolLog: run.toolLog,
      totalUsage: usage,
      totalCostUsd: costUsd,
    };
  }
}

/** A run that wraps up starts nothing any more. */
function checkWrapUp(parent: Run | undefined): void {
  if (parent?.isWrappingUp) throw new Refused("cancelled", NOT_STARTED);
}

/** Aborts the scope when the signal does. */
function stopWith(scope: Scope, signal: AbortSignal): Disposable {
  const stop = () => scope.abort(new Cancelled("Subagent cancelled"));
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  return { [Symbol.dispose]: () => signal.removeEventListener("abort", stop) };
}
