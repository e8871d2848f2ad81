/** One conversation with the root agent: its messages so far, the run that is live, and what the next message continues. */

import type { AgentDefinition } from "../../../core/agent.ts";
import { ignore } from "../../../core/errors.ts";
import type { EventListener, SousEvent } from "../../../core/event.ts";
import type { Budget, SpendingState } from "../../../core/limits.ts";
import { textOf } from "../../../core/message.ts";
import type { RunHandle, RunResult } from "../../../core/runtime.ts";
import type { CancelMode } from "../../../core/spawn.ts";
import type { Tool } from "../../../core/tool.ts";
import type { Application } from "../application/open.ts";
import { CommandError } from "../exit-codes.ts";
import type { RunLog } from "../run/log.ts";
import type { ConversationMessage, StoredChat } from "./stored-conversation.ts";

/** An addition to what the tree may spend. */
export type MoreBudget = { readonly tokens: number; readonly costUsd: number };

/** The conversation that the next message continues. */
type Start =
  | { kind: "new" }
  | { kind: "follow-up"; last: RunHandle }
  | { kind: "resume"; runId: string; more: MoreBudget; earlier?: StoredChat["earlier"] }
  | { kind: "fork"; runId: string };

type ConversationListeners = { readonly onEvent: EventListener; readonly log?: RunLog | undefined };

const NOTHING_MORE: MoreBudget = { tokens: 0, costUsd: 0 };

/** Max bytes of each text that waits to be sent with the next message. */
const MAX_CONTEXT = 64 * 1024;

export class ChatConversation {
  agent: AgentDefinition;
  readonly #application: Application;
  readonly #log: RunLog | undefined;
  readonly #onEvent: readonly EventListener[];
  /** Listeners for runs of the conversation itself. */
  readonly #onOwnEvent: readonly EventListener[];
  /** The id of the root of a new conversation, where it was given away before the first message. */
  readonly #reservedId: string | undefined;
  #start: Start = { kind: "new" };
  /** The last run of the root; a follow-up continues it. */
  #last: RunHandle | undefined;
  #live: RunHandle | undefined;
  /** Resolves with the path of the live root when it has begun, or undefined when it never does. */
  #begun = Promise.withResolvers<string | undefined>();
  #context: string[] = [];
  #messages: readonly ConversationMessage[] = [];
  #rootId: string | undefined;
  /** The budget of the stored conversation that the next message continues. */
  #storedBudget: Budget | undefined;
  /** Resolves when what is live has ended. */
  settled: Promise<void> = Promise.resolve();

  constructor(application: Application, { onEvent, log }: ConversationListeners, reservedId?: string) {
    this.#application = application;
    this.#log = log;
    this.#reservedId = reservedId;
    const begin: EventListener = ({ type, parentId, path }) => {
      if ((type === "run-start" || type === "resume") && parentId === null) this.#begun.resolve(path);
    };
    this.#onEvent = log === undefined ? [onEvent, begin] : [log.onEvent, onEvent, begin];
    this.#onOwnEvent = [(event) => this.#note(event), ...this.#onEvent];
    this.agent = application.agent;
  }

  get isLive(): boolean {
    return this.#live !== undefined;
  }

  /** The messages so far, also those from before it was copied. A request for a summary does not count. */
  get messages(): readonly ConversationMessage[] {
    return this.#messages;
  }

  /** The id of its tree; undefined before the first message. */
  get rootId(): string | undefined {
    return this.#rootId;
  }

  /** The id of the last run, or of the one that the next message continues. */
  get runId(): string | undefined {
    return "runId" in this.#start ? this.#start.runId : this.#last?.id;
  }

  /** The spending of the tree that is live, or that the next message continues; undefined before it has begun. */
  spending(): SpendingState | undefined {
    const isContinued = this.#start.kind === "follow-up" || this.#start.kind === "resume";
    return (this.#live ?? (isContinued ? this.#last : undefined))?.spending();
  }

  /** The next message continues a stored run, with the limits that held for it. */
  get keepsEarlierLimits(): boolean {
    return this.#start.kind === "resume" && this.#last === undefined && this.#live === undefined;
  }

  /** The budget of the tree where it is known without a run: of a stored conversation, or of a new one. */
  get budgetBefore(): Budget | undefined {
    return this.keepsEarlierLimits ? this.#storedBudget : this.#application.runOptions.budget;
  }

  /** The budget that `addBudget` has added for the next message. */
  get more(): MoreBudget {
    return this.#start.kind === "resume" ? this.#start.more : NOTHING_MORE;
  }

  /**
   * Says something to the root, and resolves when it has answered, however that ends. With `summarizes` it asks for a summary,
   * which is then all that the next message remembers.
   */
  say(message: string, summarizes = false): Promise<RunResult> {
    const handle = this.#begin([...this.#context, message].join("\n\n"), summarizes);
    return this.#watch(handle, this.#takes(handle));
  }

  /** Hands a task to a named agent; what it says joins the conversation with the next message. */
  async address(definition: AgentDefinition, task: string): Promise<RunResult> {
    const { runtime, runOptions } = this.#application;
    const model = definition.model ?? this.agent.model;
    // Tools that the flags deny stay denied when an agent is called by its name.
    const deny = [...(this.agent.deny ?? []), ...(definition.deny ?? [])];
    const called = definition.with({ model, tools: definition.tools ?? this.#toolsFor(definition), deny });
    const handle = runtime.run(called, task, { ...runOptions, onEvent: this.#onEvent });
    const result = await this.#watch(handle).finally(() => this.#application.commands.end(handle.id));
    this.add(`I asked the agent ${definition.name}: ${task}\n\nIt answered: ${result.text || result.status}`);
    return result;
  }

  /** The tools of the root; those that call agents only for one that may have children. */
  #toolsFor({ delegate }: AgentDefinition): AgentDefinition["tools"] {
    const { tools } = this.agent;
    if (delegate || !Array.isArray(tools)) return tools;
    return (tools as readonly Tool[]).filter(({ category }) => category !== "subagent");
  }

  /** Continues the last run of a stored conversation, which was interrupted. When that fails this is a new conversation. */
  resumeInterrupted({ rootId, messages, last, earlier }: StoredChat): Promise<RunResult> {
    this.#startFrom(rootId, messages);
    const options = { agent: this.agent, onEvent: this.#onOwnEvent };
    const handle = this.#application.runtime.resume(last.id, options, earlier());
    this.#takes(handle);
    return this.#watch(handle, () => this.startNew());
  }

  /** Adds text for the model, which is sent with the next message. */
  add(text: string): void {
    const kept = text.length <= MAX_CONTEXT ? text : `${text.slice(0, MAX_CONTEXT).toWellFormed()}\n[cut]`;
    this.#context.push(kept);
  }

  /** Ends what this conversation has left running in the background, before another one begins. */
  endCommands(): Promise<void> {
    return this.#application.commands.end();
  }

  startNew(): void {
    this.#start = { kind: "new" };
    this.#last = undefined;
    this.#context = [];
    this.#messages = [];
    this.#rootId = undefined;
    this.#storedBudget = undefined;
  }

  #startFrom(rootId: string, messages: readonly ConversationMessage[]): void {
    this.startNew();
    this.#rootId = rootId;
    this.#messages = messages;
  }

  /** The next message continues a stored conversation whose last run has ended. */
  resumeFrom({ rootId, messages, last, budget, earlier }: StoredChat): void {
    this.#startFrom(rootId, messages);
    this.#storedBudget = budget;
    this.#start = { kind: "resume", runId: last.id, more: NOTHING_MORE, earlier };
  }

  /** The next message goes to a copy that ends with this run; what was said stays as it is. */
  forkFrom(runId: string): void {
    this.#start = { kind: "fork", runId };
  }

  /** The next message goes to a copy, which has a budget of its own. */
  get isCopying(): boolean {
    return this.#start.kind === "fork";
  }

  /** The next message goes to the same conversation with another definition, such as one with another model. */
  continueAs(agent: AgentDefinition): void {
    this.agent = agent;
    this.addBudget(NOTHING_MORE);
  }

  /** The next message may spend this much more, on top of what was added before. False when nothing has been said yet. */
  addBudget({ tokens, costUsd }: MoreBudget): boolean {
    const { runId, more } = this;
    if (runId === undefined) return false;
    const sum = { tokens: more.tokens + tokens, costUsd: more.costUsd + costUsd };
    this.#start = { ...this.#start, kind: "resume", runId, more: sum };
    return true;
  }

  /** Says something to the live run, once it has begun. False when it has ended. Throws when it never began. */
  async steerLive(text: string): Promise<boolean> {
    const live = this.#live;
    const path = await this.#begun.promise;
    if (path === undefined) throw new CommandError(NOT_SENT);
    return live?.steer(path, text) ?? false;
  }

  steer(path: string, text: string): boolean {
    return this.#live?.steer(path, text) ?? false;
  }

  cancel(path: string | undefined, mode: CancelMode): boolean {
    return this.#live?.cancel(path, { mode }) ?? false;
  }

  #begin(message: string, summarizes: boolean): RunHandle {
    const { runtime, runOptions } = this.#application;
    const start = this.#start;
    const common = { agent: this.agent, message, summarizes, onEvent: this.#onOwnEvent };
    switch (start.kind) {
      case "resume":
        return runtime.resume(start.runId, { ...common, addBudget: start.more }, start.earlier?.());
      case "fork":
        return runtime.fork(start.runId, { ...common, budget: runOptions.budget, limits: runOptions.limits });
      case "follow-up":
        return start.last.followUp(message, { summarizes });
      case "new":
        return runtime.run(this.agent, message, { ...runOptions, rootId: this.#reservedId, onEvent: this.#onOwnEvent });
      default:
        return start satisfies never;
    }
  }

  /** Makes `handle` the last run. Returns a function that undoes this, so that nothing that was said is lost. */
  #takes(handle: RunHandle): () => void {
    const [context, last, start] = [this.#context, this.#last, this.#start];
    this.#context = [];
    this.#last = handle;
    this.#start = { kind: "follow-up", last: handle };
    return () => {
      this.#context = context;
      this.#last = last;
      this.#start = start;
    };
  }

  /** A run of the root begins: its message belongs to the conversation from now on. */
  #note(event: SousEvent): void {
    if (event.type !== "run-start" || event.parentId !== null) return;
    const { runId, agentId, origin, summarizes, task } = event;
    // A copy of the conversation keeps the commands of the root before it.
    this.#application.commands.moveTo(agentId);
    this.#rootId = agentId;
    const copied = origin?.kind === "branch" ? this.#messages.findIndex((each) => each.runId === origin.runId) : -1;
    if (copied >= 0) this.#messages = this.#messages.slice(0, copied + 1);
    if (summarizes !== true) this.#messages = [...this.#messages, { runId, text: textOf(task) }];
  }

  #watch(handle: RunHandle, undo = ignore): Promise<RunResult> {
    this.#live = handle;
    this.#begun = Promise.withResolvers();
    const ended = this.#untilEnd(handle, undo);
    this.settled = ended.then(ignore, ignore);
    return ended;
  }

  /** Another process has continued the conversation since: nothing of this run is stored, and the next one follows that. */
  #takenOver({ id }: RunHandle, undo: () => void): CommandError {
    undo();
    const { runId } = this;
    this.#messages = this.#messages.filter((message) => message.runId !== id);
    if (runId !== undefined) this.#start = { kind: "resume", runId, more: NOTHING_MORE };
    return new CommandError(
      "Another process has continued this conversation, so this was not stored. Send it again to continue after that",
    );
  }

  async #untilEnd(handle: RunHandle, undo: () => void): Promise<RunResult> {
    const ended = handle.result.finally(() => {
      this.#live = undefined;
      this.#begun.resolve(undefined);
    });
    const result = await ended.catch((error: unknown) => {
      // The run never began, so nothing can follow it.
      if (this.#last === handle) undo();
      throw error;
    });
    if (result.error?.kind === "taken_over") throw this.#takenOver(handle, undo);
    this.#log?.settle(this.#application.store !== undefined && result.lost === undefined);
    return result;
  }
}

/** The notice about a message that was typed while a run was being opened. */
export const NOT_SENT = "This was not sent, because the conversation could not be continued";
