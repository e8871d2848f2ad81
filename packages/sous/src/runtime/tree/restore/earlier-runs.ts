/** The runs of a tree before its restart: put into its book again, continued, or ended. */

import { Conversation } from "../../../core/conversation.ts";
import { BudgetExceeded, type ErrorType, toRefusal } from "../../../core/errors.ts";
import type { EventOf, RunIdentity } from "../../../core/event.ts";
import type { Account, Budget } from "../../../core/limits.ts";
import type { Message } from "../../../core/message.ts";
import { externalNameIn } from "../../../core/model.ts";
import { type RunOutcome, statusOfRefusal } from "../../../core/outcome.ts";
import { readHistory } from "../../../core/read-history.ts";
import type { Run, RunProfile } from "../../../core/run.ts";
import { type ChildReport, FAN_OUT } from "../../../core/spawn.ts";
import { isFirstRun, type Store } from "../../../core/store.ts";
import { fromStored } from "../../../core/units.ts";
import { addCost, addUsage, type Price } from "../../../core/usage.ts";
import { smallerBudget } from "../../../core/words/limits.ts";
import { lacksApproval } from "../../../core/words/outcomes.ts";
import { priceOf } from "../../budget/prices.ts";
import { repairHistory } from "../../loop/repair-history.ts";
import { notYetCharged, restoreCounts, resumedRun, unheardAnswer } from "../../loop/resume-run.ts";
import type { AgentBook, AgentEntry } from "../../subagents/agent-book.ts";
import { deliverReport } from "../../subagents/background-children.ts";
import type { TreeParts } from "../parts.ts";
import { earlierReport } from "../report.ts";
import { atMost, interruptedCalls } from "./as-started.ts";
import { type EarlierRun, workingMs } from "./earlier-run.ts";
import type { EarlierTree, ParentCall } from "./earlier-tree.ts";

export class EarlierRuns {
  readonly tree: EarlierTree;
  readonly #book: AgentBook;
  readonly #parts: TreeParts;

  constructor(tree: EarlierTree, book: AgentBook, parts: TreeParts) {
    this.tree = tree;
    this.#book = book;
    this.#parts = parts;
  }

  /** The messages of the journal as it was read, and what they began with from the journals that have it. */
  #messages(runId: string): Promise<Message[]> {
    const { store } = this.#parts.records;
    const { rootId } = this.tree;
    const own = this.tree.reader();
    const read: Store["read"] = (id, which) => (id === rootId ? own : store).read(id, which);
    return readHistory({ read, run: (id) => store.run(id) }, rootId).messages(runId);
  }

  /** Restores path, counts and budget share of every agent; the root gets no right that it did not have. */
  rootEntry(profile: RunProfile): AgentEntry {
    const known = this.#book.get(this.tree.root.state.start.agentId);
    if (known !== undefined) return known;
    for (const event of this.tree.counted) this.#count(event);
    this.#chargeUnheard(this.tree.root, profile);
    const children = [...this.tree.runs].filter(({ state }) => !isFirstRun(this.tree.rootId, state.start));
    this.#parts.spending.childTime.restore(workingMs(children));
    const entry = this.entryOf(this.tree.root);
    entry.profile = atMost(profile, this.tree.root.state.start.rights);
    return entry;
  }

  #count(event: EarlierTree["counted"][number]): void {
    const { root, starts } = this.#parts.spending;
    if (event.type === "run-start") {
      if (event.call !== undefined && event.call.callId !== FAN_OUT) starts?.restore(this.#messageOf(event));
      const isFirst = isFirstRun(this.tree.rootId, event);
      const above = this.#above(event.parentId);
      if (!isFirst) above.countExecution();
      if (isFirst ? this.#book.get(event.agentId) !== undefined : event.agentId !== event.runId) return;
      const parent = event.parentId === null ? undefined : this.#entry(event.parentId);
      const own = event.budget && fromStored(event.budget);
      // A placed run draws on what its journal says; its parent has counted its start.
      const account = isFirst ? root : openWithin(above, own, event.path);
      const { agentId, path, label, depth, agent: agentName, call } = event;
      // A budget that was added since counts for the next restart too.
      const budget = event.depth === 0 ? this.#parts.spending.budget : own;
      const isBackground = call?.background === true;
      const external = externalNameIn(event.model);
      this.#book.restore({ agentId, parent, path, label, depth, agentName, external, account, budget, isBackground });
    } else if (event.type === "placed") {
      this.#countPlaced(event);
    } else if (event.type === "message-end" || event.type === "retry") {
      const { totalTokens } = event.type === "retry" ? event.spent : event.usage;
      this.#account(event.runId).charge({ tokens: totalTokens, costUsd: event.costUsd });
    } else if (event.type === "outside-session") {
      const entry = this.#book.get(event.agentId);
      if (entry !== undefined) entry.sessionId = event.sessionId;
    } else if (event.type === "spawn-refused" && event.childPath !== undefined) {
      this.#book.noteRefused(event.agentId, event.childPath, event.label);
    } else if (event.type === "run-end") {
      const entry = this.#book.get(event.agentId);
      this.#chargeRest(event);
      if (entry === undefined) return;
      this.#book.count(entry, event);
      entry.lastRunId = event.runId;
    }
  }

  /** The account that counts the children of a run. */
  #above(parentId: string | null): Account {
    const parent = parentId === null ? undefined : this.tree.run(parentId)?.state.start;
    const isFirst = parent === undefined || isFirstRun(this.tree.rootId, parent);
    return isFirst ? this.#parts.spending.children : this.#account(parentId);
  }

  /** A child in a journal of its own keeps its path, and what it used when its call has its result. */
  #countPlaced(placed: EventOf<"placed">): void {
    if (this.tree.run(placed.childRunId) !== undefined) return;
    const { runId, depth, childRunId, childAgentId: agentId, childPath: path, label, agent: agentName, call } = placed;
    const above = this.#above(runId);
    above.countExecution();
    const known = this.#book.get(agentId);
    const budget = placed.budget && fromStored(placed.budget);
    const isBackground = call?.background === true;
    const own = { agentId, path, label, depth: depth + 1, agentName, external: undefined, budget, isBackground };
    const account = openWithin(above, budget, path);
    const entry = known ?? this.#book.restore({ ...own, parent: this.#entry(runId), account });
    const end = this.tree.placed.endOf(placed);
    entry.lastRunId = childRunId;
    if (end !== undefined && !this.tree.isAskedAgain(placed)) this.#book.count(entry, end);
  }

  /** The run of the root that it was started in. */
  #messageOf({ runId, parentId }: EventOf<"run-start">): string {
    const parent = parentId === null ? undefined : this.tree.run(parentId);
    return parent === undefined ? runId : this.#messageOf(parent.state.start);
  }

  /** A call that was stopped before its answer was recorded is counted in the end alone: its tokens and its money. */
  #chargeRest({ runId, usage, costUsd }: EventOf<"run-end">): void {
    const counted = this.tree.run(runId)?.state;
    const tokens = usage.totalTokens - (counted?.usage.totalTokens ?? 0);
    const restUsd = costUsd === null ? null : costUsd - (counted?.costUsd ?? 0);
    if (tokens > 0) this.#account(runId).charge({ tokens, costUsd: restUsd });
  }

  /** Charges what an unanswered call could have cost, before any run continues, also while its run waits for a slot. */
  #chargeUnheard({ state, runId, children }: EarlierRun, root: RunProfile): void {
    const { unsettled, start, end } = state;
    if (end === undefined && unsettled !== undefined) {
      const unheard = unheardAnswer(
        unsettled,
        start.model === root.model.id ? root.price : priceOf(start.model)?.price,
      );
      unsettled.charged = notYetCharged(unsettled, unheard);
      this.#account(runId).charge(unsettled.charged);
    }
    for (const child of children) this.#chargeUnheard(child, root);
  }

  #entry(runId: string): AgentEntry | undefined {
    return this.#book.get(this.tree.run(runId)?.state.start.agentId ?? "");
  }

  #account(runId: string | null): Account {
    return (runId === null ? undefined : this.#entry(runId)?.account) ?? this.#parts.spending.root;
  }

  /** The agent of an earlier run. */
  entryOf({ state, runId }: EarlierRun): AgentEntry {
    const entry = this.#book.get(state.start.agentId);
    if (entry === undefined) throw new Error(`Run ${runId} belongs to no agent`);
    return entry;
  }

  /** The conversation of an earlier run, without the results of an answer that is still to be acted on. */
  async conversationOf({ runId, state }: EarlierRun, profile: RunProfile): Promise<Conversation> {
    const messages = await this.#messages(runId);
    const hasOpenCalls = state.answer?.message.content.some((part) => part.type === "tool-call") === true;
    if (hasOpenCalls && messages.at(-1)?.role === "tool") messages.pop();
    const last = hasOpenCalls ? messages.pop() : undefined;
    const history = repairHistory(messages);
    if (last !== undefined) history.push(last);
    const conversation = new Conversation(history, profile.tools.bytes);
    conversation.taskIndex = Math.max(0, history.indexOf(state.start.task));
    return conversation;
  }

  /** Gives a run that continues everything it had counted, said and been billed for. */
  countEarlier(run: Run, earlier: EarlierRun): void {
    restoreCounts(run, earlier.state);
    const { usage, costUsd } = this.tree.usageBelow(earlier);
    if (usage.totalTokens > 0 || costUsd !== 0) run.billBelow(usage, costUsd);
    if (earlier.children.some(({ state }) => state.end !== undefined && lacksApproval(state.end)))
      run.lacksApproval = true;
  }

  /** Calls to make again for children in the background. One whose tool is gone ends here, and its parent reads so. */
  backgroundCalls(run: Run): ParentCall[] {
    const calls = new Map<string, ParentCall>();
    // Reports arrive in the order in which the children ended, as they do without a restart.
    const endOf = ({ child }: { child: EarlierRun }) => this.tree.endSeqOf(child);
    const waiting = this.tree.inBackground(run.who.runId).sort((one, other) => endOf(one) - endOf(other));
    for (const { call, child } of waiting) {
      // Any other tool may do more than start a child.
      if (run.profile.tools.byName.get(call.toolName)?.tool.category === "subagent") calls.set(call.callId, call);
      else this.#report(run, child);
    }
    for (const call of this.tree.inBackgroundElsewhere(run.who.runId)) calls.set(call.callId, call);
    return [...calls.values()];
  }

  #report(parent: Run, child: EarlierRun): void {
    if (child.state.end === undefined) this.close(parent, child, "cancelled", NOT_CONTINUED);
    child.isTaken = true;
    const report = this.reportOf(parent, child);
    if (report !== undefined) deliverReport(parent, report);
  }

  /** The report of a child that has ended; undefined while it has not. */
  reportOf(parent: Run, child: EarlierRun): ChildReport | undefined {
    return earlierReport(child, this.entryOf(child), this.tree, this.#parts, parent);
  }

  /** Ends a child that could not continue. Undefined when the error is not a refusal. */
  closeRefused(parent: Run, child: EarlierRun, error: unknown): ChildReport | undefined {
    const refusal = toRefusal(error);
    if (refusal === undefined) return undefined;
    this.close(parent, child, refusal.errorType, refusal.message);
    return this.reportOf(parent, child);
  }

  /** Ends the children of a run that were not asked for again. */
  closeOrphans(run: Run): void {
    for (const orphan of this.tree.orphansOf(run.who.runId)) this.close(run, orphan, "cancelled", NOT_CONTINUED);
  }

  /** Ends a run that cannot continue, and bills its parent for it and for everything below it. */
  close(parent: Run, earlier: EarlierRun, type: ErrorType, message: string): void {
    const { model, price } = parent.profile;
    const ending = { status: statusOfRefusal(type), fault: { type, message } };
    this.#end(earlier, ending, (id) => (id === model.id ? price : undefined));
    const { usage, costUsd } = this.tree.usageBelow(earlier);
    parent.billBelow(earlier.state.usage, earlier.state.costUsd);
    parent.billBelow(usage, costUsd);
  }

  /** Every run that started has exactly one end. Children before parents. */
  #end(
    run: EarlierRun,
    ending: Pick<RunOutcome, "status" | "fault">,
    priceOf: (model: string) => Price | undefined,
  ): void {
    const { journal, clock } = this.#parts.asking;
    const { state } = run;
    const { runId, agentId, parentId, path, depth, model } = state.start;
    const who: RunIdentity = { runId, agentId, parentId, path, depth };
    journal.append(who, { type: "resume", usedMs: state.usedMs, run: resumedRun(state) });
    for (const child of run.children) if (child.state.end === undefined) this.#end(child, ending, priceOf);
    if (state.unsettled !== undefined) {
      const unheard = unheardAnswer(state.unsettled, priceOf(model));
      addUsage(state.usage, unheard.spent);
      state.costUsd = addCost(state.costUsd, unheard.costUsd);
      this.#account(runId).charge(notYetCharged(state.unsettled, unheard));
      journal.append(who, unheard);
    }
    for (const body of interruptedCalls(state)) journal.append(who, body);
    const { status, fault } = ending;
    const { turns, toolCount, usage, costUsd, usedMs: durationMs } = state;
    const text = state.cutText + state.text || (state.closing?.earlier ?? "");
    const ended = { status, stopReason: undefined, text, fault };
    const outcome: RunOutcome = { ...ended, turns, toolCount, usage, costUsd, durationMs };
    journal.append(who, { type: "run-end", ...outcome });
    run.isTaken = true;
    state.end = { seq: 0, time: clock.now(), ...who, type: "run-end", ...outcome };
    const entry = this.entryOf(run);
    this.#book.count(entry, outcome);
    entry.lastRunId = runId;
  }
}

const NOT_CONTINUED = "Subagent cancelled: it was interrupted, and was not continued";

/** Opens the recorded share, capped by what is left. */
function openWithin(above: Account, budget: Budget | undefined, path: string): Account {
  if (budget === undefined) return above;
  const child = { path, above: undefined };
  try {
    return above.open(budget, child);
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error;
    return above.open(smallerBudget(budget, above.left()) ?? {}, child);
  }
}
