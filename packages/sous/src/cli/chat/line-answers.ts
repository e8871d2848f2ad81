/** Lines that somebody types where nothing can be drawn: messages, and in between the answers to questions. */

import type { Interface } from "node:readline";
import type { Clock } from "../../core/clock.ts";
import { inertLine } from "../inert.ts";
import type { Question, Questions } from "./questions.ts";

export type LineAnswersParts = {
  reader: Interface;
  clock: Pick<Clock, "monotonic">;
  tell(text: string): void;
};

type Line = { text: string; typedAt: number };

export class LineAnswers implements AsyncIterable<string> {
  readonly #parts: LineAnswersParts;
  readonly #lines: AsyncIterator<string>;
  /** When each line came that the iterator has not given yet. */
  readonly #times: number[] = [];
  /** Messages that were typed before a question and read behind it. */
  readonly #messages: string[] = [];
  #told: Question | undefined;
  /** When the first of the questions that are being asked was shown; undefined while none is. */
  #askingSince: number | undefined;

  constructor(parts: LineAnswersParts) {
    const { reader, clock } = parts;
    this.#parts = parts;
    // A line may wait here for long, so its time is taken when it comes, not when it is read.
    reader.on("line", () => this.#times.push(clock.monotonic()));
    this.#lines = reader[Symbol.asyncIterator]();
  }

  [Symbol.asyncIterator](): AsyncIterator<string> {
    return { next: () => this.#nextMessage() };
  }

  /** Shows the first question and takes its answer, then the next. Nobody reads messages while a run waits for an answer. */
  async answer(questions: Questions): Promise<void> {
    this.#show(questions);
    if (this.#askingSince !== undefined) return;
    this.#askingSince = this.#parts.clock.monotonic();
    while (questions.first !== undefined) {
      const line = await this.#nextLine();
      if (line === undefined) questions.refuse();
      else if (line.typedAt < this.#askingSince) this.#messages.push(line.text);
      else this.#take(line, questions);
    }
    this.#askingSince = undefined;
  }

  #show(questions: Questions): void {
    const { clock, tell } = this.#parts;
    const { first } = questions;
    if (first === this.#told) return;
    this.#told = first;
    if (first === undefined) return;
    tell([first.action.title, ...[...first.action.lines, ...first.action.why].map((line) => `  ${line}`)].join("\n"));
    tell("y once, n no; anything else is a no and the reason for it");
    questions.shown(clock.monotonic());
  }

  #take({ text, typedAt }: Line, questions: Questions): void {
    const said = text.trim();
    const settle = questions.answering(typedAt);
    if (settle === undefined) this.#parts.tell(`${whyNot(questions)}. It was ignored: ${inertLine(said, 80)}`);
    else if (/^y(?:es)?$/i.test(said)) settle({ allow: true });
    else settle({ allow: false, reason: /^(?:no?)?$/i.test(said) ? undefined : said });
  }

  async #nextMessage(): Promise<IteratorResult<string>> {
    const earlier = this.#messages.shift();
    if (earlier !== undefined) return { value: earlier };
    const line = await this.#nextLine();
    return line === undefined ? { value: undefined, done: true } : { value: line.text };
  }

  async #nextLine(): Promise<Line | undefined> {
    const { value, done } = await this.#lines.next();
    if (done === true) return undefined;
    return { text: value, typedAt: this.#times.shift() ?? Number.NEGATIVE_INFINITY };
  }
}

function whyNot({ first }: Questions): string {
  if (first === undefined) return "The question was withdrawn";
  return "The question has only just appeared: read it, then answer again";
}
