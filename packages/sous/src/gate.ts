/** The one gate for children: every path that makes or revives one goes through here, in the same order. */

import { BudgetExceeded, messageOf, ToolFailure, UserError } from "./core/errors.ts";
import type { Account, Budget, RunSlot } from "./core/limits.ts";
import { type Message, userMessage } from "./core/message.ts";
import { Refused } from "./core/refused.ts";
import { Cancelled, type Run, TimedOut } from "./core/run.ts";
import { Scope } from "./core/scope.ts";
import type { ChildReport, SpawnOptions, SpawnReply, SpawnRequest } from "./core/spawn.ts";
import { truncateUtf8 } from "./core/truncate.ts";
import { repairHistory } from "./loop/repair-history.ts";
import { reserveLastWords } from "./model/ask-for-run.ts";
import { type AgentEntry, childInfo } from "./subagents/agent-book.ts";
import { addBackgroundChild } from "./subagents/background-children.ts";
import { checkDepth, checkRequest } from "./subagents/check-spawn.ts";
import type { Start, Tree, TreeParts } from "./tree.ts";

const NOT_STARTED = "Subagent cancelled before it started";
const NO_OPTIONS: SpawnOptions = Object.freeze({});

export class Gate {
  readonly #tree: Tree;
  readonly #parts: TreeParts;

  constructor(tree: Tree, parts: TreeParts) {
    this.#tree = tree;
    this.#parts = parts;
  }

  /** In this order: depth, input, rights, ledger, path, place, record, start. Each refusal is a reply and costs nothing. */
  async spawn(parent: Run, callId: string, scope: Scope, request: SpawnRequest): Promise<SpawnReply> {
    const { label, options = NO_OPTIONS } = request;
    const { records, profiles, limits } = this.#parts;
    const { book } = this.#tree;
    try {
      checkDepth(parent.who.depth + 1, limits.maxDepth);
      checkRequest(request, parent);
      const building = profiles.child(parent.profile, request);
      const profile = building instanceof Promise ? await building : building;
      const account = this.#openAccount(parent, options.budget ?? profile.budget);
      const isFork = options.context === "fork";
      const history = isFork ? closedPrefix(parent.conversation.messages) : [];
      const runId = records.newId();
      const entry = book.add({
        agentId: runId,
        parent: book.get(parent.who.agentId),
        label,
        profile,
        account,
        isBackground: options.background === true,
      });
      const origin = isFork
        ? ({ kind: "fork", runId: parent.who.runId, messages: history.length } as const)
        : undefined;
      const start: Start = {
        entry,
        runId,
        parent,
        profile,
        task: userMessage(request.task),
        history,
        origin,
        call: { callId, index: request.index ?? 0 },
        summary: {
          mode: options.summary ?? limits.summary,
          prompt: options.summaryPrompt,
          maxBytes: limits.outputMaxSize,
        },
        scope: new Scope(entry.isBackground ? parent.scope : scope),
      };
      return await this.#admit(start, parent, options);
    } catch (error) {
      return this.#refuse(error, parent, label);
    }
  }

  /** A follow-up is a new run under the same path, narrowed by what the parent may pass on now. */
  async revive(parent: Run, entry: AgentEntry, message: string, scope: Scope): Promise<SpawnReply> {
    const { profiles, records, limits } = this.#parts;
    try {
      checkDepth(entry.depth, limits.maxDepth);
      await this.#tree.settled();
      const start: Start = {
        entry,
        runId: records.newId(),
        parent,
        profile: profiles.revived(entry.profile, parent.profile),
        task: userMessage(message),
        history: repairHistory(await records.messages(entry.lastRunId)),
        origin: { kind: "follow-up", runId: entry.lastRunId },
        call: undefined,
        summary: { mode: limits.summary, prompt: undefined, maxBytes: limits.outputMaxSize },
        scope: new Scope(scope),
      };
      return await this.#admit(start, parent, NO_OPTIONS);
    } catch (error) {
      return this.#refuse(error, parent, entry.label);
    }
  }

  #refuse(error: unknown, parent: Run, label: string): SpawnReply {
    const refusal = toRefusal(error);
    if (refusal === undefined) throw error;
    const { errorType, message } = refusal;
    parent.emit({ type: "spawn-refused", label, errorType, message });
    return { kind: "refused", errorType, message };
  }

  #openAccount(parent: Run, budget: Budget | undefined): Account {
    const account = parent.parent === undefined ? this.#parts.spending.children : parent.account;
    return budget === undefined ? account : account.open(budget);
  }

  /** Pays for the start and runs the child: in the background, or while its parent rests. */
  async #admit(start: Start, parent: Run, options: SpawnOptions): Promise<SpawnReply> {
    const { entry } = start;
    const run = this.#tree.makeRun(start);
    if (options.keepToolLog) run.toolLog = [];
    using _link = stopWith(run, options.signal);
    const place = await this.#pay(run, start);
    const ended = this.#runChild(run, start, place);
    if (entry.isBackground && start.origin?.kind !== "follow-up") {
      addBackgroundChild(parent, run, ended);
      return { kind: "started", child: childInfo(entry) };
    }
    parent.waitingFor = `its child ${entry.label}`;
    return { kind: "ended", report: await this.#tree.whileResting(parent, () => ended) };
  }

  /** All or nothing: what was taken is given back when a later part is refused. Returns the place, or the wait for one. */
  async #pay(run: Run, start: Start): Promise<{ slot: RunSlot | Promise<RunSlot> }> {
    const { childTime, slots } = this.#parts.spending;
    const { account } = run;
    try {
      childTime.check();
      account.startExecution();
      try {
        if (account.isMetered) run.lastWords = await reserveLastWords(run);
        return { slot: slots.take(run.scope) };
      } catch (error) {
        account.undoExecution();
        throw error;
      }
    } catch (error) {
      this.#neverStarted(run, start);
      throw run.scope.aborted ? new Refused("cancelled", NOT_STARTED) : error;
    }
  }

  async #runChild(run: Run, start: Start, place: { slot: RunSlot | Promise<RunSlot> }): Promise<ChildReport> {
    const { childTime } = this.#parts.spending;
    run.slot = await this.#takePlace(run, start, place.slot);
    this.#setDeadline(run);
    childTime.start();
    try {
      await this.#tree.execute(run, start);
    } finally {
      childTime.end();
    }
    return this.#report(run, start);
  }

  async #takePlace(run: Run, start: Start, place: RunSlot | Promise<RunSlot>): Promise<RunSlot> {
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
    if (start.origin?.kind !== "follow-up") this.#tree.book.forget(start.entry);
  }

  #setDeadline(run: Run): void {
    const { timeoutMs } = run.profile;
    if (timeoutMs === undefined) return;
    run.deadline = this.#parts.spending.deadlines.add(timeoutMs, () => {
      run.scope.abort(new TimedOut(`Subagent timed out after ${timeoutMs} ms`, run.who.runId));
    });
  }

  /** What the parent hears: bounded, with the bill of everything below. */
  #report(run: Run, { entry, parent }: Start): ChildReport {
    const outcome = run.outcome;
    if (outcome === undefined) throw new Error("A finished run has an outcome");
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

/** Aborts the run when the signal does. */
function stopWith(run: Run, signal: AbortSignal | undefined): Disposable {
  const stop = () => run.scope.abort(new Cancelled("Subagent cancelled"));
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop, { once: true });
  return { [Symbol.dispose]: () => signal?.removeEventListener("abort", stop) };
}

/** What the model may read; anything else is a fault of ours and goes up. */
function toRefusal(error: unknown): Refused | undefined {
  if (error instanceof Refused) return error;
  if (error instanceof BudgetExceeded) return new Refused("quota", error.message);
  if (error instanceof ToolFailure) return new Refused("quota", error.message);
  if (error instanceof UserError) return new Refused("invalid_input", messageOf(error));
  return undefined;
}

/** The history up to the answer whose calls are still open: a fork begins there. */
function closedPrefix(messages: readonly Message[]): Message[] {
  const last = messages.at(-1);
  return last?.role === "assistant" ? messages.slice(0, -1) : [...messages];
}
