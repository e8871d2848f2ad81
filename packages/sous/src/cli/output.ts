/** Where a command prints: how wide its lines may be, and in which style. */

import { inertJson } from "./inert.ts";
import { chooseStyle, type Style } from "./style.ts";
import { breakLine } from "./width.ts";

export type Output = {
  readonly style: Style;
  /** A pipe has no width; its lines are as long as these columns. */
  readonly columns: number;
  readonly isTerminal: boolean;
  print(lines: readonly string[]): void;
};

export type Display = { color: "auto" | "always" | "never"; isAscii: boolean };

/** For lines that are cut where there is no terminal to cut them to. */
const PIPE_COLUMNS = 100;
const LEAST_COLUMNS = 20;

export function openOutput(stream: NodeJS.WriteStream, { color, isAscii }: Display): Output {
  const isTerminal = stream.isTTY === true;
  return {
    style: chooseStyle({ color, isAscii, isTerminal, env: process.env }),
    // One column stays free: a terminal wraps a line that fills it. One that does not know its size says 0.
    columns: isTerminal ? Math.max(LEAST_COLUMNS, (stream.columns || 80) - 1) : PIPE_COLUMNS,
    isTerminal,
    print: (lines) => void stream.write(lines.map((line) => `${line}\n`).join("")),
  };
}

/** Says something to a person: on stderr, and on a terminal broken between words. */
export function tell(text: string): void {
  const { stderr } = process;
  const lines = text.split("\n");
  const fitting = stderr.isTTY
    ? lines.flatMap((line) => breakLine(line, Math.max(LEAST_COLUMNS, stderr.columns || 80)))
    : lines;
  stderr.write(`${fitting.join("\n")}\n`);
}

/** Never coloured, one object. */
export function printJson(value: unknown): void {
  process.stdout.write(`${inertJson(JSON.stringify(value, undefined, 2))}\n`);
}
