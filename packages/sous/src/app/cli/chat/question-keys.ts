/** The keys that answer a question of a run. */

import type { ApprovalRequest, GivenAnswer } from "../../../core/approval.ts";
import type { Application } from "../application/open.ts";
import type { Style } from "../terminal/style.ts";
import { inertLine } from "../terminal/text.ts";
import type { Key } from "./keys.ts";
import type { PromptLine } from "./prompt-line.ts";
import type { Questions } from "./questions.ts";

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

export class QuestionKeys {
  readonly #parts: QuestionKeysParts;
  #lastKeyAt = Number.NEGATIVE_INFINITY;
  #wantsToAnswer = false;

  constructor(parts: QuestionKeysParts) {
    this.#parts = parts;
  }

  /** True while a question waits and the keys are for the line, until Esc says otherwise. */
  get isHeld(): boolean {
    return !this.#wantsToAnswer && !this.#parts.line.isFree;
  }

  /** The first question has changed, or the last one is settled. */
  onQuestion(): void {
    this.#wantsToAnswer = false;
  }

  /** True when the key was about the first question, also when it is not taken for an answer. Called for every key. */
  takes(key: Key): boolean {
    const { questions, application, line } = this.#parts;
    const now = application.clock.monotonic();
    const quiet = now - this.#lastKeyAt;
    this.#lastKeyAt = now;
    if (questions.first === undefined || line.purpose?.kind === "reason") return false;
    if (key.type === "key" && key.name === "interrupt") return this.#refuse();
    if (!this.#wantsToAnswer) {
      if (key.type === "key" && key.name === "escape") {
        this.#wantsToAnswer = true;
        return true;
      }
      if (!line.isFree) return false;
    }
    if (key.type !== "text" || !/^[yanr]$/.test(key.text)) return false;
    const isTyping = !this.#wantsToAnswer && quiet < QUIET_MS;
    if (isTyping || questions.answering(now) === undefined) {
      line.hint = TOO_EARLY;
      return true;
    }
    if (key.text === "r") line.take({ kind: "reason" });
    else if (key.text === "a") this.#answerAlways();
    else this.answer({ allow: key.text === "y" });
    return true;
  }

  answer(answer: GivenAnswer, word = this.#wordFor(answer)): void {
    const { questions, application } = this.#parts;
    const settle = questions.answering(application.clock.monotonic());
    if (settle === undefined) return;
    this.#tell(answer, word);
    settle(answer);
  }

  #wordFor({ allow }: GivenAnswer): string {
    if (!allow) return "not allowed";
    return this.#parts.questions.first?.request.isFromTool === true ? "approved" : "allowed once";
  }

  #refuse(): true {
    this.#tell({ allow: false }, "not allowed");
    this.#parts.questions.refuse();
    return true;
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
