/** `sous chat` in a terminal: keys, a line to type in, children that can be chosen, questions that can be answered. */

import { messageOf } from "../../../core/errors.ts";
import type { RunResult } from "../../../core/runtime.ts";
import type { RunRecord } from "../../../core/store.ts";
import type { Application } from "../application/open.ts";
import { isForPeople } from "../exit-codes.ts";
import { withoutValues } from "../files/without-secrets.ts";
import type { RunLog } from "../run/log.ts";
import { LiveScreen, type Screen } from "../terminal/live-screen.ts";
import type { Style } from "../terminal/style.ts";
import { breakLine, inertLine } from "../terminal/text.ts";
import { Chat } from "./chat.ts";
import { type ChatScene, chatFrame } from "./chat-view.ts";
import type { Key, KeyName } from "./keys.ts";
import { echoLines, type History, PromptLine } from "./prompt-line.ts";
import { QuestionKeys, type Questions } from "./questions.ts";
import { raiseHint } from "./raise-budget.ts";
import { COMMAND_NAMES } from "./slash-commands.ts";

type InteractiveParts = {
  application: Application;
  log?: RunLog | undefined;
  screen: Screen;
  style: Style;
  cwd: string;
  history: History;
  questions: Questions;
};

const IN_SHELL = "the shell line is running; Ctrl-C stops it";

export class InteractiveChat implements Disposable {
  readonly chat: Chat;
  readonly ended: Promise<void>;
  readonly #parts: InteractiveParts;
  readonly #screen: LiveScreen;
  readonly #end: () => void;
  readonly #line: PromptLine;
  readonly #keys: QuestionKeys;
  #selected: string | undefined;
  #isWrappingUp = false;

  constructor(parts: InteractiveParts) {
    const { application, log, screen, style, cwd } = parts;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#parts = parts;
    this.ended = promise;
    this.#end = resolve;
    this.#line = new PromptLine(parts.history.entries);
    const { questions } = parts;
    this.#keys = new QuestionKeys({
      questions,
      application,
      style,
      line: this.#line,
      say: (lines) => this.say(lines),
    });
    this.#screen = new LiveScreen({
      screen,
      clock: application.clock,
      draw: (size) => {
        const frame = chatFrame(this.#scene(), size, style);
        this.#keys.drawn(frame.question);
        return frame;
      },
      isMoving: () => this.chat.conversation.isLive,
    });
    this.chat = new Chat({
      application,
      log,
      cwd,
      style,
      columns: () => this.#screen.size.columns - 1,
      say: (lines) => this.say(lines),
      onEvent: (_, lines) => {
        this.#screen.print(lines);
        this.#screen.refresh();
      },
    });
  }

  say(lines: readonly string[]): void {
    this.#screen.print(
      lines
        .map(withoutValues)
        .flatMap((line) => (line.includes("\u001b") ? [line] : breakLine(line, this.#screen.size.columns - 1))),
    );
  }

  /** Something outside has changed: the size of the terminal, or the first question. */
  refresh(): void {
    this.#screen.refresh();
  }

  /** Another program is to have the terminal for a while. */
  clear(): void {
    this.#parts.questions.hidden();
    this.#screen.clear();
  }

  /** The first question has changed, or the last one is settled. */
  onQuestion(): void {
    this.#keys.onQuestion();
    if (this.#line.purpose?.kind === "reason") this.#line.putBack();
    this.#screen.refresh();
  }

  /** Does what a line asks for, and says so when it cannot be done. */
  submit(line: string): Promise<void> {
    return this.#attempt(() => this.chat.submit(line));
  }

  /** Continues an earlier conversation, and says so when it cannot be done. */
  continueWith(record: RunRecord): Promise<void> {
    return this.#attempt(() => this.chat.continueWith(record));
  }

  /** Shows the earlier conversations; the line is ready for the number of one. */
  async choose(): Promise<void> {
    await this.#attempt(async () => {
      if ((await this.chat.list()) && this.#line.isFree) this.#line.write("/resume ");
      return undefined;
    });
  }

  async #attempt(work: () => Promise<"quit" | RunResult | undefined>): Promise<void> {
    if (!this.chat.isBusy) this.#isWrappingUp = false;
    try {
      const done = await work();
      if (done === "quit") this.quit();
      const hint = done === "quit" || done === undefined ? undefined : raiseHint(done, this.chat.conversation);
      if (hint !== undefined) this.say([hint]);
    } catch (error) {
      this.#complain(error);
    }
    this.#screen.refresh();
  }

  /** Stops what runs, and ends. */
  quit(): void {
    this.chat.cancelAll("leave");
    this.#end();
  }

  onKey(key: Key): void {
    this.#line.hint = undefined;
    if (!(this.#keys.takes(key) || this.#takesChoice(key))) this.#takesLine(key);
    this.#screen.refresh();
  }

  [Symbol.dispose](): void {
    this.#screen[Symbol.dispose]();
  }

  /** True when the key was about a child: walking the tree, or what to do with the one that is chosen. */
  #takesChoice(key: Key): boolean {
    const { transcript, conversation } = this.chat;
    const paths = conversation.isLive && this.#line.isFree ? transcript.drawnPaths() : [];
    if (paths.length === 0) {
      this.#selected = undefined;
      return false;
    }
    if (isKey(key, "up") || isKey(key, "down")) {
      const at = this.#selected === undefined ? -1 : paths.indexOf(this.#selected);
      const next = isKey(key, "down") ? at + 1 : at < 0 ? paths.length - 1 : at - 1;
      this.#selected = paths[next];
      return true;
    }
    const selected = this.#selected;
    if (selected === undefined) return false;
    this.#selected = undefined;
    switch (key.type === "text" ? key.text : "") {
      case "s":
        this.#line.take({ kind: "steer", path: selected });
        return true;
      case "w":
        if (this.chat.cancel(selected, "wrap-up")) this.say([`${selected} wraps up.`]);
        return true;
      case "x":
        if (this.chat.cancel(selected, "stop")) this.say([`${selected} is stopped.`]);
        return true;
      default:
        return false;
    }
  }

  #takesLine(key: Key): void {
    const { transcript } = this.chat;
    if (this.#line.type(key) || key.type !== "key") return;
    if (key.name === "enter") this.#enter();
    else if (key.name === "tab") void this.#complete();
    else if (key.name === "interrupt") this.#interrupt();
    else if (key.name === "escape") this.#line.putBack();
    else if (key.name === "expand") transcript.isExpanded = !transcript.isExpanded;
    else if (key.name === "end-of-input") this.quit();
    else if (key.name === "redraw") this.#screen.redraw();
  }

  #enter(): void {
    const entered = this.#line.enter();
    if (entered === undefined) return;
    const { text, purpose } = entered;
    if (purpose?.kind === "reason") this.#keys.answer({ allow: false, reason: text.trim() || undefined });
    if (purpose?.kind === "steer" && text.trim() !== "") {
      const isHeard = this.chat.steer(purpose.path, text);
      this.say([isHeard ? `${purpose.path} is told: ${inertLine(text)}` : `${purpose.path} has ended.`]);
    }
    if (purpose !== undefined || text.trim() === "") return;
    void this.#parts.history.add(text.trim());
    this.say(["", ...echoLines(text)]);
    void this.submit(text);
  }

  #interrupt(): void {
    if (this.#line.purpose !== undefined) this.#line.putBack();
    else if (!this.#line.isFree) this.#line.clear();
    else if (this.chat.stopShell()) return;
    else if (!this.chat.isBusy) this.#line.hint = "Ctrl-D or /quit leaves";
    else if (this.#isWrappingUp) this.chat.cancelAll("stop");
    else {
      this.#isWrappingUp = this.chat.cancelAll("wrap-up");
      this.say(["Wrapping up. Ctrl-C again stops at once."]);
    }
  }

  async #complete(): Promise<void> {
    const { cwd } = this.#parts;
    const agents = [...this.chat.agentNames];
    const resumable = (): Promise<readonly string[]> => this.chat.resumable();
    await this.#line.complete({ commands: COMMAND_NAMES, agents, cwd, resumable });
    this.#screen.refresh();
  }

  #complain(error: unknown): void {
    if (!isForPeople(error)) throw error;
    const { paint } = this.#parts.style;
    this.#screen.print(
      breakLine(`error: ${inertLine(messageOf(error), 1000)}`, this.#screen.size.columns - 1).map((line) =>
        paint("red", line),
      ),
    );
  }

  #scene(): ChatScene {
    const { questions, application } = this.#parts;
    const { first, count } = questions;
    const { editor, purpose, hint } = this.#line;
    const isAsking = first !== undefined && purpose?.kind !== "reason";
    return {
      transcript: this.chat.transcript,
      editor,
      purpose: purpose?.kind === "reason" ? "why not" : purpose?.path,
      question: first && { first, count, isHeld: isAsking && this.#keys.isHeld, top: this.#keys.top },
      selected: this.#selected,
      hint: hint ?? (this.chat.isInShell ? IN_SHELL : undefined),
      now: application.clock.now(),
    };
  }
}

function isKey(key: Key, name: KeyName): boolean {
  return key.type === "key" && key.name === name;
}
