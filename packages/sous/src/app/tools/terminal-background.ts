/**
 * Commands that run in the background. Each belongs to the run that started it and to those above it; no other run
 * can read, stop or find it. A child's command ends with its run. A root's runs until it is stopped, until its
 * conversation is over (`end`), or until the programs are closed.
 */

import { plainText, type Redactor } from "../../core/clean-text.ts";
import { ToolFailure } from "../../core/errors.ts";
import type { BackgroundProgram, ProgramOutput, ProgramRequest, ProgramResult, Programs } from "../../core/process.ts";
import type { ToolContext, ToolResult } from "../../core/tool.ts";
import { leftOutNotice, truncateUtf8, truncateUtf8Start } from "../../core/truncate.ts";
import { utf8Length } from "../../core/usage.ts";

type Command = {
  /** The agents that may reach it, from the root down to the one that started it. */
  owners: readonly string[];
  program: BackgroundProgram;
  result: ProgramResult | undefined;
  timeoutMs: number | undefined;
};

/** The calling agent and those above it. */
type Caller = Pick<ToolContext, "agentId" | "ancestorIds">;

/** Max commands of each agent: those that run, and those whose end it has not read yet. */
const MAX_COMMANDS = 8;

export class BackgroundCommands {
  readonly #programs: Programs;
  readonly #redactor: Redactor;
  readonly #commands = new Map<string, Command>();
  /** The number of commands of each agent that are starting. */
  readonly #starting = new Map<string, number>();
  #started = 0;

  constructor(programs: Programs, redactor: Redactor) {
    this.#programs = programs;
    this.#redactor = redactor;
  }

  async start(request: ProgramRequest, context: ToolContext): Promise<ToolResult> {
    const { agentId, ancestorIds, signal, depth } = context;
    this.#makeRoom(agentId);
    this.#started += 1;
    const id = `bg${this.#started}`;
    const program = await this.#startOne(request, agentId);
    // The signal is that of the call: once the call is over, it is never aborted.
    if (signal.aborted) await program[Symbol.asyncDispose]();
    signal.throwIfAborted();
    const entry: Command = {
      owners: [...ancestorIds, agentId],
      program,
      result: undefined,
      timeoutMs: request.timeoutMs,
    };
    this.#commands.set(id, entry);
    program.ended.then((result) => {
      entry.result = result;
    });
    if (depth > 0) context.defer(() => this.#end([id]));
    return {
      success: true,
      output: `Started in the background as ${id}. Use output_of: "${id}" to read its output, stop: "${id}" to end it.`,
      metadata: { id },
    };
  }

  outputOf(id: string, caller: Caller): ToolResult {
    return this.#describe(id, this.#find(id, caller));
  }

  async stop(id: string, caller: Caller): Promise<ToolResult> {
    const entry = this.#find(id, caller);
    await entry.program[Symbol.asyncDispose]();
    entry.result = await entry.program.ended;
    this.#commands.delete(id);
    return this.#describe(id, entry);
  }

  /** Ends what this root and everything below it has started, or all there is. */
  end(rootId?: string): Promise<void> {
    const ids = [...this.#commands].filter(([, { owners }]) => rootId === undefined || owners[0] === rootId);
    return this.#end(ids.map(([id]) => id));
  }

  /** A conversation that continues under another root keeps what its root has started. */
  moveTo(rootId: string): void {
    for (const command of this.#commands.values()) if (command.owners.length === 1) command.owners = [rootId];
  }

  async #end(ids: readonly string[]): Promise<void> {
    await Promise.all(
      ids.map(async (id) => {
        const program = this.#commands.get(id)?.program;
        this.#commands.delete(id);
        await program?.[Symbol.asyncDispose]();
      }),
    );
  }

  async #startOne(request: ProgramRequest, agentId: string): Promise<BackgroundProgram> {
    this.#starting.set(agentId, this.#startingBy(agentId) + 1);
    try {
      return await this.#programs.start(request);
    } finally {
      const others = this.#startingBy(agentId) - 1;
      if (others > 0) this.#starting.set(agentId, others);
      else this.#starting.delete(agentId);
    }
  }

  #startingBy(agentId: string): number {
    return this.#starting.get(agentId) ?? 0;
  }

  #describe(id: string, { program, result, timeoutMs }: Command): ToolResult {
    const output = describeOutput(result?.output ?? program.output(), this.#redactor);
    const ending =
      result === undefined
        ? `${id} is still running.`
        : (describeEnding(result, timeoutMs) ?? "The command has ended.");
    return {
      success: true,
      output: `[${ending}]\n${output || "[no output]"}`,
      metadata: { id, running: result === undefined, exit_code: result?.exitCode ?? null },
    };
  }

  /** The same message for another agent's command and for an unknown id. */
  #find(id: string, { agentId }: Caller): Command {
    const found = this.#commands.get(id);
    if (found?.owners.includes(agentId)) return found;
    const ids = [...this.#commands].filter(([, { owners }]) => owners.includes(agentId)).map(([each]) => each);
    throw new ToolFailure(
      `No background command has the id ${JSON.stringify(id.slice(0, 40))}. ${ids.length === 0 ? "You have none." : `You have: ${ids.join(", ")}.`}`,
    );
  }

  /** Drops the agent's oldest ended command to make room for a new one. */
  #makeRoom(agentId: string): void {
    const own = [...this.#commands].filter(([, { owners }]) => owners.at(-1) === agentId);
    if (own.length + this.#startingBy(agentId) < MAX_COMMANDS) return;
    const ended = own.find(([, { result }]) => result !== undefined);
    if (ended === undefined)
      throw new ToolFailure(`${MAX_COMMANDS} commands run in the background already. Stop one of them first.`);
    this.#commands.delete(ended[0]);
  }
}

const MAX_BYTES = 48 * 1024;
/** Longer than any secret: a secret that lies across a cut must be seen as a whole to be removed. */
const MARGIN_BYTES = 8 * 1024;

/** Bytes of the output that a program is asked to keep. */
export const KEPT_OUTPUT_BYTES = MAX_BYTES + 2 * MARGIN_BYTES;

/** The result of a command that was waited for. */
export function endedResult(result: ProgramResult, timeoutMs: number | undefined, redactor: Redactor): ToolResult {
  const output = describeOutput(result.output, redactor);
  const error = describeEnding(result, timeoutMs);
  return {
    success: error === undefined,
    output: output || (error === undefined ? "[no output]" : ""),
    error,
    metadata: {
      exit_code: result.exitCode,
      signal: result.endedBy,
      timed_out: result.stopped === "timeout",
      truncated: result.output.droppedBytes > 0,
      time: inSeconds(result.durationMs),
    },
  };
}

function describeOutput({ head, tail, droppedBytes }: ProgramOutput, redactor: Redactor): string {
  // Control codes first: they could split a secret. Then secrets, and only then the cut.
  const first = redactor.text(plainText(head));
  const last = redactor.text(plainText(tail));
  if (droppedBytes === 0 && utf8Length(first) <= MAX_BYTES) return first.trimEnd();
  const start = truncateUtf8(first, MAX_BYTES / 2);
  const end = truncateUtf8Start(last === "" ? first : last, MAX_BYTES / 2);
  const left = utf8Length(first) + utf8Length(last) + droppedBytes - start.keptBytes - end.keptBytes;
  return `${start.text}\n${leftOutNotice(left)}\n${end.text.trimEnd()}`;
}

/** One sentence; undefined for a command that succeeded. */
function describeEnding(result: ProgramResult, timeoutMs: number | undefined): string | undefined {
  const { exitCode, endedBy, stopped } = result;
  if (stopped === "timeout") {
    return `The command was stopped after ${inSeconds(timeoutMs ?? 0)}, its time limit. Give it more time with timeout, or run it with background: true.`;
  }
  if (stopped === "cancelled") return "The command was stopped.";
  if (exitCode === null) return `The command was ended by ${endedBy ?? "a signal"}.`;
  if (exitCode === 127) return "The command ended with exit code 127: a program in it was not found.";
  return exitCode === 0 ? undefined : `The command ended with exit code ${exitCode}.`;
}

function inSeconds(milliseconds: number): string {
  const seconds = Number((milliseconds / 1000).toFixed(1));
  return seconds === 1 ? "1 second" : `${seconds} seconds`;
}
