/** Questions of a run to the person, in a queue. */

import type { ApprovalAnswer, ApprovalRequest, Approve } from "../../../core/approval.ts";
import type { ActionWords } from "../application/open.ts";

export type ApprovalQuestion = {
  readonly request: ApprovalRequest;
  readonly action: ActionWords;
};

type DescribeAction = (request: ApprovalRequest) => ActionWords;

type Waiting = ApprovalQuestion & { answer(answer: ApprovalAnswer): void };

/**
 * The time a question must have been in sight before anything is its answer. A person does not decide faster, so what is
 * typed earlier was meant for something else: the question before, which was withdrawn or answered, or a message.
 */
export const MIN_SHOWN_MS = 700;

export class Questions {
  readonly #waiting: Waiting[] = [];
  readonly #describe: DescribeAction;
  readonly #changed: () => void;
  /** When the first question came into sight; undefined while it is not. */
  #shownAt: number | undefined;

  /** `changed` is called when another question becomes the first, or the last one is settled. */
  constructor(describe: DescribeAction, changed: () => void) {
    this.#describe = describe;
    this.#changed = changed;
  }

  get first(): ApprovalQuestion | undefined {
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

  /** The first question is in sight now. The screen that draws it reports this each time; only the first report counts. Monotonic. */
  shown(now: number): void {
    if (this.first !== undefined) this.#shownAt ??= now;
  }

  /** The first question is out of sight: it must be read again. */
  hidden(): void {
    this.#shownAt = undefined;
  }

  /** The way to answer the first question with what was typed at this time; undefined when it is not an answer. */
  answering(typedAt: number): ((answer: ApprovalAnswer) => void) | undefined {
    const [first] = this.#waiting;
    if (first === undefined || this.#shownAt === undefined || typedAt - this.#shownAt < MIN_SHOWN_MS) return undefined;
    return (answer) => this.#settle(first, answer);
  }

  /** Answers the first question with no. Allowed at any time, because it permits nothing. */
  refuse(): void {
    const [first] = this.#waiting;
    if (first !== undefined) this.#settle(first, { allow: false });
  }

  #settle(waiting: Waiting, answer: ApprovalAnswer): void {
    const at = this.#waiting.indexOf(waiting);
    if (at < 0) return;
    this.#waiting.splice(at, 1);
    if (at === 0) this.#shownAt = undefined;
    waiting.answer(answer);
    this.#changed();
  }
}
