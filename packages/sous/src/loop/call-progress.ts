/** How far one call is, as its tool says: a short line without secrets for people who watch, ten a second at most. */

import { oneLine, shortened } from "../core/clean-text.ts";
import type { ToolProgress } from "../core/event.ts";
import type { ToolCallPart } from "../core/message.ts";
import type { Run } from "../core/run.ts";

/** Between two of one call. */
const PAUSE_MS = 100;
/** Characters, with the mark of what is cut. */
const MAX_TEXT = 200;

type Said = readonly [text: unknown, done: unknown, total: unknown];

/** Made at the first progress of a call, so that other calls do not pay for it. */
export class CallProgress implements Disposable {
  readonly #run: Run;
  readonly #call: Pick<ToolCallPart, "callId" | "toolName">;
  /** The newest that was not shown yet; the others of the same moment are left out. */
  #latest: Said | undefined;
  /** While it runs, nothing is shown. */
  #pause: Disposable | undefined;

  constructor(run: Run, call: Pick<ToolCallPart, "callId" | "toolName">) {
    this.#run = run;
    this.#call = call;
  }

  /** Whatever a tool passes is no error. */
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
function toProgress(
  [said, done, total]: Said,
  { callId, toolName }: Pick<ToolCallPart, "callId" | "toolName">,
  run: Run,
): ToolProgress | undefined {
  // Without secrets before it is cut: half a secret is no longer known as one.
  const text = typeof said === "string" ? shortened(run.tree.redactor.text(oneLine(said)), MAX_TEXT - 1) : "";
  const numbers = { ...(isAmount(done) && { done }), ...(isAmount(total) && { total }) };
  if (text === "" && Object.keys(numbers).length === 0) return undefined;
  return { type: "tool-progress", callId, toolName, text, ...numbers };
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
