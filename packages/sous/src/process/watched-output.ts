/** The output of a program for someone who watches it: its end, now and then, while it grows. */

import type { Clock } from "../core/clock.ts";
import { type ProgramRequest, WATCHED_LENGTH } from "../core/process.ts";
import { HeadAndTail } from "./output.ts";

const PAUSE_MS = 250;

/** What is kept of the output. With `onOutput` it is watched, until it is disposed. */
export class WatchedOutput implements Disposable {
  readonly kept: HeadAndTail;
  readonly #clock: Clock;
  readonly #onOutput: ProgramRequest["onOutput"];
  #pause: Disposable | undefined;
  #isOver = false;

  constructor({ maxOutputBytes, onOutput }: Pick<ProgramRequest, "maxOutputBytes" | "onOutput">, clock: Clock) {
    this.#clock = clock;
    this.#onOutput = onOutput;
    this.kept = new HeadAndTail(maxOutputBytes, onOutput && (() => this.#wait()));
  }

  /** However much comes meanwhile, it is read once. */
  #wait(): void {
    if (this.#isOver) return;
    this.#pause ??= this.#clock.timer(
      PAUSE_MS,
      () => {
        this.#pause = undefined;
        const { head, tail } = this.kept.read();
        this.#onOutput?.((tail === "" ? head : tail).slice(-WATCHED_LENGTH));
      },
      true,
    );
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#pause?.[Symbol.dispose]();
  }
}
