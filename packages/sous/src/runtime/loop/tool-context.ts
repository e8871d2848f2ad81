/** The context that a tool is given besides its input. Everything is looked up when asked for, so an idle context costs little. */

import type { RuleAnswer } from "../../core/approval.ts";
import { oneLine, shortened } from "../../core/clean-text.ts";
import type { ToolProgress } from "../../core/event.ts";
import type { Run } from "../../core/run.ts";
import { Scope } from "../../core/scope.ts";
import type { ChildControl, SpawnReply, SpawnRequest } from "../../core/spawn.ts";
import type { CleanUp, ToolContext } from "../../core/tool.ts";
import type { TraceContext } from "../../core/trace-context.ts";
import { approvalRequest, type CallName } from "./ask-approval.ts";
import { defer } from "./clean-up.ts";
import { decideByRules } from "./decide-by-rules.ts";

export class ToolCallContext implements ToolContext, Disposable {
  readonly #call: CallName;
  readonly #run: Run;
  #scope: Scope | undefined;
  #progress: CallProgress | "ended" | undefined;

  constructor(run: Run, call: CallName) {
    this.#run = run;
    this.#call = call;
  }

  get callId(): string {
    return this.#call.callId;
  }

  /** One per call, so that listeners a tool leaves behind go with it. */
  get signal(): AbortSignal {
    this.#scope ??= new Scope(this.#run.work);
    return this.#scope.signal;
  }

  get cwd(): string {
    return this.#run.tree.cwd;
  }

  get runId(): string {
    return this.#run.who.runId;
  }

  get agentId(): string {
    return this.#run.who.agentId;
  }

  get ancestorIds(): readonly string[] {
    const ids: string[] = [];
    for (let above = this.#run.parent; above !== undefined; above = above.parent) ids.unshift(above.who.agentId);
    return ids;
  }

  get path(): string {
    return this.#run.who.path;
  }

  get depth(): number {
    return this.#run.who.depth;
  }

  get maxDepth(): number {
    return this.#run.tree.maxDepth;
  }

  get rulesOn(): (input: unknown) => RuleAnswer | undefined {
    return (input) => decideByRules(approvalRequest(this.#call, input, this.#run), this.#run);
  }

  get children(): ChildControl {
    return this.#run.tree.childrenOf(this.#run, this.callId);
  }

  /** Bound when it is asked for: a context is taken apart like any other argument. */
  get spawn(): (request: SpawnRequest) => Promise<SpawnReply> {
    return (request) => this.#run.tree.spawn(this.#run, this.callId, request);
  }

  get defer(): (cleanUp: CleanUp) => void {
    return (cleanUp) => defer(this.#run, cleanUp);
  }

  get trace(): TraceContext | undefined {
    return this.#run.tree.traceOf(this.#run);
  }

  get progress(): (text: string, done?: number, total?: number) => void {
    return (text, done, total) => {
      if (this.#progress === "ended" || !this.#run.tree.isWatched) return;
      this.#progress ??= new CallProgress(this.#run, this.#call);
      this.#progress.say(text, done, total);
    };
  }

  [Symbol.dispose](): void {
    if (this.#progress instanceof CallProgress) this.#progress[Symbol.dispose]();
    this.#progress = "ended";
    this.#scope?.[Symbol.dispose]();
  }
}

/** The pause between two reports of one call. */
const PAUSE_MS = 100;
/** Characters, with the mark of what is cut. */
const MAX_TEXT = 200;

type Said = readonly [text: unknown, done: unknown, total: unknown];

/** The progress of a call, made at its first report, so that other calls do not pay for it. */
class CallProgress implements Disposable {
  readonly #run: Run;
  readonly #call: CallName;
  /** The newest that was not shown yet; the others of the same moment are left out. */
  #latest: Said | undefined;
  /** While it runs, nothing is shown. */
  #pause: Disposable | undefined;

  constructor(run: Run, call: CallName) {
    this.#run = run;
    this.#call = call;
  }

  /** Takes whatever a tool passes: nothing is an error here. */
  say(...said: Said): void {
    this.#latest = said;
    if (this.#pause === undefined) this.#show();
  }

  #show(): void {
    const progress = this.#latest && toProgress(this.#latest, this.#call, this.#run);
    this.#latest = undefined;
    this.#pause = undefined;
    if (progress === undefined) return;
    this.#run.tree.show(this.#run, progress);
    this.#pause = this.#run.tree.clock.timer(PAUSE_MS, () => this.#show(), true);
  }

  [Symbol.dispose](): void {
    this.#pause?.[Symbol.dispose]();
  }
}

/** Undefined when there is nothing to show. */
function toProgress([said, done, total]: Said, { callId, toolName }: CallName, run: Run): ToolProgress | undefined {
  // Secrets go before the text is cut: half a secret is no longer known as one.
  const text = typeof said === "string" ? shortened(run.tree.redactor.text(oneLine(said)), MAX_TEXT - 1) : "";
  const numbers = { ...(isAmount(done) && { done }), ...(isAmount(total) && { total }) };
  if (text === "" && Object.keys(numbers).length === 0) return undefined;
  return { type: "tool-progress", callId, toolName, text, ...numbers };
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
