/** From a draft to a running child: it pays for its start, and runs while its parent rests or does something else. */

import { type Fee, pay } from "./budget/admission.ts";
import { checkPrice } from "./budget/check-price.ts";
import { wakeUp } from "./budget/run-slots.ts";
import { recordedReport, reportOf } from "./child-report.ts";
import type { Account, RunSlot, Started } from "./core/limits.ts";
import type { RunOutcome } from "./core/outcome.ts";
import { Refused, toRefusal } from "./core/refused.ts";
import { Cancelled, type Run } from "./core/run.ts";
import type { Scope } from "./core/scope.ts";
import type { ChildReport, SpawnOptions, SpawnReply } from "./core/spawn.ts";
import { ToolLog } from "./core/tool-log.ts";
import { type Draft, NOT_STARTED } from "./draft.ts";
import { callNeed, tellBudgetWait } from "./model/ask-for-run.ts";
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

  /** `child` is what it would have been; undefined when it did not get that far. */
  refuse(error: unknown, parent: Run, label: string, child?: { path: string; waited: boolean }): SpawnReply {
    const refusal = toRefusal(error);
    if (refusal === undefined) throw error;
    const { errorType, message } = refusal;
    const childPath = child?.path;
    const waited = child?.waited === true ? true : undefined;
    // Nothing comes after the end of a run, not even the refusal of a child that somebody wanted of it.
    if (this.#tree.book.isLive(parent))
      parent.emit({ type: "spawn-refused", label, childPath, waited, errorType, message });
    return { kind: "refused", errorType, message };
  }

  /**
   * Pays for the start and runs the child: in the background, or while its parent rests. What keeps it from starting is a
   * reply; for one that had started before a restart it is thrown.
   */
  async start(draft: Draft, options: SpawnOptions = {}, from: "parent" | "outside" = "parent"): Promise<SpawnReply> {
    const { parent, label, path, earlier, scope } = draft;
    const isBackground = options.background === true;
    const start = this.#enrol(draft, isBackground);
    const run = this.#makeRun(start, options);
    const rest = from === "parent" && !isBackground ? new ParentRest(parent, draft.call?.callId) : undefined;
    const link = options.signal && stopWith(scope, options.signal);
    try {
      if (isBackground) return await this.#inBackground(run, start, draft, link);
      using _link = link;
      if (rest !== undefined) parent.waitingFor = `its child ${label}`;
      const ended = this.#run(run, start, draft, rest === undefined ? undefined : draft.call?.callId);
      if (rest === undefined && !scope.aborted)
        addOutsideChild(
          parent,
          run,
          ended.then((end) => this.#report(end, run)),
        );
      return { kind: "ended", report: this.#report(await ended, run) };
    } catch (error) {
      if (earlier !== undefined) throw error;
      return this.refuse(error, parent, label, { path, waited: run.waitedToStart });
    } finally {
      await rest?.end();
    }
  }

  /** Its parent does not wait for it; what keeps it from starting later is told to the parent then. */
  async #inBackground(run: Run, start: Start, draft: Draft, link: Disposable | undefined): Promise<SpawnReply> {
    const asked = Promise.withResolvers<void>();
    const ended = this.#run(run, start, draft, undefined, asked.resolve);
    const reported = ended.then((end) => this.#report(end, run)).finally(() => link?.[Symbol.dispose]());
    await Promise.race([asked.promise, reported]);
    const { parent, label, path } = draft;
    reported.catch((error: unknown) => {
      if (toRefusal(error)) this.refuse(error, parent, label, { path, waited: true });
    });
    addBackgroundChild(parent, run, label, reported);
    return { kind: "started", child: childInfo(start.entry) };
  }

  /**
   * Waits until it can start, then runs it to its end. `callId` is the call of its parent that waits for it; `onAsked` is
   * told when it stands in the line, or has started.
   */
  async #run(
    run: Run,
    start: Start,
    draft: Draft,
    callId: string | undefined,
    onAsked: () => void = () => {},
  ): Promise<Ended> {
    try {
      const paying = this.#pay(run, draft, callId, onAsked);
      run.waitedToStart = paying instanceof Promise;
      const { holding, slot, first } = paying instanceof Promise ? await paying : paying;
      run.holding = holding;
      run.slot = slot;
      const { promptTokens } = draft.conversation;
      run.firstCall = first && { lease: first, promptTokens };
      this.#checkStillWanted(run, draft);
    } catch (error) {
      this.#neverStarted(run, start);
      return this.#closed(start, run.scope.aborted ? new Refused("cancelled", NOT_STARTED) : error);
    }
    if (draft.earlier === undefined) draft.above.useExecution();
    this.#tree.setDeadline(run, start.entry);
    this.#parts.spending.childTime.start();
    // Its end is told to the clock by the tree, together with everything else it gives back.
    return this.#tree.execute(run, start);
  }

  #pay(run: Run, draft: Draft, callId: string | undefined, onAsked: () => void): Started | Promise<Started> {
    const { parent, above, account, conversation, profile, scope, earlier } = draft;
    // A tool can keep its context, and a message can come from outside: the run that wanted the child may have ended.
    if (!this.#tree.book.isLive(parent)) scope.abort(new Cancelled(NOT_STARTED));
    checkWrapUp(parent);
    const fee: Fee = {
      path: run.who.path,
      above: parent.holding,
      callId,
      // One that goes on after a restart may have to finish its tools first.
      need: earlier === undefined ? callNeed(conversation.promptTokens, profile) : undefined,
      scope,
      onWait: (limit) => tellBudgetWait(run, limit, this.#parts.asking.journal),
      onRefused: () => run.endWaits(),
      counting: above,
      account,
      childTime: this.#parts.spending.childTime,
      isCounted: earlier !== undefined,
      onAsked,
    };
    const checking = checkPrice(profile, account);
    return checking instanceof Promise ? checking.then(() => pay(fee)) : pay(fee);
  }

  /** The wait may have been long: what was true when it began is looked at again. */
  #checkStillWanted(run: Run, { parent, above, earlier }: Draft): void {
    try {
      run.scope.throwIfAborted();
      checkWrapUp(parent);
      this.#parts.spending.childTime.check();
    } catch (error) {
      if (earlier === undefined) above.undoExecution();
      throw error;
    }
  }

  #report(ended: Ended, run: Run): ChildReport {
    if ("outcome" in ended) return ended;
    const entry = this.#tree.book.get(run.who.agentId);
    if (entry === undefined) throw new Error("A child that never was has ended");
    return reportOf(run, entry, ended, this.#tree.readerOf(run.parent));
  }

  /** Makes it known under its path, before it has paid. */
  #enrol(draft: Draft, isBackground: boolean): Start {
    const { book } = this.#tree;
    const { parent, profile, label, path, account, budget } = draft;
    const runId = draft.earlier?.runId ?? this.#parts.records.newId();
    const above = book.get(parent.who.agentId);
    const made = { agentId: runId, parent: above, path, label, profile, account, budget, isBackground };
    const entry = draft.entry ?? book.add(made);
    entry.profile = profile;
    const { task, conversation, origin, call, summary, scope, earlier } = draft;
    return { entry, runId, parent, profile, task, conversation, origin, call, summary, scope, earlier };
  }

  #makeRun(start: Start, { keepToolLog, onEnd }: SpawnOptions): Run {
    const run = this.#tree.makeRun(start);
    start.entry.run = run;
    run.onEnd = onEnd;
    if (keepToolLog) {
      const { earlier, profile } = start;
      run.toolLog = new ToolLog(earlier && this.#tree.earlierRuns?.toolLog(earlier, profile));
    }
    return run;
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

  #neverStarted(run: Run, start: Start): void {
    run.endWaits();
    this.#tree.leave(run);
    start.entry.run = undefined;
    if (start.origin?.kind !== "follow-up" && start.earlier === undefined) this.#tree.book.forget(start.entry);
  }
}

/** How a child ended, or the report of one that ended before a restart. */
type Ended = RunOutcome | ChildReport;

/** A parent that waits for a child is at work no longer: it gives its place back before the child asks for one. */
class ParentRest {
  readonly #parent: Run;
  readonly #slot: RunSlot | undefined;
  /** The call that waits. */
  readonly #callId: string | undefined;

  constructor(parent: Run, callId: string | undefined) {
    this.#parent = parent;
    this.#callId = callId;
    this.#slot = parent.slot;
    this.#slot?.rest();
    parent.openChildren += 1;
  }

  async end(): Promise<void> {
    const { scope, holding } = this.#parent;
    childGone(this.#parent);
    if (this.#slot !== undefined) await wakeUp(this.#slot, scope, holding, this.#callId);
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
