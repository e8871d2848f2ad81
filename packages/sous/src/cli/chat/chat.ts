/** A chat without a screen: what is typed goes in, lines come out. The terminal and the pipe both stand on it. */

import { ToolFailure } from "../../core/errors.ts";
import type { SousEvent } from "../../core/event.ts";
import type { RunResult } from "../../core/runtime.ts";
import type { CancelMode } from "../../core/spawn.ts";
import type { Application } from "../application.ts";
import { CommandError } from "../exit-codes.ts";
import { inert, inertLine } from "../inert.ts";
import type { Style } from "../style.ts";
import { attachFiles, fenced } from "./attach-files.ts";
import { Conversation } from "./conversation.ts";
import { runShell } from "./run-shell.ts";
import { runSlashCommand } from "./slash-commands.ts";
import { Transcript } from "./transcript.ts";
import { readTypedLine } from "./typed-line.ts";

export type ChatOptions = {
  application: Application;
  cwd: string;
  style: Style;
  columns(): number;
  /** Lines that are done. */
  say(lines: readonly string[]): void;
  /** After the transcript has taken an event in; `lines` are what it made of it. */
  onEvent(event: SousEvent, lines: readonly string[]): void;
};

export class Chat {
  readonly transcript: Transcript;
  readonly conversation: Conversation;
  readonly agentNames: ReadonlySet<string>;
  readonly #options: ChatOptions;
  /** The shell line that is running. */
  #shell: AbortController | undefined;

  constructor(options: ChatOptions) {
    this.#options = options;
    this.transcript = new Transcript(options.style);
    this.agentNames = new Set(options.application.agents.map(({ name }) => name));
    this.conversation = new Conversation(options.application, (event) =>
      options.onEvent(event, this.transcript.apply(event, options.columns())),
    );
    this.transcript.limits = () => this.conversation.spending()?.limits;
  }

  /**
   * Does what a line asks for and resolves when it is done: `quit`, the result of a run, or nothing. While a run is live a
   * message is said to it. Throws a `CommandError` when it cannot be done.
   */
  async submit(line: string): Promise<"quit" | RunResult | undefined> {
    const { application, cwd } = this.#options;
    const typed = readTypedLine(line, this.agentNames);
    if (this.#shell !== undefined && typed.kind !== "command")
      throw new CommandError("A shell line is still running; Ctrl-C stops it");
    switch (typed.kind) {
      case "nothing":
        return undefined;
      case "command":
        return (await runSlashCommand(typed.name, typed.parameter, this.scene())) ? "quit" : undefined;
      case "shell":
        if (typed.command === "") throw new CommandError("Say what to run: !COMMAND");
        await this.#runShell(typed.command);
        return undefined;
      case "agent": {
        const definition = application.agents.find(({ name }) => name === typed.name);
        if (definition === undefined || typed.task === "")
          throw new CommandError(
            `Say what @${inertLine(typed.name, 60)} should do: @${inertLine(typed.name, 60)} TASK`,
          );
        if (this.conversation.isLive) throw new CommandError("Another agent can be called when the run has ended");
        return this.conversation.address(definition, typed.task);
      }
      case "message": {
        const message = await attachFiles(typed.text, typed.files, cwd);
        const live = this.transcript.root;
        if (this.conversation.isLive && live !== undefined) this.steer(live.path, message);
        else if (this.conversation.isLive) throw new CommandError("The run has only just begun; say that again");
        else return this.conversation.say(message);
        return undefined;
      }
      default:
        return typed satisfies never;
    }
  }

  /** Says something to the run that is shown with this path. False when there is none. */
  steer(shownPath: string, text: string): boolean {
    const path = this.transcript.realPath(shownPath);
    return path !== undefined && this.conversation.steer(path, text);
  }

  /** Stops the run that is shown with this path. False when there is none. */
  cancel(shownPath: string, mode: CancelMode): boolean {
    const path = this.transcript.realPath(shownPath);
    return path !== undefined && this.conversation.cancel(path, mode);
  }

  scene(): Parameters<typeof runSlashCommand>[2] {
    const { application, style, columns, say } = this.#options;
    const { conversation, transcript } = this;
    return { application, conversation, transcript, style, columns: columns(), say };
  }

  get isInShell(): boolean {
    return this.#shell !== undefined;
  }

  /** True when a shell line was running. */
  stopShell(): boolean {
    this.#shell?.abort();
    return this.#shell !== undefined;
  }

  /** The user's own act: nobody is asked, and the agent sees what came of it with the next message. */
  async #runShell(line: string): Promise<void> {
    const { application, cwd, say } = this.#options;
    const { timeoutMs } = application.configuration.tools.terminal;
    const stop = new AbortController();
    this.#shell = stop;
    try {
      const output = await runShell(application.programs, line, { cwd, timeoutMs, signal: stop.signal });
      say(inert(output).split("\n"));
      this.conversation.add(fenced(`I ran \`${line}\``, output));
    } catch (error) {
      if (error instanceof ToolFailure) throw new CommandError(error.message);
      throw error;
    } finally {
      this.#shell = undefined;
    }
  }
}
