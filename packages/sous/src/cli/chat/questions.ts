/** Questions for the person at the terminal: asked one after the other, withdrawn when nobody waits for the answer. */

import type { ApprovalAnswer, ApprovalRequest, Approve } from "../../core/approval.ts";
import type { ActionWords } from "../application.ts";

export type Question = {
  readonly request: ApprovalRequest;
  readonly action: ActionWords;
};

export type DescribeAction = (request: ApprovalRequest) => ActionWords;

type Waiting = Question & { answer(answer: ApprovalAnswer): void };

export class Questions {
  readonly #waiting: Waiting[] = [];
  readonly #describe: DescribeAction;
  readonly #changed: () => void;

  /** `changed` is called when another question is the first, or there is none. */
  constructor(describe: DescribeAction, changed: () => void) {
    this.#describe = describe;
    this.#changed = changed;
  }

  get first(): Question | undefined {
    return this.#waiting[0];
  }

  get count(): number {
    return this.#waiting.length;
  }

  readonly ask: Approve = (request, signal) => {
    const { promise, resolve } = Promise.withResolvers<ApprovalAnswer>();
    if (signal.aborted) return { allow: false };
    const waiting: Waiting = { request, action: this.#describe(request), answer: resolve };
    const withdraw = (): void => this.#settle(waiting, { allow: false });
    signal.addEventListener("abort", withdraw, { once: true });
    void promise.then(() => signal.removeEventListener("abort", withdraw));
    this.#waiting.push(waiting);
    this.#changed();
    return promise;
  };

  /** Answers the first question. */
  answer(answer: ApprovalAnswer): void {
    const [first] = this.#waiting;
    if (first !== undefined) this.#settle(first, answer);
  }

  #settle(waiting: Waiting, answer: ApprovalAnswer): void {
    const at = this.#waiting.indexOf(waiting);
    if (at < 0) return;
    this.#waiting.splice(at, 1);
    waiting.answer(answer);
    this.#changed();
  }
}
