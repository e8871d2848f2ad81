/** The command in a real pseudo-terminal, seen through a headless screen. */

import { createRequire } from "node:module";
import { type IPty, spawn } from "@lydell/node-pty";
import type { Terminal } from "@xterm/headless";
import { compiled, MAIN } from "./sous-process.ts";

// It is published as CommonJS without names that can be imported.
const { Terminal: HeadlessTerminal }: { Terminal: typeof Terminal } = createRequire(import.meta.url)("@xterm/headless");

/** What a test waits for comes long before this, or never. */
const LONGEST_MS = 20_000;

export type ScreenOptions = {
  columns?: number;
  rows?: number;
  cwd: string;
  env: Record<string, string>;
};

/** Disposing it ends the command, whatever it is doing. */
export class TerminalScreen implements Disposable {
  /** Everything the command wrote, escape sequences and all. */
  written = "";
  readonly ended: Promise<number>;
  readonly #terminal: Terminal;
  readonly #process: IPty;
  readonly #watchers = new Set<() => void>();
  #hasEnded = false;

  constructor(parameters: readonly string[], { columns = 100, rows = 30, cwd, env }: ScreenOptions) {
    this.#terminal = new HeadlessTerminal({ cols: columns, rows, allowProposedApi: true, scrollback: 1000 });
    this.#process = spawn(process.execPath, [MAIN, ...parameters], {
      name: "xterm-256color",
      cols: columns,
      rows,
      cwd,
      env: { NODE_COMPILE_CACHE: compiled, TERM: "xterm-256color", TZ: "UTC", ...env },
    });
    this.#process.onData((data) => {
      this.written += data;
      this.#terminal.write(data, () => this.#look());
    });
    this.ended = new Promise((resolve) => {
      this.#process.onExit(({ exitCode }) => {
        this.#hasEnded = true;
        // What was written last is still on its way to the screen.
        this.#terminal.write("", () => {
          this.#look();
          resolve(exitCode);
        });
      });
    });
  }

  /** Everything that can be seen, scrollback first, without empty lines at the end. */
  text(): string {
    const { active } = this.#terminal.buffer;
    const lines = Array.from({ length: active.length }, (_, row) => active.getLine(row)?.translateToString(true) ?? "");
    return lines.join("\n").trimEnd();
  }

  /** How many rows are used from the top of the screen, scrollback left out. */
  get rowsInUse(): number {
    const { active } = this.#terminal.buffer;
    return active.cursorY + 1;
  }

  type(keys: string): void {
    this.#process.write(keys);
  }

  signal(name: "SIGTERM" | "SIGINT"): void {
    this.#process.kill(name);
  }

  resize(columns: number, rows: number): void {
    this.#terminal.resize(columns, rows);
    this.#process.resize(columns, rows);
  }

  /** Resolves with the text when it shows this; fails when it never does. */
  async until(shown: string | RegExp | ((text: string) => boolean)): Promise<string> {
    const isShown = (): boolean => {
      const text = this.text();
      if (typeof shown === "function") return shown(text);
      return typeof shown === "string" ? text.includes(shown) : shown.test(text);
    };
    if (isShown()) return this.text();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const watcher = (): void => {
      if (isShown()) resolve();
      else if (this.#hasEnded) reject(new Error(`The command has ended and never showed ${shown}:\n${this.text()}`));
    };
    const timer = setTimeout(() => reject(new Error(`Never showed ${shown}:\n${this.text()}`)), LONGEST_MS);
    this.#watchers.add(watcher);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      this.#watchers.delete(watcher);
    }
    return this.text();
  }

  [Symbol.dispose](): void {
    if (!this.#hasEnded) this.#process.kill("SIGKILL");
    this.#terminal.dispose();
  }

  #look(): void {
    for (const watcher of this.#watchers) watcher();
  }
}
