/** The requests of an agent that the tools of the run answer: `fs/*` and `terminal/*`. */

import type { z } from "zod";
import type { Clock } from "../../core/clock.ts";
import type { ExternalAction } from "../../core/external-agent.ts";
import type { ToolResult } from "../../core/tool.ts";
import { truncateUtf8Start } from "../../core/truncate.ts";
import { INVALID_PARAMS, METHOD_NOT_FOUND, Refusal } from "./connection.ts";
import { quoted, shellLine } from "./one-line.ts";
import { readRequest, terminalRequest, terminalStart, writeRequest } from "./schema.ts";

/** Runs a tool of the run under its rights, rules and limits. */
export type CallTool = (action: Pick<ExternalAction, "toolName" | "input" | "isPoll">) => Promise<ToolResult>;

/** The code of ACP for a resource that is not there or not given. */
const NOT_GIVEN = -32002;
/** Read in several calls; an agent that wants more asks for a part. */
const MAX_FILE_LENGTH = 4 * 1024 * 1024;
const MAX_LINES_AT_ONCE = 2000;

/** The sentence of `read_file` about a file that is not there. */
const MISSING = /^No file at /;

/** `read_file` numbers its lines and shows a long file in parts: the parts are put together, without the numbers. */
export async function readLentFile(
  { path, line, limit }: Omit<z.output<typeof readRequest>, "sessionId">,
  callTool: CallTool,
  isMissingEmpty = false,
): Promise<{ content: string }> {
  const first = Math.max(1, line ?? 1);
  const wanted = limit ?? Number.POSITIVE_INFINITY;
  const lines: string[] = [];
  let length = 0;
  while (lines.length < wanted) {
    const input = { path, offset: first + lines.length, limit: Math.min(MAX_LINES_AT_ONCE, wanted - lines.length) };
    const result = await callTool({ toolName: "read_file", input });
    if (!result.success && isMissingEmpty && MISSING.test(result.error ?? "")) return { content: "" };
    if (!result.success) throw refusalOf(result);
    const part = numberedLines(result.output, first + lines.length);
    lines.push(...part);
    length += result.output.length;
    if (length > MAX_FILE_LENGTH)
      throw new Refusal(NOT_GIVEN, "The file is too large: ask for a part with line and limit");
    if (part.length === 0 || result.metadata?.truncated !== true) break;
  }
  // The tool does not say whether the last line has an end; nearly all files of text have one.
  const isWhole = lines.length < wanted;
  return { content: lines.join("\n") + (isWhole && lines.length > 0 ? "\n" : "") };
}

async function writeLentFile({ path, content }: z.output<typeof writeRequest>, callTool: CallTool) {
  const result = await callTool({ toolName: "write_file", input: { path, content } });
  if (!result.success) throw refusalOf(result);
  return {};
}

function refusalOf({ error, output }: ToolResult): Refusal {
  return new Refusal(NOT_GIVEN, error ?? (output || "It was refused"));
}

/** The lines that begin with the expected numbers; the notice behind them does not. */
function numberedLines(output: string, first: number): string[] {
  const lines: string[] = [];
  for (const line of output.split("\n")) {
    const number = `${first + lines.length}\t`;
    if (!line.startsWith(number)) break;
    const text = line.slice(number.length);
    // A part of a line, given as the whole, would be written back as the whole.
    if (CUT.test(text)) throw new Refusal(NOT_GIVEN, "The file has a line that is too long to be read");
    lines.push(text);
  }
  return lines;
}

const CUT = /… \[\d+ more bytes\]$/;

/** These read a file before they create it, and do not understand that there is none: for them it is empty. */
const READS_BEFORE_IT_CREATES: ReadonlySet<string> = new Set(["gemini-cli"]);

type TerminalStart = z.output<typeof terminalStart>;

type ExitStatus = { exitCode: number | null; signal: string | null };

type LentTerminal = {
  /** The id of the command in the background; undefined when it has ended. */
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

/** A terminal is a command of the run's own `terminal`, started in the background. */
export class LentTools {
  readonly #callTool: CallTool;
  readonly #clock: Clock;
  readonly #readsBeforeItCreates: boolean;
  readonly #terminals = new Map<string, LentTerminal>();
  #started = 0;
  #isClosed = false;

  constructor(callTool: CallTool, clock: Clock, agentName = "") {
    this.#callTool = callTool;
    this.#clock = clock;
    this.#readsBeforeItCreates = READS_BEFORE_IT_CREATES.has(agentName);
  }

  async request(method: string, params: unknown): Promise<unknown> {
    switch (method) {
      case "fs/read_text_file":
        return await readLentFile(parsed(readRequest, params), this.#callTool, this.#readsBeforeItCreates);
      case "fs/write_text_file":
        return await writeLentFile(parsed(writeRequest, params), this.#callTool);
      case "terminal/create":
        return await this.#create(parsed(terminalStart, params));
      case "terminal/output":
        return await this.#output(this.#find(params));
      case "terminal/wait_for_exit":
        return await this.#waitForExit(this.#find(params));
      case "terminal/kill":
        // The output stays until the terminal is released.
        await this.#stop(this.#find(params));
        return {};
      case "terminal/release":
        await this.#stop(this.#find(params));
        this.#terminals.delete(parsed(terminalRequest, params).terminalId);
        return {};
      default:
        throw new Refusal(METHOD_NOT_FOUND, "Method not found");
    }
  }

  /** Stops the commands that still run. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#terminals.values()].map((terminal) => this.#stop(terminal).catch(() => {})));
    this.#terminals.clear();
  }

  async #create(start: TerminalStart): Promise<{ terminalId: string }> {
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

  async #output(terminal: LentTerminal) {
    await this.#look(terminal);
    const { text, truncated } = truncateUtf8Start(terminal.output, terminal.byteLimit);
    return { output: text, truncated, exitStatus: terminal.exitStatus ?? null };
  }

  async #waitForExit(terminal: LentTerminal): Promise<ExitStatus> {
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, MAX_WAIT_MS)) {
      await this.#look(terminal);
      if (terminal.exitStatus !== undefined) return terminal.exitStatus;
      await new Promise<void>((resolve) => void this.#clock.timer(wait, resolve, true));
    }
  }

  #find(params: unknown): LentTerminal {
    const found = this.#terminals.get(parsed(terminalRequest, params).terminalId);
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

/** Throws what the agent is told when its request has a wrong shape. */
export function parsed<Schema extends z.ZodType>(schema: Schema, params: unknown): z.output<Schema> {
  const { data, success } = schema.safeParse(params);
  if (!success) throw new Refusal(INVALID_PARAMS, "The request has a wrong shape");
  return data;
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
