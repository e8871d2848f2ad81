/**
 * A command at a terminal without a process and without a terminal: its streams say that they are one, and a headless screen
 * shows what is written. For what a person sees and types. The modes of a real terminal, its echo and its signals need
 * `CommandInTerminal`.
 */

import { PassThrough, Writable } from "node:stream";
import { HeadlessScreen } from "./headless-screen.ts";
import { type InProcess, type Performed, perform } from "./in-process.ts";

export type TerminalOptions = Pick<InProcess, "cwd" | "env"> & {
  columns?: number;
  rows?: number;
  /** Streams that are no terminal. */
  pipes?: readonly ("stdin" | "stdout" | "stderr")[];
};

/** Disposing it closes the terminal, and waits until the command has ended. */
export class TerminalInProcess implements AsyncDisposable {
  readonly screen: HeadlessScreen;
  readonly ended: Promise<number>;
  readonly #keys = new PassThrough();
  readonly #performed: Performed;
  readonly #resized: () => void;

  constructor(words: readonly string[], options: TerminalOptions) {
    const { columns = 100, rows = 30, env, pipes = [] } = options;
    const screen = new HeadlessScreen(columns, rows);
    this.screen = screen;
    const isTerminal = (name: "stdin" | "stdout" | "stderr"): boolean => !pipes.includes(name);
    const stdin = Object.assign(this.#keys, { isTTY: isTerminal("stdin"), setRawMode: () => stdin });
    const output = (name: "stdout" | "stderr"): Writable => {
      const stream = new Writable({
        decodeStrings: false,
        write(chunk, _encoding, done) {
          screen.write(String(chunk));
          done();
        },
      });
      return Object.defineProperties(stream, {
        isTTY: { value: isTerminal(name) },
        columns: { get: () => screen.columns },
        rows: { get: () => screen.rows },
      });
    };
    const stdout = output("stdout");
    this.#resized = () => void stdout.emit("resize");
    const variables = { TERM: "xterm-256color", TZ: "UTC", ...env };
    this.#performed = perform(words, { ...options, env: variables }, { stdin, stdout, stderr: output("stderr") });
    this.ended = this.#performed.ended.then(
      async ({ code }) => {
        await screen.end();
        return code;
      },
      async (error) => {
        await screen.end();
        throw error;
      },
    );
    // Whoever does not wait for its end looks at the screen.
    this.ended.catch(() => {});
  }

  type(keys: string): void {
    this.#keys.write(keys);
  }

  signal(name: "SIGTERM" | "SIGINT" | "SIGHUP"): void {
    this.#performed.signal(name);
  }

  resize(columns: number, rows: number): void {
    this.screen.resize(columns, rows);
    this.#resized();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A question that waits for a line hears no other end.
    this.#keys.end("\u0004");
    await this.ended.catch(() => {});
    this.screen[Symbol.dispose]();
  }
}
