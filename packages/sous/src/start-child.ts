/** From a draft to a running child: it pays, gets its path and its place, and runs while its parent rests or goes on. */

import { type Admission, pay } from "./budget/admission.ts";
import { checkPrice } from "./budget/check-price.ts";
import { wakeUp } from "./budget/run-slots.ts";
import { recordedReport, reportOf } from "./child-report.ts";
import type { Account, RunSlot } from "./core/limits.ts";
import type { RunOutcome } from "./core/outcome.ts";
import { Refused, toRefusal } from "./core/refused.ts";
import { Cancelled, type Run } from "./core/run.ts";
import type { Scope } from "./core/scope.ts";
import type { ChildReport, SpawnOptions, SpawnReply } from "./core/spawn.ts";
import { ToolLog } from "./core/tool-log.ts";
import { type Draft, NOT_STARTED } from "./draft.ts";
import { lastWordsNeed } from "./model/ask-for-run.ts";
import { childInfo } from "./subagents/agent-book.ts";
import { addBackgroundChild, addOutsideChild, childGone } from "./subagents/background-children.ts";
import type { Tree } from "./tree.ts";
import type { Start, TreeParts } from "./tree-parts.ts";

export class ChildStarter {
  readonly #tree: Tree;
  readonly #parts: TreeParts;

  constructor(tree: Tree, parts: TreeParts) {
    this.#tree = tree;
    this.#parts = parts;
  }

  /** What the children of this run draw on, and where their starts are counted. */
  accountBelow(parent: Run | undefined): Account {
    return parent?.parent === undefined ? this.#parts.spending.children : parent.account;
  }

  refuse(error: unknown, parent: Run, label: string): SpawnReply {
    const refusal = toRefusal(error);
    if (refusal === undefined) throw error;
    const { errorType, message } = refusal;
    // Nothing comes after the end of a run, not even the refusal of a child that somebody wanted of it.
    if (this.#tree.book.isLive(parent)) parent.emit({ type: "spawn-refused", label, errorType, message });
    return { kind: "refused", errorType, message };
  }

  /**
   * Pays for the start and runs the child: in the background, or while its parent rests. What keeps it from starting is a
   * reply; for one that had started before a restart it is thrown. A chain, not an async function: that would keep one
   * more frame, and the draft, for every live child.
   */
  start(draft: Draft, options?: SpawnOptions, from: "parent" | "outside" = "parent"): Promise<SpawnReply> {
    const wait = new ParentWait(draft, options, from);
    let started: Promise<Ended | SpawnReply>;
    try {
      const paying = this.#pay(draft);
      started =
        paying instanceof Promise
          ? paying.then((admission) => this.#begin(draft, admission, options, wait))
          : this.#begin(draft, paying, options, wait);
    } catch (error) {
      started = Promise.reject(error);
    }
    return this.#reply(started, wait);
  }

  #reply(started: Promise<Ended | SpawnReply>, wait: ParentWait): Promise<SpawnReply> {
    return started.then(
      (value) => wait.end(() => ("kind" in value ? value : { kind: "ended", report: this.#report(value, wait.run) })),
      (error: unknown) =>
        wait.end(() => {
          if (wait.hadStarted) throw error;
          return this.refuse(error, wait.parent, wait.label);
        }),
    );
  }

  /** It is paid for. Settles with its end, or at once when it runs in the background. */
  #begin(
    draft: Draft,
    { lastWords, place }: Admission,
    options: SpawnOptions | undefined,
    wait: ParentWait,
  ): Promise<Ended | SpawnReply> {
    const { parent, label, scope } = draft;
    // A tool can keep its context, and a message can come from outside: whoever wanted the child may have ended.
    if (!this.#tree.book.isLive(parent)) scope.abort(new Cancelled(NOT_STARTED));
    const isBackground = options?.background === true;
    const start = this.#named(draft, isBackground);
    const run = this.#tree.makeRun(start);
    start.entry.run = run;
    run.lastWords = lastWords;
    if (options?.keepToolLog)
      run.toolLog = new ToolLog(draft.earlier && this.#tree.earlierRuns?.toolLog(draft.earlier));
    run.onEnd = options?.onEnd;
    wait.run = run;
    const ended = this.#runChild(run, start, place);
    if (wait.isAwaited) {
      parent.waitingFor = `its child ${label}`;
      return ended;
    }
    // The parent goes on meanwhile.
    const reported = ended.then((end) => this.#report(end, run));
    if (isBackground) {
      const link = wait.takeLink();
      const released = link === undefined ? reported : reported.finally(() => link[Symbol.dispose]());
      addBackgroundChild(parent, run, label, released);
      return Promise.resolve({ kind: "started", child: childInfo(start.entry) });
    }
    if (!scope.aborted) addOutsideChild(parent, run, reported);
    return reported;
  }

  #report(ended: Ended, run: Run | undefined): ChildReport {
    if ("outcome" in ended) return ended;
    const entry = run && this.#tree.book.get(run.who.agentId);
    if (run === undefined || entry === undefined) throw new Error("A child that never was has ended");
    return reportOf(run, entry, ended, this.#tree.readerOf(run.parent));
  }

  #pay({ parent, above, account, conversation, profile, scope, earlier }: Draft): Admission | Promise<Admission> {
    const { childTime, slots } = this.#parts.spending;
    const giveUp = (error: unknown): never => {
      scope[Symbol.dispose]();
      throw scope.aborted ? new Refused("cancelled", NOT_STARTED) : error;
    };
    try {
      checkWrapUp(parent);
      const lastWords = lastWordsNeed(conversation.promptTokens, profile);
      const fee = { above, account, lastWords, scope, childTime, slots, isCounted: earlier !== undefined };
      const checking = checkPrice(profile, account);
      const paying = checking instanceof Promise ? checking.then(() => pay(fee)) : pay(fee);
      return paying instanceof Promise ? paying.catch(giveUp) : paying;
    } catch (error) {
      return giveUp(error);
    }
  }

  /** After all checks, and synchronously: the order of starts is the order of path numbers. */
  #named(draft: Draft, isBackground: boolean): Start {
    const { book } = this.#tree;
    const { parent, profile, label, account, budget } = draft;
    const runId = draft.earlier?.runId ?? this.#parts.records.newId();
    const above = book.get(parent.who.agentId);
    const made = { agentId: runId, parent: above, label, profile, account, budget, isBackground };
    const entry = draft.entry ?? book.add(made);
    entry.profile = profile;
    const { task, conversation, origin, call, summary, scope, earlier } = draft;
    return { entry, runId, parent, profile, task, conversation, origin, call, summary, scope, earlier };
  }

  #runChild(run: Run, start: Start, place: Admission["place"]): Promise<Ended> {
    if (!(place instanceof Promise) && !run.scope.aborted) return this.#startChild(run, start, place);
    return this.#takePlace(run, start, place).then(
      (slot) => this.#startChild(run, start, slot),
      (error: unknown) => this.#closed(start, error),
    );
  }

  /** One that had started before a restart has an end and a report, also when it never got its place again. */
  #closed({ entry, parent, earlier }: Start, error: unknown): ChildReport {
    const refusal = toRefusal(error);
    const runs = this.#tree.earlierRuns;
    if (refusal === undefined || earlier === undefined || parent === undefined || runs === undefined) throw error;
    runs.close(parent, earlier, refusal.errorType, refusal.message);
    const report = recordedReport(earlier, entry, runs.recorded, this.#tree.readerOf(parent));
    if (report === undefined) throw error;
    return report;
  }

  #startChild(run: Run, start: Start, slot: RunSlot): Promise<RunOutcome> {
    const { childTime } = this.#parts.spending;
    run.slot = slot;
    this.#tree.setDeadline(run, start.entry);
    childTime.start();
    // Its end is told to the clock by the tree, together with everything else it gives back.
    return this.#tree.execute(run, start);
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
      if (start.earlier === undefined) this.accountBelow(run.parent).undoExecution();
      this.#neverStarted(run, start);
      throw run.scope.aborted ? new Refused("cancelled", NOT_STARTED) : error;
    }
  }

  #neverStarted(run: Run, start: Start): void {
    this.#tree.leave(run);
    start.entry.run = undefined;
    if (start.origin?.kind !== "follow-up" && start.earlier === undefined) this.#tree.book.forget(start.entry);
  }
}

/** How a child ended, or the report of one that ended before a restart. */
type Ended = RunOutcome | ChildReport;

/** What a parent does while a child starts and lives: it rests, if it waits for it. */
class ParentWait {
  readonly parent: Run;
  readonly label: string;
  /** False when the child runs in the background, or for somebody outside. */
  readonly isAwaited: boolean;
  /** Before a restart. */
  readonly hadStarted: boolean;
  /** The child, once it is paid for. */
  run: Run | undefined;
  readonly #resting: RunSlot | undefined;
  #link: Disposable | undefined;

  constructor(draft: Draft, options: SpawnOptions | undefined, from: "parent" | "outside") {
    const { parent, label, scope, earlier } = draft;
    this.parent = parent;
    this.label = label;
    this.hadStarted = earlier !== undefined;
    this.isAwaited = options?.background !== true && from === "parent";
    this.#link = options?.signal && stopWith(scope, options.signal);
    // Before the child asks for a place: a parent that waits for it is at work no longer.
    this.#resting = this.isAwaited ? parent.slot : undefined;
    this.#resting?.rest();
    if (this.isAwaited) parent.openChildren += 1;
  }

  /** From now on somebody else lets go of the signal that stops the child. */
  takeLink(): Disposable | undefined {
    const link = this.#link;
    this.#link = undefined;
    return link;
  }

  /** The parent goes on, whatever comes of the reply. */
  end(toReply: () => SpawnReply): SpawnReply | Promise<SpawnReply> {
    let settle: () => SpawnReply;
    try {
      const reply = toReply();
      settle = () => reply;
    } catch (error) {
      settle = () => {
        throw error;
      };
    }
    this.#link?.[Symbol.dispose]();
    if (this.isAwaited) childGone(this.parent);
    return this.#resting === undefined ? settle() : wakeUp(this.#resting, this.parent.scope).then(settle);
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
