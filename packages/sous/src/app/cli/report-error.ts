/** The lines that a failing command prints: one sentence, or each mistake of a file with the line and a mark below it. */

import { MissingKey, messageOf, stackOf, UncappedAgent, UnpricedModel } from "../../core/errors.ts";
import { nearest } from "../../core/nearest.ts";
import { ConfigurationError, type Problem, type SourceLine, whereIs } from "../config/problem.ts";
import { CommandError, EXIT, isForPeople } from "./exit-codes.ts";
import { type Display, openOutput, printJson, tell } from "./terminal/output.ts";
import type { Style } from "./terminal/style.ts";
import { displayWidth, inert, inertLine } from "./terminal/text.ts";

/** Prints one sentence on stderr, and with `--json` also an object on stdout. Returns the code to end with. */
export function reportError(error: unknown, isJson: boolean): number {
  const exitCode = exitCodeFor(error);
  const words = isForPeople(error) ? messageOf(error) : (stackOf(error) ?? messageOf(error));
  const message = inert(isFolderGone(error) ? FOLDER_GONE : words);
  if (error instanceof ConfigurationError)
    showProblems(error, { color: "auto", ascii: process.argv.includes("--ascii") });
  else tell(`error: ${message}`);
  if (isJson) printJson({ schema: "sous.error.v1", error: { message, exit_code: exitCode } });
  return exitCode;
}

const FOLDER_GONE = "The folder in which sous was started no longer exists: change to another one";

/** Any call may ask for the working folder. */
function isFolderGone(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && error.syscall === "uv_cwd";
}

/** Every mistake of a configuration, each with its picture. */
export function showProblems({ problems }: ConfigurationError, display: Display): void {
  const { style, print } = openOutput(process.stderr, display);
  const pictures = problems.map((problem) => errorPicture(problem, style));
  print(pictures.flatMap((lines, index) => (index === 0 ? lines : ["", ...lines])));
}

export function exitCodeFor(error: unknown): number {
  if (error instanceof CommandError) return error.exitCode;
  if (error instanceof ConfigurationError) return isTyped(error) ? EXIT.usage : EXIT.configuration;
  if (error instanceof UnpricedModel || error instanceof UncappedAgent) return EXIT.configuration;
  return error instanceof MissingKey ? EXIT.key : EXIT.failed;
}

/** A value that was typed is a mistake of usage; a file that a flag names is a configuration. */
function isTyped({ problems }: ConfigurationError): boolean {
  return problems.every(({ code, location }) => location.kind === "flag" && code !== "SOUS-C001");
}

/** Max columns of a line of the file; a longer one is shown around the mark. */
const MAX_COLUMNS = 100;

export function errorPicture(problem: Problem, style: Style): string[] {
  const { code, location, message, fix } = problem;
  const said = plain(inertLine(message, 500), style);
  return [
    `${style.paint("red", "error")} ${style.paint("bold", code)}  ${inertLine(whereIs(problem), 300)}`,
    ...(location.kind === "file" && location.source.length > 0
      ? sourceLines(location.source, location, said, style)
      : givenLines(location.kind === "file" ? undefined : location.text, said, style)),
    `   ${style.paint("cyan", "fix")}   ${plain(inertLine(fix, 500), style)}`,
  ];
}

function sourceLines(
  lines: readonly SourceLine[],
  { line, column }: { line: number; column: number },
  message: string,
  style: Style,
): string[] {
  const bar = barOf(style);
  const digits = String(line).length;
  const { start, mark } = windowAround(lines.find(({ number }) => number === line)?.text ?? "", column);
  const shown = lines.map(({ number, text }) => {
    const label = `${String(number).padStart(digits)} ${bar}`;
    const cut = inertPart(text, start, start + MAX_COLUMNS);
    return number === line ? ` ${style.paint("red", ">")} ${label} ${cut}` : style.paint("dim", `   ${label} ${cut}`);
  });
  const blank = " ".repeat(digits + 4);
  return [...shown, `${blank}${bar} ${" ".repeat(mark)}${style.paint("red", "^")} ${message}`];
}

/** The start of the shown part of a long line, and the columns from there to the mark. */
function windowAround(text: string, column: number): { start: number; mark: number } {
  const at = Math.min(column - 1, text.length);
  const start = at < MAX_COLUMNS - 20 ? 0 : at - 40;
  return { start, mark: displayWidth(inertPart(text, start, at)) };
}

/** Spaces stay as they are: the mark counts on them. */
function inertPart(text: string, start: number, end: number): string {
  return inert(text.slice(start, end).replaceAll(/[\r\n]/g, " "));
}

function givenLines(text: string | undefined, message: string, style: Style): string[] {
  const bar = barOf(style);
  return text === undefined
    ? [` ${style.paint("red", ">")} ${bar} ${message}`]
    : [` ${style.paint("red", ">")} ${bar} ${inertLine(text, 200)}`, `   ${bar} ${style.paint("red", "^")} ${message}`];
}

function barOf({ glyphs }: Style): string {
  return glyphs.line.trimEnd();
}

/** Replaces signs in our own text that ASCII terminals cannot show. */
function plain(text: string, { glyphs }: Style): string {
  return glyphs.more === "..." ? text.replaceAll("–", "-").replaceAll("…", "...") : text;
}

/** About a first word that is not a command. */
export function complaintAbout(command: string, commands: readonly string[]): string {
  if (command === "") return "error: Without a terminal sous needs a command. Try sous run, or sous --help.\n";
  const name = inertLine(command, 60);
  if (name.startsWith("-"))
    return `error: ${JSON.stringify(name)} comes after a command, such as sous run or sous chat. See sous --help.\n`;
  const meant = nearest(name, commands) ?? "demo";
  return `error: Unknown command ${JSON.stringify(name)}. Try sous ${meant}, or sous --help.\n`;
}
