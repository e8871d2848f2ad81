/** What a tool is given besides its input. Everything is looked up when asked for, so an idle context costs little. */

import type { RuleAnswer } from "../core/approval.ts";
import type { ToolCallPart } from "../core/message.ts";
import type { Run } from "../core/run.ts";
import { Scope } from "../core/scope.ts";
import type { ChildControl, SpawnReply, SpawnRequest } from "../core/spawn.ts";
import type { CleanUp, ToolContext } from "../core/tool.ts";
import type { TraceContext } from "../core/trace-context.ts";
import { approvalRequest } from "./ask-consent.ts";
import { CallProgress } from "./call-progress.ts";
import { defer } from "./clean-up.ts";
import { decideByRules } from "./decide-by-rules.ts";

export class ToolCallContext implements ToolContext, Disposable {
  readonly #call: Pick<ToolCallPart, "callId" | "toolName">;
  readonly #run: Run;
  #scope: Scope | undefined;
  #progress: CallProgress | "ended" | undefined;

  constructor(run: Run, call: Pick<ToolCallPart, "callId" | "toolName">) {
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
