/** The one gate for children: every path that makes or revives one goes through here, in the same order. */

import { askedRequest } from "./asked-request.ts";
import { checkSeconds } from "./budget/run-deadline.ts";
import { recordedReport } from "./child-report.ts";
import { Conversation } from "./core/conversation.ts";
import { smallerBudget } from "./core/limits.ts";
import { type Message, userMessage } from "./core/message.ts";
import { Refused, toRefusal } from "./core/refused.ts";
import type { Run, RunProfile, SummaryPlan } from "./core/run.ts";
import { Scope } from "./core/scope.ts";
import type { SpawnOptions, SpawnReply, SpawnRequest } from "./core/spawn.ts";
import type { Draft } from "./draft.ts";
import { asStarted, atMost } from "./earlier-runs.ts";
import { closedPrefix, forkTask } from "./fork.ts";
import type { RecordedRun } from "./recorded.ts";
import { ChildStarter } from "./start-child.ts";
import { type AgentEntry, childInfo } from "./subagents/agent-book.ts";
import { deliverReport } from "./subagents/background-children.ts";
import { checkDepth, checkRequest } from "./subagents/check-spawn.ts";
import type { Tree } from "./tree.ts";
import type { TreeParts } from "./tree-parts.ts";

const NO_HISTORY: readonly Message[] = [];

export class Gate {
  readonly #tree: Tree;
  readonly #parts: TreeParts;
  readonly #starter: ChildStarter;
  readonly #ordinarySummary: SummaryPlan;

  constructor(tree: Tree, parts: TreeParts) {
    this.#tree = tree;
    this.#parts = parts;
    this.#starter = new ChildStarter(tree, parts);
    this.#ordinarySummary = { mode: parts.limits.summary, prompt: undefined, maxBytes: parts.limits.outputMaxSize };
  }

  /**
   * In this order: depth, input, path, rights, ledger, record, start. Each refusal is a reply and costs nothing. The path is
   * given before anything is waited for: the order of calls is the order of numbers.
   */
  async spawn(parent: Run, callId: string, request: SpawnRequest): Promise<SpawnReply> {
    const earlier = this.#parts.recorded?.take(parent.who.runId, callId, request.index ?? 0);
    if (earlier !== undefined)
      return this.#goOn(parent, earlier, request.options, () => this.#profile(parent, request));
    let path: string | undefined;
    try {
      checkDepth(parent.who.depth + 1, this.#parts.limits.maxDepth);
      checkRequest(request, parent);
      // It becomes part of the path, which every event of the child carries.
      const label = this.#tree.redactor.text(request.label);
      path = this.#tree.nextPath(parent, label);
      const building = this.#profile(parent, request);
      const profile = building instanceof Promise ? await building : building;
      const draft = this.#draft(parent, callId, request, { label, path, profile });
      return await this.#starter.start(draft, request.options);
    } catch (error) {
      return this.#starter.refuse(error, parent, request.label, path === undefined ? path : { path, waited: false });
    }
  }

  #profile(parent: Run, request: SpawnRequest): RunProfile | Promise<RunProfile> {
    return this.#parts.profiles.child(parent.profile, request);
  }

  #draft(
    parent: Run,
    callId: string,
    request: SpawnRequest,
    { label, path, profile }: Pick<Draft, "label" | "path" | "profile">,
  ): Draft {
    const { index = 0, options } = request;
    const budget = smallerBudget(profile.budget, options?.budget);
    checkSeconds(budget?.seconds, parent);
    const above = this.#starter.accountBelow(parent);
    const isFork = options?.context === "fork";
    const message = userMessage(isFork ? forkTask(request, profile) : request.task);
    const history = isFork ? closedPrefix(parent.conversation.messages) : NO_HISTORY;
    return {
      label,
      path,
      entry: undefined,
      parent,
      profile,
      above,
      account: budget === undefined ? above : above.open(budget, { path, above: parent.holding }),
      budget,
      task: message,
      conversation: new Conversation([...history, message], profile.tools.bytes),
      origin: isFork ? { kind: "fork", runId: parent.who.runId, messages: history.length } : undefined,
      call: options?.background === true ? { callId, index, background: true } : { callId, index },
      summary: this.#summary(parent, options),
      scope: new Scope(parent.work),
      earlier: undefined,
    };
  }

  /** Shared by all children that do not ask for something of their own. Undefined for one that answers as a root does. */
  #summary(parent: Run, options: SpawnOptions | undefined): SummaryPlan | undefined {
    if (this.#parts.wholeAnswers && parent.parent === undefined) return undefined;
    if (options?.summary === undefined && options?.summaryPrompt === undefined) return this.#ordinarySummary;
    const { mode, maxBytes } = this.#ordinarySummary;
    return { mode: options.summary ?? mode, prompt: options.summaryPrompt, maxBytes };
  }

  /**
   * A follow-up is a new run under the same path, narrowed by what the parent may pass on now. One without a call comes
   * from outside the tree and has a parent that does not wait for it.
   */
  async revive(parent: Run, entry: AgentEntry, message: string, callId: string | undefined): Promise<SpawnReply> {
    const earlier = callId && this.#parts.recorded?.take(parent.who.runId, callId, 0);
    if (earlier) return this.#goOn(parent, earlier, undefined, () => this.#revivedProfile(parent, entry));
    const { status } = entry;
    // From now on it is alive: a second message is for this run, not for another one beside it.
    entry.status = "running";
    try {
      checkDepth(entry.depth, this.#parts.limits.maxDepth);
      const history = await this.#tree.history(entry.lastRunId);
      const profile = await this.#revivedProfile(parent, entry);
      const task = userMessage(message);
      const draft: Draft = {
        label: entry.label,
        path: entry.path,
        entry,
        parent,
        profile,
        above: this.#starter.accountBelow(parent),
        account: entry.account,
        budget: entry.budget,
        task,
        conversation: new Conversation([...history, task], profile.tools.bytes),
        origin: { kind: "follow-up", runId: entry.lastRunId },
        call: callId === undefined ? undefined : { callId, index: 0 },
        // A program gets the whole answer, as from `run`.
        summary: callId === undefined ? undefined : this.#ordinarySummary,
        scope: new Scope(parent.work),
        earlier: undefined,
      };
      return await this.#starter.start(draft, undefined, callId === undefined ? "outside" : "parent");
    } catch (error) {
      return this.#starter.refuse(error, parent, entry.label, { path: entry.path, waited: false });
    } finally {
      if (entry.status === "running") entry.status = status;
    }
  }

  /** One that has not run since a restart is known by the call that made it. */
  async #revivedProfile(parent: Run, entry: AgentEntry): Promise<RunProfile> {
    const { profiles, recorded } = this.#parts;
    if (entry.profile !== undefined) return profiles.revived(entry.profile, parent.profile);
    const call = recorded?.callOf(entry.agentId);
    const request = call && (await askedRequest(parent, call));
    if (request === undefined)
      throw new Refused(
        "invalid_input",
        `${entry.label} was started before a restart and cannot continue: start another`,
      );
    const had = recorded?.run(entry.lastRunId)?.state.start.rights;
    const profile = await this.#profile(parent, request);
    return had === undefined ? profile : atMost(profile, had);
  }

  /** A child that the same call made before a restart: its report comes from the journal, or it goes on where it stood. */
  async #goOn(
    parent: Run,
    earlier: RecordedRun,
    options: SpawnOptions | undefined,
    build: () => RunProfile | Promise<RunProfile>,
  ): Promise<SpawnReply> {
    const { start } = earlier.state;
    const runs = this.#tree.earlierRuns;
    if (runs === undefined) throw new Error("A tree that never stopped has no earlier runs");
    const entry = runs.entryOf(earlier);
    try {
      if (earlier.state.end !== undefined) return this.#recordedReply(parent, entry, earlier, options);
      const profile = asStarted(await build(), start);
      const draft: Draft = {
        label: entry.label,
        path: entry.path,
        entry,
        parent,
        profile,
        above: this.#starter.accountBelow(parent),
        account: entry.account,
        budget: entry.budget,
        task: start.task,
        conversation: await runs.conversationOf(earlier, profile),
        origin: start.origin,
        call: start.call,
        summary: this.#summary(parent, options),
        scope: new Scope(parent.work),
        earlier,
      };
      return await this.#starter.start(draft, options);
    } catch (error) {
      const refusal = toRefusal(error);
      if (refusal === undefined || earlier.state.end !== undefined) throw error;
      // It had begun, so it has an end.
      runs.close(parent, earlier, refusal.errorType, refusal.message);
      return this.#recordedReply(parent, entry, earlier, options);
    }
  }

  #recordedReply(parent: Run, entry: AgentEntry, earlier: RecordedRun, options: SpawnOptions | undefined): SpawnReply {
    const { recorded } = this.#parts;
    const report = recorded && recordedReport(earlier, entry, recorded, this.#tree.readerOf(parent));
    if (report === undefined) throw new Error(`${entry.path} has no report`);
    options?.onEnd?.(report.outcome);
    if (options?.background !== true) return { kind: "ended", report };
    deliverReport(parent, report);
    return { kind: "started", child: childInfo(entry) };
  }
}
