/** A screen to look at, without a terminal behind it. */

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import type { Terminal } from "@xterm/headless";

// It is published as CommonJS without names that can be imported.
const { Terminal: HeadlessTerminal }: { Terminal: typeof Terminal } = createRequire(import.meta.url)("@xterm/headless");

/** What a test waits for comes long before this, or never. */
const LONGEST_MS = 60_000;

const FRAME_BEGINS = "\u001b[?2026h";
const FRAME_ENDS = "\u001b[?2026l";

export class HeadlessScreen implements Disposable {
  /** Everything that was written, escape sequences and all. */
  written = "";
  readonly #terminal: Terminal;
  readonly #watchers = new Set<() => void>();
  #isOver = false;
  /** False in the middle of a frame: half of one may arrive, and shows what nobody would see. */
  #isWhole = true;

  constructor(columns: number, rows: number) {
    this.#terminal = new HeadlessTerminal({ cols: columns, rows, allowProposedApi: true, scrollback: 2000 });
  }

  get columns(): number {
    return this.#terminal.cols;
  }

  get rows(): number {
    return this.#terminal.rows;
  }

  /** A terminal driver makes a carriage return of its own for every line feed; `raw` is what has passed one. */
  write(text: string, raw = false): void {
    this.written += text;
    // The sequence itself may have been cut in two.
    const recent = this.written.slice(-(text.length + FRAME_ENDS.length));
    const [begins, ends] = [recent.lastIndexOf(FRAME_BEGINS), recent.lastIndexOf(FRAME_ENDS)];
    this.#terminal.write(raw ? text : text.replaceAll("\n", "\r\n"), () => {
      if (begins !== ends) this.#isWhole = ends > begins;
      this.#look();
    });
  }

  resize(columns: number, rows: number): void {
    this.#terminal.resize(columns, rows);
  }

  /** Everything that can be seen, scrollback first, without empty lines at the end. */
  text(): string {
    const { active } = this.#terminal.buffer;
    const lines = Array.from({ length: active.length }, (_, row) => active.getLine(row)?.translateToString(true) ?? "");
    return lines.join("\n").trimEnd();
  }

  /** Nothing more is written: whoever waits in vain is told. */
  end(): Promise<void> {
    return new Promise((resolve) => {
      // What was written last is still on its way to the screen.
      this.#terminal.write("", () => {
        this.#isOver = true;
        resolve(this.#look());
      });
    });
  }

  /** Resolves with the text when it shows this; fails when it never does. */
  async until(shown: string | RegExp | ((text: string) => boolean)): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const watcher = (): void => {
      if (!this.#isWhole && !this.#isOver) return;
      const text = this.text();
      if (typeof shown === "string" ? text.includes(shown) : shown instanceof RegExp ? shown.test(text) : shown(text))
        resolve(text);
      else if (this.#isOver) reject(new Error(`The command has ended and never showed ${shown}:\n${text}`));
    };
    const timer = setTimeout(() => reject(new Error(`Never showed ${shown}:\n${this.text()}`)), LONGEST_MS);
    this.#watchers.add(watcher);
    watcher();
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#watchers.delete(watcher);
    }
  }

  [Symbol.dispose](): void {
    this.#terminal.dispose();
  }

  #look(): void {
    for (const watcher of this.#watchers) watcher();
  }
}

/** The terminal is as it was: pastes are plain, the cursor is seen. */
export function assertGivenBack(written: string): void {
  const last = (sequence: string): number => written.lastIndexOf(sequence);
  assert.ok(last("\u001b[?2004l") > last("\u001b[?2004h"), "bracketed paste is still on");
  assert.ok(last("\u001b[?25h") > last("\u001b[?25l"), "the cursor is still hidden");
}
