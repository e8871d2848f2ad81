/** Lines that somebody types where nothing can be drawn: messages, and in between the answers to questions. */

import type { Interface } from "node:readline";
import { inertLine } from "../inert.ts";
import type { Questions } from "./questions.ts";

export class LineAnswers implements AsyncIterable<string> {
  readonly #lines: AsyncIterator<string>;
  readonly #tell: (text: string) => void;
  #isAsking = false;

  constructor(reader: Interface, tell: (text: string) => void) {
    this.#lines = reader[Symbol.asyncIterator]();
    this.#tell = tell;
  }

  [Symbol.asyncIterator](): AsyncIterator<string> {
    return { next: () => this.#lines.next() };
  }

  /** Asks the first question, and the next one after it. Nobody reads messages while a run waits for an answer. */
  async answer(questions: Questions): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    for (let asked = questions.first; asked !== undefined; asked = questions.first) {
      this.#tell([asked.action.title, ...asked.action.lines.map((line) => `  ${line}`)].join("\n"));
      this.#tell("y once, n no; anything else is a no and the reason for it");
      const { value, done } = await this.#lines.next();
      const line = done === true ? "" : value.trim();
      if (questions.first !== asked) this.#tell(`The question was withdrawn; nobody heard: ${inertLine(line, 80)}`);
      else if (/^y(?:es)?$/i.test(line)) questions.answer({ allow: true });
      else questions.answer({ allow: false, reason: /^(?:no?)?$/i.test(line) ? undefined : line });
    }
    this.#isAsking = false;
  }
}
