/** Where a command prints: how wide its lines may be, and in which style. */

import { visibleJson } from "../../core/clean-text.ts";
import { withoutSecretsIn, withoutValues } from "../files/without-secrets.ts";
import { chooseStyle, type Style } from "./style.ts";
import { breakLine } from "./width.ts";

export type Output = {
  readonly style: Style;
  /** A pipe has no width; its lines are as long as these columns. */
  readonly columns: number;
  readonly isTerminal: boolean;
  print(lines: readonly string[]): void;
  /** Text of any length: broken between words for a terminal, whole for a pipe. */
  printText(text: string): void;
};

export type Display = { color: "auto" | "always" | "never"; isAscii: boolean };

/** For lines that are cut where there is no terminal to cut them to. */
const PIPE_COLUMNS = 100;
const MIN_COLUMNS = 20;

export function openOutput(stream: NodeJS.WriteStream, { color, isAscii }: Display): Output {
  const isTerminal = stream.isTTY === true;
  // One column stays free: a terminal wraps a line that fills it. One that does not know its size says 0.
  const columns = isTerminal ? Math.max(MIN_COLUMNS, (stream.columns || 80) - 1) : PIPE_COLUMNS;
  const print = (lines: readonly string[]): void => void stream.write(lines.map((line) => `${line}\n`).join(""));
  return {
    style: chooseStyle({ color, isAscii, isTerminal, env: process.env }),
    columns,
    isTerminal,
    print,
    printText(text) {
      const lines = withoutValues(text).split("\n");
      print(isTerminal ? lines.flatMap((line) => breakLine(line, columns)) : lines);
    },
  };
}

/** Says something to a person, on stderr. */
export function tell(text: string): void {
  openOutput(process.stderr, { color: "never", isAscii: false }).printText(text);
}

/** Never coloured, one object. */
export function printJson(value: unknown): void {
  process.stdout.write(`${visibleJson(JSON.stringify(withoutSecretsIn(value), undefined, 2))}\n`);
}
