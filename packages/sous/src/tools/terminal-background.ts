/**
 * Commands that go on while the model does something else. Each belongs to the run that started it and to those above it; nobody
 * else can read, stop or find it. A child's command ends with its run. A root's runs until it is stopped, until its
 * conversation is over (`end`), or until the programs are closed.
 */

import { ToolFailure } from "../core/errors.ts";
import type { BackgroundProgram, ProgramRequest, ProgramResult, Programs } from "../core/process.ts";
import type { Redactor } from "../core/redact.ts";
import type { ToolContext, ToolResult } from "../core/tool.ts";
import { describeEnding, describeOutput } from "./terminal-output.ts";

type Command = {
  /** The agents that may reach it, from the root down to the one that started it. */
  owners: readonly string[];
  program: BackgroundProgram;
  result: ProgramResult | undefined;
  timeoutMs: number | undefined;
};

/** Who calls: its agent, and those above it. */
type Caller = Pick<ToolContext, "agentId" | "ancestorIds">;

/** For each agent, of those that run and those whose end it has not heard of yet. */
const MAX_COMMANDS = 8;

export class BackgroundCommands {
  readonly #programs: Programs;
  readonly #redactor: Redactor;
  readonly #commands = new Map<string, Command>();
  /** How many each agent is about to have. */
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
    // The signal is that of the call: once the call is over, nobody aborts it any more.
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

  /** The same words for another agent's command and for one that does not exist. */
  #find(id: string, { agentId }: Caller): Command {
    const found = this.#commands.get(id);
    if (found?.owners.includes(agentId)) return found;
    const ids = [...this.#commands].filter(([, { owners }]) => owners.includes(agentId)).map(([each]) => each);
    throw new ToolFailure(
      `There is no command ${JSON.stringify(id.slice(0, 40))} in the background. ${ids.length === 0 ? "There is none at all." : `There are: ${ids.join(", ")}.`}`,
    );
  }

  /** The oldest of the agent's own that has ended makes room for a new one. */
  #makeRoom(agentId: string): void {
    const own = [...this.#commands].filter(([, { owners }]) => owners.at(-1) === agentId);
    if (own.length + this.#startingBy(agentId) < MAX_COMMANDS) return;
    const ended = own.find(([, { result }]) => result !== undefined);
    if (ended === undefined)
      throw new ToolFailure(`${MAX_COMMANDS} commands run in the background already. Stop one of them first.`);
    this.#commands.delete(ended[0]);
  }
}
