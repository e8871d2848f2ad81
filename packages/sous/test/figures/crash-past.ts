/** The past of a tree in all processes so far: what was kept, what was asked, what ran; and whether that is right. */

import type { EventOf, StoredEvent } from "../../src/core/event.ts";
import type { ModelRequest } from "../../src/core/model.ts";
import type { RunResult } from "../../src/core/runtime.ts";
import type { Tool, ToolContext } from "../../src/core/tool.ts";
import { noUsage } from "../../src/core/usage.ts";
import { checkHistory } from "../../src/testing/checker.ts";
import { compareResult, type Plan } from "./one-schedule.ts";
import type { WatchedStore } from "./watched-store.ts";

type Question = { readonly runId: string; readonly key: string; isAnswered: boolean };

/** What may be missing from the end of a history that nobody could keep. */
const AFTER_LOSS = /leaves the call|leaves the question|The result is failed, the journal says/;

export class Past {
  readonly problems: string[] = [];
  readonly lookEffect: Tool["effect"];
  readonly isFanOut: boolean;
  /** Everything that is in the store, from all lives. */
  readonly kept: StoredEvent[] = [];
  rootId = "";
  /** Why the tree was marked as not kept. */
  lost: string | undefined;
  #life = 0;
  #keptBefore = 0;
  #watched: WatchedStore | undefined;
  #requiresStore = false;
  /** Questions whose answer is kept, by run and content. */
  readonly #answered = new Set<string>();
  readonly #lastQuestion = new Map<string, Question>();
  /** The last kept answer of each run. */
  /** Runs whose conversation was shortened. */
  readonly #shortened = new Set<string>();
  readonly #lastAnswer = new Map<string, EventOf<"message-end">>();
  readonly #intended = new Set<string>();
  readonly #done = new Set<string>();
  /** In which life each call ran last. A model may give the id of a call that nobody kept to another one. */
  readonly #ran = new Map<string, number>();
  readonly #starts = new Map<string, EventOf<"run-start">>();
  /** Runs that wait for an answer, and those of them whose process died meanwhile. */
  readonly #asking = new Set<string>();
  readonly #unheard = new Set<string>();

  /** `lookEffect` is that of the tool that is called most, in all lives; `isFanOut` when code starts the children. */
  constructor(lookEffect: Tool["effect"], isFanOut: boolean) {
    this.lookEffect = lookEffect;
    this.isFanOut = isFanOut;
  }

  problem(what: string): void {
    this.problems.push(`life ${this.#life}: ${what}`);
  }

  beginLife(watched: WatchedStore, requiresStore: boolean): void {
    this.#life += 1;
    this.#watched = watched;
    this.#requiresStore = requiresStore;
    this.#keptBefore = this.kept.length;
    this.#lastQuestion.clear();
  }

  /** The root has completed, so there is nothing to go on with; or there is nothing at all. */
  get isOver(): boolean {
    const last = this.kept.findLast(
      ({ type, parentId }) => parentId === null && (type === "run-end" || type === "run-start"),
    );
    return last === undefined || (last.type === "run-end" && (this.isFanOut || last.status === "completed"));
  }

  keep(rootId: string, events: readonly StoredEvent[]): void {
    this.rootId = rootId;
    for (const event of events) {
      this.kept.push(event);
      if (event.type === "run-start") this.#starts.set(event.runId, event);
      this.#followQuestion(event);
      if (event.type === "tool-call-start") this.#intended.add(`${event.runId} ${event.callId}`);
      if (event.type === "tool-call-end") this.#done.add(`${event.runId} ${event.callId}`);
      if (event.type !== "message-end") continue;
      if (event.message.content.length > 0) this.#lastAnswer.set(event.runId, event);
      const question = this.#lastQuestion.get(event.runId);
      if (question?.isAnswered !== true) this.problem(`${event.seq} answers no question of ${event.path}`);
      else this.#answered.add(question.key);
    }
  }

  /** What a provider may have answered when nobody was there any more counts as spent. */
  #followQuestion({ type, runId, seq, path }: StoredEvent): void {
    if (type === "turn-start") this.#asking.add(runId);
    if (type === "message-end" || type === "run-end") this.#asking.delete(runId);
    if (type === "prune") this.#shortened.add(runId);
    if (type === "retry") this.#unheard.delete(runId);
    // It says first that another process continues.
    else if (type !== "resume" && this.#unheard.delete(runId))
      this.problem(`${seq} ${type} of ${path} forgets a question`);
  }

  /** A request as the model sees it. */
  ask({ caller, messages, mayCallTools }: ModelRequest): Question {
    const { runId, path } = caller;
    const key = JSON.stringify([runId, mayCallTools, messages]);
    if (this.#answered.has(key))
      this.problem(`${path} asks again what was answered: ${JSON.stringify(messages.at(-1))}`);
    if (this.#mustBeKept) this.#checkAsksOnKept(runId, path, messages);
    const question = { runId, key, isAnswered: false };
    this.#lastQuestion.set(runId, question);
    return question;
  }

  #checkAsksOnKept(runId: string, path: string, messages: ModelRequest["messages"]): void {
    const start = this.#starts.get(runId);
    if (start === undefined) this.problem(`${path} asks before its start is kept`);
    const answer = messages.findLast(({ role }) => role === "assistant");
    const kept = this.#lastAnswer.get(runId)?.message;
    // Last words may be said without the last calls.
    if (this.#shortened.has(runId)) return;
    if (kept === undefined && (start?.origin !== undefined || answer === undefined)) return;
    if (JSON.stringify(answer) !== JSON.stringify(kept))
      this.problem(`${path} asks on ${JSON.stringify(answer)}, kept is ${JSON.stringify(kept)}`);
  }

  /** A tool begins to run. */
  execute({ runId, callId, path }: ToolContext, { name, effect }: Tool): void {
    const key = `${runId} ${callId}`;
    const ranAs = `${key} ${name}`;
    const what = `${name} ${callId} of ${path}`;
    if (this.#done.has(key)) this.problem(`${what} runs again, and its result is kept`);
    const before = this.#ran.get(ranAs);
    if (before === this.#life) this.problem(`${what} runs twice in one process`);
    if (before !== undefined && effect === "unsafe") this.problem(`${what} is unsafe and runs again`);
    if (effect !== "read" && this.#mustBeKept && !this.#intended.has(key))
      this.problem(`${what} runs before it is kept that it should`);
    if (name === "write" && this.#starts.get(runId)?.agent === "scout") this.problem(`${what} was denied to scouts`);
    this.#ran.set(ranAs, this.#life);
  }

  /** Until a store has failed that was not required. */
  get #mustBeKept(): boolean {
    return this.#requiresStore || this.#watched?.mayGiveUp === false;
  }

  /** `isCut` when the process died, or could have as well. */
  endLife({ shown, watched, isCut }: { shown: readonly StoredEvent[]; watched: WatchedStore; isCut: boolean }): void {
    const kept = this.kept.slice(this.#keptBefore);
    for (const [index, event] of shown.entries()) {
      const same = kept[index];
      if (same === undefined && watched.mayGiveUp) break;
      if (same?.seq === event.seq && same.type === event.type) continue;
      this.problem(`Shown ${event.seq} ${event.type} where ${same?.seq} ${same?.type} was kept`);
      break;
    }
    if (!isCut && kept.length > shown.length) this.problem(`${kept.length - shown.length} kept and not shown`);
    if (watched.mayGiveUp && shown.length > kept.length && this.lost === undefined && !this.#requiresStore)
      this.problem("Not everything was kept, and nothing says so");
    for (const runId of isCut ? this.#asking : []) this.#unheard.add(runId);
    this.#asking.clear();
    if (!isCut) this.kept.push(...shown.slice(kept.length));
  }

  /** The tree is over. */
  checkEnd(results: readonly RunResult[], { runtime }: Plan): void {
    const last = results.at(-1);
    if (last === undefined) return;
    const isLost = runtime.requireStore === true && this.#watched?.mayGiveUp === true;
    const found = [
      ...checkHistory(this.kept, { resultUsage: last.usage ?? noUsage() }),
      ...results.flatMap((result) => compareResult(result, this.kept)),
    ];
    for (const problem of isLost ? found.filter((each) => !AFTER_LOSS.test(each)) : found) this.problem(problem);
    if (!isLost) this.#checkChildren();
    this.#checkTerms();
  }

  /** A call makes a child once. A run that came to its end by itself has read every report of a child in the background. */
  #checkChildren(): void {
    const delivered = new Map<string, number>();
    const ends = new Map<string, EventOf<"run-end">>();
    const count = (runId: string) => delivered.set(runId, (delivered.get(runId) ?? 0) + 1);
    for (const event of this.kept) {
      if (event.type === "report") count(event.childRunId);
      if (event.type === "run-end") ends.set(event.runId, event);
      const read = event.type === "tool-call-end" ? event.metadata?.reported_runs : undefined;
      if (Array.isArray(read)) read.forEach(count);
    }
    const made = new Set<string>();
    for (const { runId, parentId, call, path } of this.#starts.values()) {
      const key = call && `${parentId} ${call.callId} ${call.index}`;
      if (key !== undefined && made.has(key)) this.problem(`${path} is the second child of one call`);
      if (key !== undefined) made.add(key);
      if (call?.background !== true) continue;
      const times = delivered.get(runId) ?? 0;
      if (times > 1) this.problem(`${path} reported ${times} times`);
      const parent = ends.get(parentId ?? "");
      const terms = this.#starts.get(this.rootId)?.terms;
      if (times === 0 && parent?.status === "completed" && terms?.onLiveChildren === "wait")
        this.problem(`${path} never reported to its parent`);
    }
  }

  /** What was agreed on when the tree began holds to its end. */
  #checkTerms(): void {
    const root = this.#starts.get(this.rootId);
    const starts = this.kept.filter((event) => event.type === "run-start");
    const { limits } = root?.terms ?? {};
    const depth = Math.max(...starts.map((start) => start.depth));
    if (limits !== undefined && depth > limits.maxDepth) this.problem(`Depth ${depth} of ${limits.maxDepth}`);
    const executions = Math.min(
      root?.budget?.executions ?? Number.POSITIVE_INFINITY,
      limits?.children.executions ?? Number.POSITIVE_INFINITY,
    );
    const children = starts.filter((start) => start.depth > 0).length;
    if (children > executions) this.problem(`${children} executions of ${executions}`);
  }
}
