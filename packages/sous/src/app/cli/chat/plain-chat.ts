/** A conversation through a pipe, or where nothing can be drawn: one message a line, and answers to questions in between. */

import type { Interface } from "node:readline";
import type { Clock } from "../../../core/clock.ts";
import { MissingKey, messageOf } from "../../../core/errors.ts";
import type { SousEvent } from "../../../core/event.ts";
import type { RunResult } from "../../../core/runtime.ts";
import type { Application } from "../application/open.ts";
import { isForPeople } from "../exit-codes.ts";
import type { RunLog } from "../run/log.ts";
import { type Output, tell } from "../terminal/output.ts";
import { inert, inertLine } from "../terminal/text.ts";
import { plainLine } from "../view/plain-lines.ts";
import { Chat } from "./chat.ts";
import type { ApprovalQuestion, Questions } from "./questions.ts";
import { raiseHint } from "./raise-budget.ts";

type PlainChatParts = {
  application: Application;
  log: RunLog | undefined;
  output: Output;
  /** Progress, for stderr; undefined shows none. */
  progress: Output | undefined;
  cwd: string;
  lines: AsyncIterable<string>;
  /** Continues an earlier conversation before the first line is read. */
  begin(chat: Chat): Promise<RunResult | undefined>;
  /** Once it has aborted, no further line is taken, also of those that were read before. */
  stop: AbortSignal;
};

/** Ends with `/quit` or the last line. What one message cannot do is said, and the next one is read. */
export async function plainChat(parts: PlainChatParts, onChat: (chat: Chat) => void): Promise<void> {
  const { application, log, output, progress, cwd, lines, stop } = parts;
  const showProgress = (event: SousEvent): void => {
    if (progress === undefined) return;
    const line = plainLine(event, chat.transcript.tree, progress.style);
    if (line !== undefined) progress.print([line]);
  };
  const chat: Chat = new Chat({
    application,
    log,
    cwd,
    style: output.style,
    columns: () => output.columns,
    say: (said) => output.print(said),
    sayEarlier: (said) => progress?.print(said),
    onEvent: showProgress,
  });
  onChat(chat);
  const attempt = async (work: () => Promise<RunResult | "quit" | undefined>): Promise<boolean> => {
    try {
      const done = await work();
      if (done === "quit") return false;
      if (done === undefined) return true;
      showResult(done, output);
      const hint = raiseHint(done, chat.conversation);
      if (hint !== undefined) tell(hint);
    } catch (error) {
      // Without a key the next line would fail as well.
      if (!isForPeople(error) || error instanceof MissingKey) throw error;
      tell(`error: ${inertLine(messageOf(error), 1000)}`);
    }
    return true;
  };
  if (stop.aborted) return;
  // The lines that follow were meant for that conversation, and not for another.
  const begun = await parts.begin(chat);
  if (begun !== undefined) showResult(begun, output);
  for await (const line of lines) if (stop.aborted || !(await attempt(() => chat.submit(line)))) return;
}

function showResult({ text, error }: RunResult, output: Output): void {
  if (text !== "") output.printText(inert(text));
  if (error !== undefined) tell(`error: ${inertLine(error.message, 1000)}`);
}

type LineAnswersParts = {
  reader: Interface;
  clock: Pick<Clock, "monotonic">;
  tell(text: string): void;
  tellWhole(lines: readonly string[]): void;
};

type Line = { text: string; typedAt: number };

export class LineAnswers implements AsyncIterable<string> {
  readonly #parts: LineAnswersParts;
  readonly #lines: AsyncIterator<string>;
  /** The arrival times of the lines that the iterator has not given yet. */
  readonly #times: number[] = [];
  /** Messages that were typed before a question and read behind it. */
  readonly #messages: string[] = [];
  #shown: ApprovalQuestion | undefined;
  /** The time at which the first of the open questions was shown; undefined while none is. */
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

  /** Shows the first question and takes its answer, then the next. No message is read while a run waits for an answer. */
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
    const { clock, tell, tellWhole } = this.#parts;
    const { first } = questions;
    if (first === this.#shown) return;
    this.#shown = first;
    if (first === undefined) return;
    const { action, request } = first;
    tellWhole([action.title, ...[...action.lines, ...action.why].map((line) => `  ${line}`)]);
    tell(`end of the question ${request.digest ?? ""}: y once, n no; anything else is a no and the reason for it`);
    questions.shown(clock.monotonic(), true);
  }

  #take({ text, typedAt }: Line, questions: Questions): void {
    const said = text.trim();
    const isYes = /^y(?:es)?$/i.test(said);
    const settle = questions.answering(typedAt, isYes);
    if (settle === undefined) this.#parts.tell(`${whyNot(questions)}. It was ignored: ${inertLine(said, 80)}`);
    else if (isYes) settle({ allow: true });
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
