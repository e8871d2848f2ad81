/** `sous config explain | check | schema`: what the settings are, where they come from, and what is wrong with them. */

import { configurationSchema, type Explanation, explain, nearestSetting } from "../../config/explain.ts";
import type { LoadedConfiguration } from "../../config/load-configuration.ts";
import { ConfigurationError, whereIs } from "../../config/problem.ts";
import { readWithProject } from "../application/project.ts";
import { EXIT, usageError } from "../exit-codes.ts";
import { processContext } from "../files/paths.ts";
import { showProblems } from "../report-error.ts";
import { type OptionValues, quoted, readOptions, refusePositionals, wrongWord } from "../table/options.ts";
import { CONFIG_COMMAND } from "../table/setup-entries.ts";
import { type Output, openOutput, printJson } from "../terminal/output.ts";
import type { Style } from "../terminal/style.ts";
import { displayWidth, fillToWidth, inertLine, wrapToWidth } from "../terminal/text.ts";

const COMMAND = "sous config";

type Values = OptionValues<typeof CONFIG_COMMAND>;

export async function config(parameters: readonly string[]): Promise<number> {
  const { values, positionals } = readOptions(CONFIG_COMMAND, parameters);
  const [action, ...rest] = positionals;
  switch (action) {
    case "explain": {
      const [name, ...more] = rest;
      refusePositionals(`${COMMAND} explain`, more);
      return withConfiguration(values, (loaded) => show(loaded, name, values));
    }
    case "check":
      refusePositionals(`${COMMAND} check`, rest);
      return withConfiguration(values, (loaded) => check(loaded, values));
    case "schema":
      refusePositionals(`${COMMAND} schema`, rest);
      printJson(configurationSchema());
      return EXIT.ok;
    default:
      throw wrongWord(COMMAND, "takes explain, check or schema", action);
  }
}

/** Shows all mistakes and ends with 3; otherwise calls `use`, after warnings about what was ignored. */
async function withConfiguration(
  values: Values,
  use: (loaded: LoadedConfiguration) => Promise<number> | number,
): Promise<number> {
  try {
    const { loaded } = await readWithProject(values.config, processContext());
    return await use(loaded);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    showProblems(error, values);
    if (values.json) printJson(problemsJson(error));
    return EXIT.configuration;
  }
}

function problemsJson({ problems }: ConfigurationError): object {
  return {
    schema: "sous.config-check.v1",
    problems: problems.map((problem) => {
      const { code, message, found, fix } = problem;
      return { code, where: whereIs(problem), message, found: found ?? null, fix };
    }),
  };
}

function check({ warnings }: LoadedConfiguration, values: Values): number {
  if (values.json) printJson({ schema: "sous.config-check.v1", problems: [], warnings });
  else openOutput(process.stdout, values).printText("The configuration has no mistakes.");
  return EXIT.ok;
}

function show(loaded: LoadedConfiguration, name: string | undefined, values: Values): number {
  const found = explain(loaded, name);
  if (found === undefined) {
    const meant = nearestSetting(name ?? "");
    const hint = meant === undefined ? "See sous config explain --all." : `Did you mean ${meant}?`;
    throw usageError(`Unknown setting ${quoted(name ?? "")}. ${hint}`);
  }
  const settings = name === undefined && !values.all ? found.filter(({ isDefault }) => !isDefault) : found;
  if (values.json) {
    printJson({ schema: "sous.config-explain.v1", settings: settings.map(settingJson) });
    return EXIT.ok;
  }
  const output = openOutput(process.stdout, values);
  const [first] = settings;
  if (first === undefined) {
    output.printText("Every setting has its default value. sous config explain --all shows them.");
  } else output.print(first.key === name ? explainLines(first, output) : settingLines(settings, output.style));
  return EXIT.ok;
}

function settingJson({ key, shown, where, isDefault, about }: Explanation): object {
  return { key, value: shown, from: where, is_default: isDefault, default: about.fallback, allowed: about.allowed };
}

const MAX_VALUE = 300;

export function explainLines(
  explanation: Explanation,
  { style, columns }: Pick<Output, "style" | "columns">,
): string[] {
  const { key, shown, where, behind, about } = explanation;
  const rows: [name: string, text: string][] = [
    ["from", inertLine(where, 1000)],
    ...behind.map((each): [string, string] => ["over", `${value(each.shown)} from ${inertLine(each.where, 1000)}`]),
    ["allowed", about.allowed],
    ["default", value(about.fallback)],
    ...(about.variable === undefined ? [] : [["variable", about.variable] satisfies [string, string]]),
    ["project", about.project],
  ];
  return [
    `${style.paint("bold", key)} = ${value(shown)}`,
    ...rows.map(([name, text]) => `  ${style.paint("dim", name.padEnd(8))}  ${asciiOf(text, style)}`),
    ...wrapToWidth(about.description, columns - 2).map((line) => `  ${line}`),
  ];
}

/** The key and its value, then where it comes from. */
export function settingLines(explanations: readonly Explanation[], style: Style): string[] {
  const said = explanations.map(({ key, shown }) => `${key} = ${value(shown)}`);
  const width = Math.min(MAX_WIDTH, Math.max(...said.map(displayWidth)));
  return explanations.map(
    ({ where }, index) => `${fillToWidth(said[index] ?? "", width)}  ${style.paint("dim", inertLine(where, 1000))}`,
  );
}

const MAX_WIDTH = 60;

function value(shown: string): string {
  return inertLine(shown, MAX_VALUE);
}

function asciiOf(text: string, { glyphs }: Style): string {
  return glyphs.more === "..." ? text.replaceAll("–", "-") : text;
}
