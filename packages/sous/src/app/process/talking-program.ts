/** A program that is talked to: lines go in, lines come out. It lives and ends as every other program does. */

import type { ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import type { Writable } from "node:stream";
import type { Clock } from "../../core/clock.ts";
import { ToolFailure } from "../../core/errors.ts";
import type { ProgramOutput, ProgramResult, TalkingProgram, TalkRequest } from "../../core/process.ts";
import { LineReader } from "./line-reader.ts";
import { HeadAndTail, openOutputPipe } from "./output.ts";
import { type Launch, type ProgramOutlet, RunningProgram } from "./running-program.ts";
import { collect, spawnInto } from "./start-program.ts";

/** The time a program has to end by itself when its input is closed. */
const CLOSE_GRACE_MS = 500;

export async function startTalk(request: TalkRequest, launch: Launch): Promise<OpenTalk> {
  const errors = new HeadAndTail(request.maxErrorBytes);
  const lines = new LineReader(request);
  const pipe = await openOutputPipe((chunk) => lines.add(chunk));
  const ours = pipe === undefined ? undefined : lines.attach(pipe.reader);
  const { child, known } = await spawnInto(pipe, ["pipe", pipe?.writer ?? "pipe", "pipe"], request, launch);
  const outlets = [ours ?? attachNodes(child, lines), ...collect(child.stderr, errors)];
  // Everything on standard output is read as lines, so nothing is left for the result.
  const output = new HeadAndTail(0);
  const program = new RunningProgram({ child, known, output, errors, outlets }, { signal: request.signal }, launch);
  const input = present(child.stdin);
  return new OpenTalk(program, { name: request.program, input, lines, errors, clock: launch.clock });
}

/** Node's own pipe, where no other could be made. */
function attachNodes({ stdout }: ChildProcess, lines: LineReader): ProgramOutlet {
  const stream = present(stdout) as Socket;
  const outlet = lines.attach(stream);
  stream.on("data", (chunk) => lines.add(chunk));
  return outlet;
}

function present<Stream>(stream: Stream | null): Stream {
  if (stream === null) throw new Error("Unreachable: a program without the pipes it was started with");
  return stream;
}

type Ends = { name: string; input: Writable; lines: LineReader; errors: HeadAndTail; clock: Clock };

class OpenTalk implements TalkingProgram {
  readonly lines: LineReader;
  readonly #program: RunningProgram;
  readonly #name: string;
  readonly #input: Writable;
  readonly #errors: HeadAndTail;
  readonly #clock: Clock;
  #closed: Promise<ProgramResult> | undefined;

  constructor(program: RunningProgram, { name, input, lines, errors, clock }: Ends) {
    this.#program = program;
    this.lines = lines;
    this.#name = name;
    this.#input = input;
    this.#errors = errors;
    this.#clock = clock;
    // Each `send` is told of a failure by its own write.
    input.on("error", () => {});
    // A pending write keeps us alive all the same.
    (input as Socket).unref();
  }

  get pid(): number {
    return this.#program.pid;
  }

  get droppedLines(): number {
    return this.lines.droppedLines;
  }

  get ended(): Promise<ProgramResult> {
    return this.#program.ended;
  }

  errors(): ProgramOutput {
    return this.#errors.read();
  }

  async send(line: string): Promise<void> {
    if (line.includes("\n")) throw new TypeError("A line that is sent to a program must not contain a line break");
    if (!this.#input.writable) throw new ToolFailure(this.#cannotSend());
    const { promise, resolve } = Promise.withResolvers<Error | null | undefined>();
    this.#input.write(`${line}\n`, resolve);
    const cause = await promise;
    if (cause) throw new ToolFailure(this.#cannotSend(), { cause });
  }

  close(): Promise<ProgramResult> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  stop(why: "timeout" | "cancelled"): Promise<ProgramResult> {
    return this.#program.stop(why);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<ProgramResult> {
    this.#input.end();
    const { promise, resolve } = Promise.withResolvers<void>();
    using _grace = this.#clock.timer(CLOSE_GRACE_MS, resolve);
    await Promise.race([this.#program.exited, promise]);
    return this.#program.hasExited ? await this.ended : await this.stop("cancelled");
  }

  #cannotSend(): string {
    if (this.#closed !== undefined) return `Nothing more can be sent to ${this.#name}: it has been closed.`;
    const why = this.#program.hasExited ? "it has ended" : "it has closed its standard input";
    return `Nothing more can be sent to ${this.#name}: ${why}. What it wrote to standard error may say why.`;
  }
}
