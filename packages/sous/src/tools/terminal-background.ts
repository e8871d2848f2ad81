/** Commands that go on while the model does something else. They end when they are stopped, or with everything else. */

import { ToolFailure } from "../core/errors.ts";
import type { BackgroundProgram, ProgramRequest, ProgramResult, Programs } from "../core/process.ts";
import type { Redactor } from "../core/redact.ts";
import type { ToolResult } from "../core/tool.ts";
import { describeEnding, describeOutput } from "./terminal-output.ts";

type Command = {
  program: BackgroundProgram;
  result: ProgramResult | undefined;
  timeoutMs: number | undefined;
};

/** Of those that run and those whose end nobody has heard of yet. */
const MOST = 8;

export class BackgroundCommands {
  readonly #programs: Programs;
  readonly #redactor: Redactor;
  readonly #commands = new Map<string, Command>();
  #started = 0;
  #starting = 0;

  constructor(programs: Programs, redactor: Redactor) {
    this.#programs = programs;
    this.#redactor = redactor;
  }

  async start(request: ProgramRequest, signal: AbortSignal): Promise<ToolResult> {
    this.#makeRoom();
    this.#started += 1;
    const id = `bg${this.#started}`;
    const program = await this.#startOne(request);
    // The signal is that of the call: once the call is over, nobody aborts it any more.
    if (signal.aborted) await program[Symbol.asyncDispose]();
    signal.throwIfAborted();
    const entry: Command = { program, result: undefined, timeoutMs: request.timeoutMs };
    this.#commands.set(id, entry);
    program.ended.then((result) => {
      entry.result = result;
    });
    return {
      success: true,
      output: `Started in the background as ${id}. Use output_of: "${id}" to read its output, stop: "${id}" to end it.`,
      metadata: { id },
    };
  }

  outputOf(id: string): ToolResult {
    return this.#describe(id, this.#find(id));
  }

  async stop(id: string): Promise<ToolResult> {
    const entry = this.#find(id);
    await entry.program[Symbol.asyncDispose]();
    entry.result = await entry.program.ended;
    this.#commands.delete(id);
    return this.#describe(id, entry);
  }

  async #startOne(request: ProgramRequest): Promise<BackgroundProgram> {
    this.#starting += 1;
    try {
      return await this.#programs.start(request);
    } finally {
      this.#starting -= 1;
    }
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

  #find(id: string): Command {
    const found = this.#commands.get(id);
    if (found !== undefined) return found;
    const ids = [...this.#commands.keys()].join(", ");
    throw new ToolFailure(
      `There is no command ${JSON.stringify(id.slice(0, 40))} in the background. ${ids === "" ? "There is none at all." : `There are: ${ids}.`}`,
    );
  }

  /** The oldest that has ended makes room for a new one. */
  #makeRoom(): void {
    if (this.#commands.size + this.#starting < MOST) return;
    for (const [id, { result }] of this.#commands) {
      if (result === undefined) continue;
      this.#commands.delete(id);
      return;
    }
    throw new ToolFailure(`${MOST} commands run in the background already. Stop one of them first.`);
  }
}
