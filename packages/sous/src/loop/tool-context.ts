/** What a tool is given besides its input. Everything is looked up when asked for, so an idle context costs little. */

import type { Run } from "../core/run.ts";
import type { Scope } from "../core/scope.ts";
import type { ChildControl, SpawnReply, SpawnRequest } from "../core/spawn.ts";
import type { ToolContext } from "../core/tool.ts";

export class ToolCallContext implements ToolContext {
  readonly callId: string;
  readonly #run: Run;
  readonly #scope: Scope;

  constructor(run: Run, callId: string, scope: Scope) {
    this.#run = run;
    this.callId = callId;
    this.#scope = scope;
  }

  get signal(): AbortSignal {
    return this.#scope.signal;
  }

  get cwd(): string {
    return this.#run.tree.cwd;
  }

  get runId(): string {
    return this.#run.who.runId;
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

  get children(): ChildControl {
    return this.#run.tree.childrenOf(this.#run, this.#scope);
  }

  spawn(request: SpawnRequest): Promise<SpawnReply> {
    return this.#run.tree.spawn(this.#run, this.callId, this.#scope, request);
  }
}
