/** Terminals for an agent: `terminal/*` are commands of the run's own `terminal`, started in the background. */

import type { Clock } from "../core/clock.ts";
import type { ToolResult } from "../core/tool.ts";
import { truncateUtf8Start } from "../core/truncate.ts";
import { INVALID_PARAMS, Refusal } from "./connection.ts";
import { type CallTool, refusalOf } from "./lent-files.ts";
import { quoted, shellLine } from "./shell-line.ts";

export type TerminalStart = {
  command: string;
  args?: readonly string[] | null | undefined;
  env?: readonly { name: string; value: string }[] | null | undefined;
  cwd?: string | null | undefined;
  outputByteLimit?: number | null | undefined;
};

type ExitStatus = { exitCode: number | null; signal: string | null };

type LentTerminal = {
  /** Of the command in the background; undefined when it has ended. */
  commandId: string | undefined;
  output: string;
  exitStatus: ExitStatus | undefined;
  readonly byteLimit: number;
};

const MAX_TERMINALS = 32;
const MAX_OUTPUT_BYTES = 64 * 1024;
/** The tool has no way to wait for a command in the background, so it is asked again and again, less often with time. */
const FIRST_WAIT_MS = 50;
const MAX_WAIT_MS = 5000;

export class LentTerminals {
  readonly #callTool: CallTool;
  readonly #clock: Clock;
  readonly #terminals = new Map<string, LentTerminal>();
  #started = 0;
  #isClosed = false;

  constructor(callTool: CallTool, clock: Clock) {
    this.#callTool = callTool;
    this.#clock = clock;
  }

  async create(start: TerminalStart): Promise<{ terminalId: string }> {
    if (this.#terminals.size >= MAX_TERMINALS) {
      throw new Refusal(INVALID_PARAMS, `${MAX_TERMINALS} terminals are open already: release one of them first`);
    }
    const input = { command: commandLine(start), ...(start.cwd ? { cwd: start.cwd } : {}), background: true };
    this.#started += 1;
    const terminalId = `terminal-${this.#started}`;
    const result = await this.#callTool({ toolName: "terminal", input });
    if (!result.success) throw refusalOf(result);
    const id = result.metadata?.id;
    const terminal: LentTerminal = {
      commandId: typeof id === "string" ? id : undefined,
      output: "",
      exitStatus: undefined,
      byteLimit: Math.min(start.outputByteLimit ?? MAX_OUTPUT_BYTES, MAX_OUTPUT_BYTES),
    };
    // A terminal of another kind may have run the command to its end.
    if (terminal.commandId === undefined) this.#settle(terminal, result);
    this.#terminals.set(terminalId, terminal);
    if (this.#isClosed) await this.#stop(terminal);
    return { terminalId };
  }

  async output(terminalId: string): Promise<{ output: string; truncated: boolean; exitStatus: ExitStatus | null }> {
    const terminal = this.#find(terminalId);
    await this.#look(terminal);
    const { text, truncated } = truncateUtf8Start(terminal.output, terminal.byteLimit);
    return { output: text, truncated, exitStatus: terminal.exitStatus ?? null };
  }

  async waitForExit(terminalId: string): Promise<ExitStatus> {
    const terminal = this.#find(terminalId);
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, MAX_WAIT_MS)) {
      await this.#look(terminal);
      if (terminal.exitStatus !== undefined) return terminal.exitStatus;
      await new Promise<void>((resolve) => void this.#clock.timer(wait, resolve, true));
    }
  }

  /** Its output stays until it is released. */
  async kill(terminalId: string): Promise<object> {
    await this.#stop(this.#find(terminalId));
    return {};
  }

  async release(terminalId: string): Promise<object> {
    await this.#stop(this.#find(terminalId));
    this.#terminals.delete(terminalId);
    return {};
  }

  /** Stops everything that still runs. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#terminals.values()].map((terminal) => this.#stop(terminal).catch(() => {})));
    this.#terminals.clear();
  }

  #find(terminalId: string): LentTerminal {
    const found = this.#terminals.get(terminalId);
    if (found === undefined) throw new Refusal(INVALID_PARAMS, "There is no terminal with this id in this session");
    return found;
  }

  async #look(terminal: LentTerminal): Promise<void> {
    if (terminal.commandId === undefined) return;
    const input = { output_of: terminal.commandId };
    this.#settle(terminal, await this.#callTool({ toolName: "terminal", input, isPoll: true }));
  }

  async #stop(terminal: LentTerminal): Promise<void> {
    const { commandId } = terminal;
    if (commandId === undefined) return;
    const result = await this.#callTool({ toolName: "terminal", input: { stop: commandId } });
    this.#settle(terminal, { ...result, metadata: { ...result.metadata, running: false } });
  }

  #settle(terminal: LentTerminal, result: ToolResult): void {
    // Ended meanwhile by another request of the agent.
    if (terminal.exitStatus !== undefined) return;
    terminal.output = terminal.commandId === undefined ? result.output : withoutState(result.output);
    if (result.success && result.metadata?.running === true) return;
    const code = result.metadata?.exit_code;
    const signal = result.metadata?.signal;
    terminal.exitStatus = {
      exitCode: typeof code === "number" ? code : result.success ? null : 1,
      signal: typeof signal === "string" ? signal : typeof code === "number" ? null : "SIGTERM",
    };
    terminal.commandId = undefined;
  }
}

/** The first line of the tool's answer says whether the command runs; `[no output]` stands for none. */
function withoutState(output: string): string {
  const rest = output.slice(output.indexOf("\n") + 1);
  return rest === "[no output]" ? "" : rest;
}

/**
 * With arguments, the command is a program and each argument a word of its own. Without, agents send a whole line. Variables
 * stand before it, where a person sees them.
 */
function commandLine({ command, args, env }: TerminalStart): string {
  const variables = (env ?? []).map(({ name, value }) => {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw new Refusal(INVALID_PARAMS, "A variable has no valid name");
    return `${name}=${quoted(value)}`;
  });
  if ((args ?? []).length > 0) return [...variables, shellLine([command, ...(args ?? [])])].join(" ");
  return variables.length === 0 ? command : `export ${variables.join(" ")}; ${command}`;
}
