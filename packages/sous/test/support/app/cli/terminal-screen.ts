/** The command in a real pseudo-terminal, behind a headless screen. */

import { type IPty, spawn } from "@lydell/node-pty";
import { HeadlessScreen } from "./headless-screen.ts";
import { compiled, MAIN } from "./sous-process.ts";

export type CommandOptions = {
  columns?: number;
  rows?: number;
  cwd: string;
  env: Record<string, string>;
  /** Another program instead of the command. */
  program?: string;
};

/** The command as somebody at a terminal uses it. Disposing it ends the command, whatever it is doing. */
export class CommandInTerminal implements Disposable {
  readonly screen: HeadlessScreen;
  readonly ended: Promise<number>;
  readonly #process: IPty;
  #hasEnded = false;

  constructor(parameters: readonly string[], { columns = 100, rows = 30, cwd, env, program }: CommandOptions) {
    const screen = new HeadlessScreen(columns, rows);
    this.screen = screen;
    const [file, ...first] = program === undefined ? [process.execPath, MAIN] : [program];
    this.#process = spawn(file, [...first, ...parameters], {
      // It becomes TERM.
      name: env.TERM ?? "xterm-256color",
      cols: columns,
      rows,
      cwd,
      env: { NODE_COMPILE_CACHE: compiled, TZ: "UTC", ...env },
    });
    this.#process.onData((data) => screen.write(data, true));
    this.ended = new Promise((resolve) => {
      this.#process.onExit(({ exitCode, signal }) => {
        this.#hasEnded = true;
        void screen.end().then(() => resolve(signal ? 128 + signal : exitCode));
      });
    });
  }

  type(keys: string): void {
    this.#process.write(keys);
  }

  signal(name: "SIGTERM" | "SIGINT" | "SIGHUP"): void {
    this.#process.kill(name);
  }

  /** At once and without a word. */
  kill(): void {
    this.#process.kill("SIGKILL");
  }

  resize(columns: number, rows: number): void {
    this.screen.resize(columns, rows);
    this.#process.resize(columns, rows);
  }

  [Symbol.dispose](): void {
    if (!this.#hasEnded) this.#process.kill("SIGKILL");
    this.screen[Symbol.dispose]();
  }
}
