/** The updates of one session on their way to the client: few enough to be read, in order, and none of them too late. */

import type { SessionUpdate } from "@agentclientprotocol/sdk";
import type { Clock } from "../../core/clock.ts";

export type UpdateQueueOptions = {
  /** Resolves when the client can take more. */
  readonly send: (update: SessionUpdate) => Promise<void>;
  readonly clock: Clock;
};

/** Ten a second. */
const PAUSE_MS = 100;
/** The time the end of a turn, or a question, waits for updates that are still to be sent; the rest goes at once. */
const MAX_DRAIN_MS = 2000;

export class UpdateQueue {
  readonly #options: UpdateQueueOptions;
  #waiting: SessionUpdate[] = [];
  #sending: Promise<void> | undefined;
  /** Monotonic. */
  #lastAt = Number.NEGATIVE_INFINITY;
  /** The time from which nothing is waited for. Monotonic. */
  #hurryAt = Number.POSITIVE_INFINITY;
  #isClosed = false;

  constructor(options: UpdateQueueOptions) {
    this.#options = options;
  }

  /** Joins an update with a waiting one of the same message or the same call. */
  add(update: SessionUpdate): void {
    if (this.#isClosed) return;
    if (!this.#isJoined(update)) this.#waiting.push(update);
    this.#sending ??= this.#sendAll();
  }

  /** Resolves when everything that was added before has been sent. */
  async drain(): Promise<void> {
    this.#hurryAt = Math.min(this.#hurryAt, this.#options.clock.monotonic() + MAX_DRAIN_MS);
    await this.#sending;
  }

  /** Sends everything at once from now on: for a conversation that is read from the store. */
  hurry(): void {
    this.#hurryAt = Number.NEGATIVE_INFINITY;
  }

  /** The client is gone. */
  close(): void {
    this.#isClosed = true;
    this.#waiting = [];
  }

  async #sendAll(): Promise<void> {
    // A microtask later: the pieces of one moment are one update.
    await undefined;
    for (;;) {
      await this.#untilDue();
      const next = this.#waiting.shift();
      if (next === undefined) break;
      this.#lastAt = this.#options.clock.monotonic();
      await this.#options.send(next).catch(() => this.close());
    }
    this.#hurryAt = Number.POSITIVE_INFINITY;
    this.#sending = undefined;
  }

  async #untilDue(): Promise<void> {
    const { clock } = this.#options;
    const now = clock.monotonic();
    const pause = this.#lastAt + PAUSE_MS - now;
    if (pause <= 0 || now >= this.#hurryAt || this.#waiting.length === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    clock.timer(pause, resolve);
    await promise;
  }

  #isJoined(update: SessionUpdate): boolean {
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
      case "agent_thought_chunk":
        return this.#joinText(update);
      case "tool_call_update":
        return this.#joinCall(update);
      case "usage_update":
      case "plan":
        return this.#replace(update);
      default:
        return false;
    }
  }

  #joinText(update: Extract<SessionUpdate, { content: { type: string } }>): boolean {
    const last = this.#waiting.at(-1);
    if (last?.sessionUpdate !== update.sessionUpdate || !("content" in last) || Array.isArray(last.content))
      return false;
    if (last.content?.type !== "text" || update.content.type !== "text") return false;
    const content = { ...last.content, text: last.content.text + update.content.text };
    this.#waiting[this.#waiting.length - 1] = { ...update, content };
    return true;
  }

  #joinCall(update: Extract<SessionUpdate, { sessionUpdate: "tool_call_update" }>): boolean {
    const at = this.#waiting.findIndex((each) => "toolCallId" in each && each.toolCallId === update.toolCallId);
    const earlier = this.#waiting[at];
    if (earlier === undefined) return false;
    const { sessionUpdate: _, ...changes } = update;
    this.#waiting[at] = { ...earlier, ...changes } as SessionUpdate;
    return true;
  }

  /** Replaces a waiting update of a kind of which only the newest counts. */
  #replace(update: SessionUpdate): boolean {
    const at = this.#waiting.findIndex(({ sessionUpdate }) => sessionUpdate === update.sessionUpdate);
    if (at === -1) return false;
    this.#waiting[at] = update;
    return true;
  }
}
