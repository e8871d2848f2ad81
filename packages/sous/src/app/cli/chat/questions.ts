/** Questions of a run to the person: the queue, and the keys that answer the first of them. */

import type { ApprovalAnswer, ApprovalRequest, Approve, GivenAnswer } from "../../../core/approval.ts";
import type { ActionWords, Application } from "../application/open.ts";
import type { Style } from "../terminal/style.ts";
import { inertLine } from "../terminal/text.ts";
import type { Key } from "./keys.ts";
import type { PromptLine } from "./prompt-line.ts";
import type { QuestionPage } from "./question-view.ts";

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
  /** The times at which the first question and its end came in sight; undefined while they are not. */
  #shownAt: number | undefined;
  #endShownAt: number | undefined;

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

  /**
   * The first question is in sight now, with its end or without. The screen that draws it reports this each time; only the first
   * report counts. Monotonic.
   */
  shown(now: number, isEndShown: boolean): void {
    if (this.first === undefined) return;
    this.#shownAt ??= now;
    if (isEndShown) this.#endShownAt ??= now;
  }

  /** True while the first question is in sight and its end was not yet. */
  get hasMore(): boolean {
    return this.#shownAt !== undefined && this.#endShownAt === undefined;
  }

  /** The first question is out of sight: it must be read again. */
  hidden(): void {
    this.#shownAt = undefined;
    this.#endShownAt = undefined;
  }

  /**
   * The way to answer the first question with what was typed at this time; undefined when it is not an answer. A yes to a question
   * that was not shown to its end is none.
   */
  answering(typedAt: number, allow: boolean): ((answer: ApprovalAnswer) => void) | undefined {
    const [first] = this.#waiting;
    const since = allow ? this.#endShownAt : this.#shownAt;
    if (first === undefined || since === undefined || typedAt - since < MIN_SHOWN_MS) return undefined;
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
    if (at === 0) this.hidden();
    waiting.answer(answer);
    this.#changed();
  }
}

type QuestionKeysParts = {
  questions: Questions;
  application: Pick<Application, "clock" | "remember">;
  style: Style;
  line: PromptLine;
  say(lines: readonly string[]): void;
};

/** A person in the middle of typing does not mean to answer, and a key that is held down counts once. */
const QUIET_MS = 400;
const TOO_EARLY = "The question has only just appeared: read it, then press the key again";
const TOO_SMALL = "Too small to show the question";
const NOT_READ = "There is more of it: v shows all, and y counts once you have seen its end";

export class QuestionKeys {
  readonly #parts: QuestionKeysParts;
  #lastKeyAt = Number.NEGATIVE_INFINITY;
  #wantsToAnswer = false;
  /** The first row in sight while the person reads the question page by page, and the page as it was drawn last. */
  #top: number | undefined;
  #page: QuestionPage | undefined;

  constructor(parts: QuestionKeysParts) {
    this.#parts = parts;
  }

  /** True while a question waits and the keys are for the line, until Esc says otherwise. */
  get isHeld(): boolean {
    return !this.#wantsToAnswer && !this.#parts.line.isFree;
  }

  get top(): number | undefined {
    return this.#top;
  }

  /** The first question has changed, or the last one is settled. */
  onQuestion(): void {
    this.#wantsToAnswer = false;
    this.#top = undefined;
  }

  /** Called with what was drawn of the first question. */
  drawn(page: QuestionPage | undefined): void {
    const before = this.#page;
    this.#page = page;
    if (page === undefined) return;
    // At another width the rows are others, and some before this one may never have been in sight: it is read from the start.
    const isOtherWidth = this.#top !== undefined && before !== undefined && before.columns !== page.columns;
    if (this.#top !== undefined) this.#top = isOtherWidth ? 0 : Math.min(this.#top, page.lastTop);
    this.#parts.questions.shown(this.#parts.application.clock.monotonic(), page.isEndShown && !isOtherWidth);
  }

  /** True when the key was about the first question, also when it is not taken for an answer. Called for every key. */
  takes(key: Key): boolean {
    const { questions, application, line } = this.#parts;
    const now = application.clock.monotonic();
    const quiet = now - this.#lastKeyAt;
    this.#lastKeyAt = now;
    if (questions.first === undefined || line.purpose?.kind === "reason") return false;
    if (key.type === "key" && key.name === "interrupt") {
      this.#tell({ allow: false }, "not allowed");
      questions.refuse();
      return true;
    }
    if (this.#moves(key)) return true;
    if (!this.#wantsToAnswer) {
      if (key.type === "key" && key.name === "escape") {
        this.#wantsToAnswer = true;
        return true;
      }
      if (!line.isFree) return false;
    }
    if (key.type === "text" && key.text === "v" && this.#page !== undefined && !this.#page.isEndShown) {
      this.#top = 0;
      return true;
    }
    if (key.type !== "text" || !/^[yanr]$/.test(key.text)) return false;
    const isTyping = !this.#wantsToAnswer && quiet < QUIET_MS;
    const allow = /^[ya]$/.test(key.text);
    if (isTyping || questions.answering(now, allow) === undefined) {
      const notRead = this.#page?.isTooSmall === true ? TOO_SMALL : NOT_READ;
      line.hint = allow && questions.hasMore ? notRead : TOO_EARLY;
      return true;
    }
    if (key.text === "r") line.take({ kind: "reason" });
    else if (key.text === "a") this.#answerAlways();
    else this.answer({ allow: key.text === "y" });
    return true;
  }

  /** True for a key that moves in a question which is read page by page, or closes it. No other key but an answer does anything there. */
  #moves(key: Key): boolean {
    if (this.#top === undefined || (key.type === "text" && /^[yanr]$/.test(key.text))) return false;
    const { rows = 1, lastTop = 0 } = this.#page ?? {};
    const name = key.type === "key" ? key.name : key.type === "text" ? key.text : "";
    const steps: Readonly<Record<string, number>> = {
      " ": rows,
      down: 1,
      enter: 1,
      up: -1,
      b: -rows,
      end: lastTop,
      home: -lastTop,
    };
    if (name === "escape" || name === "v" || name === "q") this.#top = undefined;
    else this.#top = Math.max(0, Math.min(lastTop, this.#top + (steps[name] ?? 0)));
    return true;
  }

  answer(answer: GivenAnswer, word = this.#wordFor(answer)): void {
    const { questions, application } = this.#parts;
    const settle = questions.answering(application.clock.monotonic(), answer.allow);
    if (settle === undefined) return;
    this.#tell(answer, word);
    settle(answer);
  }

  #wordFor({ allow }: GivenAnswer): string {
    if (!allow) return "not allowed";
    return this.#parts.questions.first?.request.isFromTool === true ? "approved" : "allowed once";
  }

  #answerAlways(): void {
    const { questions, application } = this.#parts;
    const { first } = questions;
    const rule = first?.action.rule;
    if (first === undefined || rule === undefined) return;
    application.remember(rule, first.request);
    this.answer({ allow: true }, `allowed for ${inertLine(first.request.agent, 60)} from now on`);
  }

  #tell({ allow }: GivenAnswer, word: string): void {
    const { questions, style, say } = this.#parts;
    const { first } = questions;
    if (first === undefined) return;
    const status = allow ? "completed" : "cancelled";
    const action = inertLine(first.action.lines.join(" "), 200);
    say([`${style.glyphs.status[status]} ${word}: ${wordsOf(first.request)}  ${action}`]);
  }
}

function wordsOf({ toolName, origin }: ApprovalRequest): string {
  return inertLine(origin === undefined ? toolName : `${origin.server} › ${origin.tool}`, 80);
}
