/** One conversation with the root agent: its first run, what follows it up, and the runs it can go on from. */

import type { AgentDefinition } from "../../core/agent.ts";
import type { EventListener } from "../../core/event.ts";
import type { SpendingState } from "../../core/limits.ts";
import { RunError, type RunHandle, type RunResult } from "../../core/runtime.ts";
import type { CancelMode } from "../../core/spawn.ts";
import type { Tool } from "../../core/tool.ts";
import type { Application } from "../application.ts";

/** What the next message goes on from. */
type Start =
  | { kind: "new" }
  | { kind: "follow-up" }
  | { kind: "resume"; runId: string; moreTokens: number }
  | { kind: "fork"; runId: string; at: number | undefined };

/** What belongs to the conversation and has not been said to the model yet. */
const MAX_CONTEXT = 64 * 1024;

export class Conversation {
  agent: AgentDefinition;
  readonly #application: Application;
  readonly #onEvent: EventListener;
  /** For runs of the conversation itself. */
  readonly #onOwnEvent: EventListener;
  #start: Start = { kind: "new" };
  /** The last run of the root; a follow-up goes on from it. */
  #last: RunHandle | undefined;
  #live: RunHandle | undefined;
  #context: string[] = [];
  /** Resolves when what is live has ended. */
  settled: Promise<void> = Promise.resolve();

  constructor(application: Application, onEvent: EventListener) {
    this.#application = application;
    this.#onEvent = onEvent;
    this.#onOwnEvent = (event) => {
      // A copy of the conversation, or one continued from a summary, keeps the commands of the root before it.
      if (event.type === "run-start" && event.parentId === null) application.commands.moveTo(event.agentId);
      onEvent(event);
    };
    this.agent = application.agent;
  }

  get isLive(): boolean {
    return this.#live !== undefined;
  }

  /** The id of the last run, or of the one that the next message goes on from. */
  get runId(): string | undefined {
    return "runId" in this.#start ? this.#start.runId : this.#last?.id;
  }

  /** What may be spent by the tree that is live, or that the next message continues; undefined before it has begun. */
  spending(): SpendingState | undefined {
    const isContinued = this.#start.kind === "follow-up" || this.#start.kind === "resume";
    return (this.#live ?? (isContinued ? this.#last : undefined))?.spending();
  }

  /** The next message continues a stored run, with the limits that held for it. */
  get keepsEarlierLimits(): boolean {
    return this.#start.kind === "resume" && this.#last === undefined && this.#live === undefined;
  }

  /** What `addTokens` has added for the next message. */
  get moreTokens(): number {
    return this.#start.kind === "resume" ? this.#start.moreTokens : 0;
  }

  /** Says something to the root, and resolves when it has answered, however that ends. */
  say(message: string): Promise<RunResult> {
    const handle = this.#begin([...this.#context, message].join("\n\n"));
    return this.#watch(handle, this.#takes(handle));
  }

  /** Hands a task to a named agent; what it says joins the conversation with the next message. */
  async address(definition: AgentDefinition, task: string): Promise<RunResult> {
    const { runtime, runOptions } = this.#application;
    const model = definition.model ?? this.agent.model;
    // Who calls an agent by its name has not taken back what the flags keep from everybody.
    const deny = [...(this.agent.deny ?? []), ...(definition.deny ?? [])];
    const called = definition.with({ model, tools: definition.tools ?? this.#toolsFor(definition), deny });
    const handle = runtime.run(called, task, { ...runOptions, onEvent: this.#onEvent });
    const result = await this.#watch(handle).finally(() => this.#application.commands.end(handle.id));
    this.add(`I asked the agent ${definition.name}: ${task}\n\nIt answered: ${result.text || result.status}`);
    return result;
  }

  /** What the root has; to call agents only for one that may have children. */
  #toolsFor({ delegate }: AgentDefinition): AgentDefinition["tools"] {
    const { tools } = this.agent;
    if (delegate || !Array.isArray(tools)) return tools;
    return (tools as readonly Tool[]).filter(({ category }) => category !== "subagent");
  }

  /** Goes on with a stored run that was interrupted, without a word. */
  goOn(runId: string): Promise<RunResult> {
    const handle = this.#application.runtime.resume(runId, { agent: this.agent, onEvent: this.#onOwnEvent });
    return this.#watch(handle, this.#takes(handle));
  }

  /** Something the model is to know, said with the next message. */
  add(text: string): void {
    const kept = text.length <= MAX_CONTEXT ? text : `${text.slice(0, MAX_CONTEXT).toWellFormed()}\n[cut]`;
    this.#context.push(kept);
  }

  /** Before another conversation begins: what this one has left running in the background ends. */
  endCommands(): Promise<void> {
    return this.#application.commands.end();
  }

  startNew(): void {
    this.#start = { kind: "new" };
    this.#last = undefined;
    this.#context = [];
  }

  resumeFrom(runId: string): void {
    this.startNew();
    this.#start = { kind: "resume", runId, moreTokens: 0 };
  }

  /** The next message goes to a copy; what was said stays as it is. */
  forkFrom(runId: string, at: number | undefined): void {
    this.#start = { kind: "fork", runId, at };
  }

  /** The next message goes to a copy, which has a budget of its own. */
  get isCopying(): boolean {
    return this.#start.kind === "fork";
  }

  /** The next message may spend this many tokens more, on top of what was added before. False when nothing has been said yet. */
  addTokens(tokens: number): boolean {
    const { runId, moreTokens } = this;
    if (runId === undefined) return false;
    this.#start = { kind: "resume", runId, moreTokens: moreTokens + tokens };
    return true;
  }

  steer(path: string, text: string): boolean {
    return this.#live?.steer(path, text) ?? false;
  }

  cancel(path: string | undefined, mode: CancelMode): boolean {
    return this.#live?.cancel(path, { mode }) ?? false;
  }

  #begin(message: string): RunHandle {
    const { runtime, runOptions } = this.#application;
    const start = this.#start;
    const common = { agent: this.agent, message, onEvent: this.#onOwnEvent };
    switch (start.kind) {
      case "resume":
        return runtime.resume(start.runId, { ...common, moreBudget: { tokens: start.moreTokens } });
      case "fork":
        return runtime.fork(start.runId, {
          ...common,
          at: start.at,
          budget: runOptions.budget,
          limits: runOptions.limits,
        });
      case "follow-up":
        if (this.#last !== undefined) return this.#last.followUp(message);
        return runtime.run(this.agent, message, { ...runOptions, onEvent: this.#onOwnEvent });
      case "new":
        return runtime.run(this.agent, message, { ...runOptions, onEvent: this.#onOwnEvent });
      default:
        return start satisfies never;
    }
  }

  /** From here on it is the last run. What is given back undoes that: nothing that was said is lost with it. */
  #takes(handle: RunHandle): () => void {
    const context = this.#context;
    const last = this.#last;
    const start = this.#start;
    this.#context = [];
    this.#last = handle;
    this.#start = { kind: "follow-up" };
    return () => {
      this.#context = context;
      this.#last = last;
      // A turn that there is not would be in the way of every other message, too.
      this.#start = start.kind === "fork" ? { ...start, at: undefined } : start;
    };
  }

  async #watch(handle: RunHandle, undo = ignore): Promise<RunResult> {
    this.#live = handle;
    this.settled = Promise.resolve(handle).then(ignore, ignore);
    try {
      return await handle;
    } catch (error) {
      if (error instanceof RunError) return error.result;
      // It never began: there is nothing of it to follow up.
      if (this.#last === handle) undo();
      throw error;
    } finally {
      this.#live = undefined;
    }
  }
}

function ignore(): void {}
