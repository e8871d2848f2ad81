/** `sous doctor`: looks at the machine and the setup, and says what to do. Starts no program and changes nothing. */

import { type Check, type CheckState, stateOf } from "../doctor/check.ts";
import { type DoctorRequest, examine } from "../doctor/examine.ts";
import { EXIT } from "../exit-codes.ts";
import { readOptions, refusePositionals } from "../table/options.ts";
import { DOCTOR } from "../table/setup-entries.ts";
import { inertLine } from "../terminal/inert.ts";
import { type Output, openOutput, printJson } from "../terminal/output.ts";
import type { Colour } from "../terminal/style.ts";
import { breakLine } from "../terminal/width.ts";

const COMMAND = "sous doctor";

export async function doctor(parameters: readonly string[]): Promise<number> {
  const { values, positionals } = readOptions(DOCTOR, parameters);
  refusePositionals(COMMAND, positionals);
  const output = openOutput(process.stdout, { color: values.color, isAscii: values.ascii });
  const { default: manifest } = await import("../../../package.json", { with: { type: "json" } });
  const { isTTY = false, columns, rows } = process.stdout;
  const request: DoctorRequest = {
    cwd: process.cwd(),
    env: process.env,
    flags: { model: values.model, config: values.config, dbPath: values["db-path"], isOnline: values.online },
    terminal: { isTerminal: isTTY, columns, rows },
    versions: { node: process.versions.node, sous: manifest.version },
  };
  const checks = await examine(request);
  if (values.json) printJson(toJson(checks));
  else print(checks, output);
  return exitCodeOf(checks);
}

export function exitCodeOf(checks: readonly Check[]): number {
  const problems = checks.filter(({ state }) => state === "problem");
  if (problems.length === 0) return EXIT.ok;
  const isSetup = problems.some(({ name }) => name === "configuration" || name === "agents");
  return isSetup ? EXIT.configuration : EXIT.failed;
}

export function toJson(checks: readonly Check[]): Record<string, unknown> {
  return {
    schema: "sous.doctor.v1",
    status: stateOf(checks),
    checks: checks.map(({ name, state, found, fix }) => ({ name, state, found, fix: fix ?? null })),
  };
}

const COLOURS: Readonly<Record<CheckState, Colour>> = { ok: "green", warning: "yellow", problem: "red" };
const STATE_COLUMNS = "problem".length + 2;

function print(checks: readonly Check[], output: Output): void {
  const nameColumns = Math.max(...checks.map(({ name }) => name.length)) + 2;
  const indent = STATE_COLUMNS + nameColumns;
  for (const { name, state, found, fix } of checks) {
    const text = inertLine(fix === undefined ? found : `${found}. To do: ${fix}`, 1000);
    const [first = "", ...rest] = output.isTerminal ? breakLine(text, Math.max(20, output.columns - indent)) : [text];
    const head = output.style.paint(COLOURS[state], state.padEnd(STATE_COLUMNS)) + name.padEnd(nameColumns);
    output.print([head + first, ...rest.map((line) => " ".repeat(indent) + line)]);
  }
  output.print(["", summary(checks)]);
}

function summary(checks: readonly Check[]): string {
  const count = (state: CheckState): number => checks.filter((check) => check.state === state).length;
  const words = (
    [
      ["problem", count("problem")],
      ["warning", count("warning")],
    ] as const
  ).flatMap(([word, number]) => (number === 0 ? [] : [`${number} ${word}${number === 1 ? "" : "s"}`]));
  return words.length === 0 ? "All is well." : `${words.join(", ")}.`;
}
