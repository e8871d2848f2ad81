/** The output of a command: how wide its lines may be, in which style, and a question to the person there. */

import { visibleJson } from "../../../core/clean-text.ts";
import { withoutSecretsIn, withoutValues } from "../files/without-secrets.ts";
import { chooseStyle, type Style } from "./style.ts";
import { breakLine } from "./text.ts";
import { wholeRows } from "./whole-rows.ts";

export type Output = {
  readonly style: Style;
  /** A pipe has no width; its lines are as long as these columns. */
  readonly columns: number;
  readonly isTerminal: boolean;
  print(lines: readonly string[]): void;
  /** Text of any length: broken between words for a terminal, whole for a pipe. */
  printText(text: string): void;
  /** A sentence, and below it what it lists, such as questions: the lines that are indented are printed whole. */
  printReport(text: string): void;
  /** The lines of a question: nothing in them is dropped, however narrow the terminal is. */
  printWhole(lines: readonly string[]): void;
};

/** The options of a command about its lines. */
export type Display = { readonly color: "auto" | "always" | "never"; readonly ascii: boolean };

/** The width at which lines are cut where there is no terminal. */
const PIPE_COLUMNS = 100;
const MIN_COLUMNS = 20;

export function openOutput(stream: NodeJS.WriteStream, { color, ascii }: Display): Output {
  const isTerminal = stream.isTTY === true;
  // One column stays free: a terminal wraps a line that fills it. One that does not know its size says 0.
  const columns = isTerminal ? Math.max(MIN_COLUMNS, (stream.columns || 80) - 1) : PIPE_COLUMNS;
  const print = (lines: readonly string[]): void => void stream.write(lines.map((line) => `${line}\n`).join(""));
  const output: Output = {
    style: chooseStyle({ color, isAscii: ascii, isTerminal, env: process.env }),
    columns,
    isTerminal,
    print,
    printText(text) {
      const lines = withoutValues(text).split("\n");
      print(isTerminal ? lines.flatMap((line) => breakLine(line, columns)) : lines);
    },
    printReport(text) {
      for (const line of withoutValues(text).split("\n"))
        line.startsWith(" ") ? output.printWhole([line]) : output.printText(line);
    },
    printWhole(whole) {
      const lines = whole.map(withoutValues);
      print(isTerminal ? lines.flatMap((line) => indentedRows(line, columns)) : lines);
    },
  };
  return output;
}

function indentedRows(line: string, columns: number): string[] {
  const text = line.trimStart();
  return wholeRows(text, columns, { indent: line.slice(0, line.length - text.length) });
}

/** Says something to a person, on stderr. */
export function tell(text: string): void {
  openOutput(process.stderr, { color: "never", ascii: false }).printReport(text);
}

export function tellWhole(lines: readonly string[]): void {
  openOutput(process.stderr, { color: "never", ascii: false }).printWhole(lines);
}

/** Never coloured, one object. */
export function printJson(value: unknown): void {
  process.stdout.write(`${visibleJson(JSON.stringify(withoutSecretsIn(value), undefined, 2))}\n`);
}

/** True is a yes. */
export type AskPerson = (question: string) => Promise<boolean>;

/** Undefined when no person can be asked. */
export function personAtTerminal(): AskPerson | undefined {
  return process.stdin.isTTY === true && process.stderr.isTTY === true ? askOnStderr : undefined;
}

async function askOnStderr(question: string): Promise<boolean> {
  const { createInterface } = await import("node:readline/promises");
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim());
  } catch {
    // Ctrl-C and the end of input are a no, and have left the cursor behind the question.
    process.stderr.write("\n");
    return false;
  } finally {
    terminal.close();
  }
}
