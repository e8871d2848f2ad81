/** From a draft to a running child: it pays, gets its path and its place, and runs while its parent rests or goes on. */

import { type Admission, pay } from "./budget/admission.ts";
import { wakeUp } from "./budget/run-slots.ts";
import { recordedReport, reportOf } from "./child-report.ts";
import type { Account, RunSlot } from "./core/limits.ts";
import type { RunOutcome } from "./core/outcome.ts";
import { Refused, toRefusal } from "./core/refused.ts";
import { Cancelled, type Run } from "./core/run.ts";
import type { Scope } from "./core/scope.ts";
import type { ChildReport, SpawnOptions, SpawnReply } from "./core/spawn.ts";
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
   * reply; for one that had started before a restart it is thrown.
   */
  async start(draft: Draft, options?: SpawnOptions, from: "parent" | "outside" = "parent"): Promise<SpawnReply> {
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
      if (options?.keepToolLog) run.toolLog = this.#tree.toolLogOf(draft.earlier);
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
      if (draft.earlier !== undefined) throw error;
      return this.refuse(error, parent, label);
    } finally {
      link?.[Symbol.dispose]();
      if (isAwaited) childGone(parent);
      if (resting !== undefined) await wakeUp(resting, parent.scope);
    }
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
      const paying = pay({ above, account, lastWords, scope, childTime, slots, isCounted: earlier !== undefined });
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

  /** The parent goes on meanwhile. */
  #runForOthers(run: Run, start: Start, place: Admission["place"]): Promise<ChildReport> {
    const ended = this.#runChild(run, start, place);
    if (start.parent !== undefined && !run.scope.aborted) addOutsideChild(start.parent, run, ended);
    return ended;
  }

  #runChild(run: Run, start: Start, place: Admission["place"]): Promise<ChildReport> {
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

  #report(run: Run, { entry, parent }: Start, outcome: RunOutcome): ChildReport {
    return reportOf(run, entry, outcome, this.#tree.readerOf(parent));
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
