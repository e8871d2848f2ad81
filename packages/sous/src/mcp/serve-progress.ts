/** What a call is doing, as progress notifications: a few a second at most, and one now and then when nothing changes. */

import type { Clock } from "../core/clock.ts";

type ProgressOptions = {
  readonly clock: Clock;
  /** Resolves when the client can take the next one. */
  readonly send: (progress: number, message: string) => Promise<void>;
};

const MIN_GAP_MS = 250;
/** Clients that wait longer while there is progress have a limit of a minute or so without. */
const MAX_GAP_MS = 10_000;

export class ServedProgress implements Disposable {
  readonly #options: ProgressOptions;
  #count = 0;
  #line = "";
  #timer: Disposable | undefined;
  /** When the last one was sent; undefined before the first. */
  #sentAt: number | undefined;
  #isSending = false;
  #isOver = false;

  constructor(options: ProgressOptions) {
    this.#options = options;
  }

  /** Lines that come faster than they may be sent are left out; the last one is sent. */
  show(line: string): void {
    if (this.#isOver || line === this.#line) return;
    this.#line = line;
    if (!this.#isSending) this.#sendIn(MIN_GAP_MS);
  }

  #sendIn(gapMs: number): void {
    if (this.#isOver) return;
    this.#timer?.[Symbol.dispose]();
    const { clock } = this.#options;
    const since = this.#sentAt === undefined ? gapMs : clock.monotonic() - this.#sentAt;
    this.#timer = clock.timer(Math.max(0, gapMs - since), () => void this.#send(), true);
  }

  async #send(): Promise<void> {
    const { clock, send } = this.#options;
    const line = this.#line;
    this.#isSending = true;
    this.#sentAt = clock.monotonic();
    this.#count += 1;
    // A client that is gone is noticed elsewhere.
    await send(this.#count, line).catch(() => {});
    this.#isSending = false;
    this.#sendIn(line === this.#line ? MAX_GAP_MS : MIN_GAP_MS);
  }

  /** None is sent any more: the answer is the last word. */
  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#timer?.[Symbol.dispose]();
  }
}
