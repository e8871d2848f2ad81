/** A chat without a screen: takes typed lines and produces lines to show. The terminal and the pipe both use it. */

import { ToolFailure } from "../../../core/errors.ts";
import type { SousEvent } from "../../../core/event.ts";
import type { ProgramResult, Programs } from "../../../core/process.ts";
import type { RunResult } from "../../../core/runtime.ts";
import type { CancelMode } from "../../../core/spawn.ts";
import type { RunRecord } from "../../../core/store.ts";
import type { Application } from "../application/open.ts";
import { CommandError } from "../exit-codes.ts";
import { thisFolder } from "../files/paths.ts";
import type { RunLog } from "../run/log.ts";
import type { Style } from "../terminal/style.ts";
import { inert, inertLine } from "../terminal/text.ts";
import { EarlierChats } from "./continue-conversation.ts";
import { ChatConversation, NOT_SENT } from "./conversation.ts";
import { type CommandScene, listEarlier, runSlashCommand } from "./slash-commands.ts";
import { Transcript } from "./transcript.ts";
import { attachFiles, fenced, readTypedLine } from "./typed-line.ts";

type ChatOptions = {
  application: Application;
  log?: RunLog | undefined;
  cwd: string;
  style: Style;
  columns(): number;
  /** Lines that are done. */
  say(lines: readonly string[]): void;
  /** Shows an earlier conversation; `say` does when unset. */
  sayEarlier?(lines: readonly string[]): void;
  /** Called after the transcript has taken an event in; `lines` are those that are done. */
  onEvent(event: SousEvent, lines: readonly string[]): void;
};

const LEAVES: ReadonlySet<string> = new Set(["quit", "exit"]);

export class Chat {
  readonly transcript: Transcript;
  readonly conversation: ChatConversation;
  readonly agentNames: ReadonlySet<string>;
  readonly #options: ChatOptions;
  readonly #earlier: EarlierChats;
  /** The shell line that is running. */
  #shell: AbortController | undefined;

  constructor(options: ChatOptions) {
    this.#options = options;
    this.transcript = new Transcript(options.style);
    this.agentNames = new Set(options.application.agents.map(({ name }) => name));
    this.conversation = new ChatConversation(options.application, {
      onEvent: (event) => options.onEvent(event, this.transcript.apply(event, options.columns())),
      log: options.log,
    });
    this.transcript.limits = () => this.conversation.spending()?.limits;
    const { application, style, columns, say, sayEarlier = say } = options;
    const { conversation, transcript } = this;
    this.#earlier = new EarlierChats({
      application,
      cwd: thisFolder(options.cwd),
      conversation,
      transcript,
      style,
      columns,
      say: sayEarlier,
    });
  }

  /**
   * Does what a line asks for and resolves when it is done: `quit`, the result of a run, or nothing. While a run is live a
   * message is said to it, as soon as it has begun. Throws a `CommandError` when it cannot be done.
   */
  async submit(line: string): Promise<"quit" | RunResult | undefined> {
    const { application, cwd } = this.#options;
    const typed = readTypedLine(line, this.agentNames);
    if (this.#shell !== undefined && typed.kind !== "command")
      throw new CommandError("A shell line is still running; Ctrl-C stops it");
    if (typed.kind === "command" && LEAVES.has(typed.name)) return "quit";
    const isOpened = await this.#earlier.opening;
    if (isOpened === false && typed.kind !== "command") throw new CommandError(NOT_SENT);
    switch (typed.kind) {
      case "nothing":
        return undefined;
      case "command":
        return runSlashCommand(typed.name, typed.parameter, this.#scene());
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
        while (this.conversation.isLive) {
          if (await this.conversation.steerLive(message)) return undefined;
          // It ended meanwhile: this is the next message.
          await this.conversation.settled;
        }
        return this.conversation.say(message);
      }
      default:
        return typed satisfies never;
    }
  }

  /** Continues the conversation that this run belongs to. Resolves when a run has ended that was interrupted. */
  continueWith(record: RunRecord): Promise<RunResult | undefined> {
    return this.#earlier.continueWith(record);
  }

  /** Shows the earlier conversations, numbered. False when there are none. */
  list(): Promise<boolean> {
    return listEarlier(this.#scene());
  }

  /** Completions behind `/resume`: the numbers of the list, and the ids. */
  async resumable(): Promise<readonly string[]> {
    if (this.#options.application.store === undefined) return [];
    const list = await this.#earlier.known();
    return [...list.map((_, index) => String(index + 1)), "last", ...list.map(({ rootId }) => rootId)];
  }

  /** A run is live, or is about to be. */
  get isBusy(): boolean {
    return this.conversation.isLive || this.#earlier.opening !== undefined;
  }

  /** Stops what is live, or what is being opened. False when there is neither. */
  cancelAll(mode: CancelMode | "leave"): boolean {
    return this.#earlier.ask(mode) || this.conversation.cancel(undefined, mode === "leave" ? "stop" : mode);
  }

  /** Resolves when no run is live and no conversation is being opened. */
  async settled(): Promise<void> {
    await this.#earlier.opening;
    await this.conversation.settled;
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

  #scene(): CommandScene {
    const { application, style, columns, say } = this.#options;
    const { conversation, transcript } = this;
    return { application, conversation, transcript, style, columns: columns(), say, earlier: this.#earlier };
  }

  get isInShell(): boolean {
    return this.#shell !== undefined;
  }

  /** True when a shell line was running. */
  stopShell(): boolean {
    this.#shell?.abort();
    return this.#shell !== undefined;
  }

  /** Runs without approval, because the user typed it; the agent sees the output with the next message. */
  async #runShell(line: string): Promise<void> {
    const { application, cwd, say } = this.#options;
    const timeoutMs = application.configuration.tools.terminal.timeout * 1000;
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

type ShellOptions = { cwd: string; timeoutMs: number; signal: AbortSignal };

const MAX_OUTPUT_BYTES = 32 * 1024;

/** Returns its output, and how it ended when that was not well. */
export async function runShell(programs: Programs, line: string, options: ShellOptions): Promise<string> {
  const result = await programs.run({
    program: "sh",
    args: ["-c", line],
    mayUseProject: true,
    maxOutputBytes: MAX_OUTPUT_BYTES,
    ...options,
  });
  const { head, tail, droppedBytes } = result.output;
  const gap = droppedBytes === 0 ? "" : `\n[${droppedBytes} bytes are left out]\n`;
  const printed = (head + gap + tail).trimEnd();
  return [printed, endingOf(result)].filter((part) => part !== "").join("\n") || "(no output)";
}

function endingOf({ exitCode, endedBy, stopped }: ProgramResult): string {
  if (stopped !== undefined) return `[stopped: ${stopped}]`;
  if (endedBy !== null) return `[ended by ${endedBy}]`;
  return exitCode === 0 ? "" : `[exit code ${exitCode}]`;
}
