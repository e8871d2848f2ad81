/** `sous config explain | check | schema`: what the settings are, where they come from, and what is wrong with them. */

import { ConfigurationError, whereIs } from "../../core/problem.ts";
import { findTrust, trustWarning } from "../assemble-agents.ts";
import {
  configurationSchema,
  type Explanation,
  explainSettings,
  type LoadedConfiguration,
  readConfiguration,
} from "../assemble-configuration.ts";
import { EXIT, usageError } from "../exit-codes.ts";
import { explainLines, settingLines } from "../explain-lines.ts";
import { inertLine } from "../inert.ts";
import { DISPLAY_OPTIONS, quoted, readColor, readOptions, refusePositionals } from "../options.ts";
import { type Display, openOutput, printJson } from "../output.ts";
import { showProblems } from "../report-error.ts";

const COMMAND = "sous config";

const OPTIONS = {
  ...DISPLAY_OPTIONS,
  config: { type: "string" },
  all: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
} as const;

type Request = {
  readonly display: Display;
  readonly configFile: string | undefined;
  readonly isAll: boolean;
  readonly isJson: boolean;
};

export async function config(parameters: readonly string[]): Promise<number> {
  const { values, positionals } = readOptions(COMMAND, parameters, OPTIONS);
  const [action, ...rest] = positionals;
  const request: Request = {
    display: { color: readColor(values.color), isAscii: values.ascii },
    configFile: values.config,
    isAll: values.all,
    isJson: values.json,
  };
  switch (action) {
    case "explain": {
      const [name, ...more] = rest;
      refusePositionals(`${COMMAND} explain`, more);
      return withConfiguration(request, (loaded) => explain(loaded, name, request));
    }
    case "check":
      refusePositionals(`${COMMAND} check`, rest);
      return withConfiguration(request, (loaded) => check(loaded, request));
    case "schema":
      refusePositionals(`${COMMAND} schema`, rest);
      printJson(await configurationSchema());
      return EXIT.ok;
    default:
      throw usageError(
        `${COMMAND} takes explain, check or schema${action === undefined ? "" : `; found ${quoted(action)}`}. See ${COMMAND} --help.`,
      );
  }
}

/** Says what is wrong, all of it, and ends with 3; otherwise goes on, after what was ignored. */
async function withConfiguration(
  request: Request,
  use: (loaded: LoadedConfiguration) => Promise<number> | number,
): Promise<number> {
  const { display, configFile, isJson } = request;
  const progress = openOutput(process.stderr, display);
  try {
    const place = { cwd: process.cwd(), env: process.env };
    const trust = await findTrust(place);
    const untrusted = trustWarning(trust);
    const loaded = await readConfiguration({ flags: { configFile }, ...place, project: trust });
    for (const line of untrusted === undefined ? loaded.warnings : [untrusted, ...loaded.warnings])
      progress.printText(`warning: ${inertLine(line, 1000)}`);
    return await use(loaded);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    showProblems(error, display);
    if (isJson) printJson(problemsJson(error));
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

function check({ warnings }: LoadedConfiguration, { display, isJson }: Request): number {
  if (isJson) printJson({ schema: "sous.config-check.v1", problems: [], warnings });
  else openOutput(process.stdout, display).printText("The configuration has no mistakes.");
  return EXIT.ok;
}

async function explain(loaded: LoadedConfiguration, name: string | undefined, request: Request): Promise<number> {
  const found = await explainSettings(loaded, name);
  if ("meant" in found) {
    const hint = found.meant === undefined ? "See sous config explain --all." : `Did you mean ${found.meant}?`;
    throw usageError(`There is no setting ${quoted(name ?? "")}. ${hint}`);
  }
  const settings = name === undefined && !request.isAll ? found.filter(({ isDefault }) => !isDefault) : found;
  if (request.isJson) {
    printJson({ schema: "sous.config-explain.v1", settings: settings.map(settingJson) });
    return EXIT.ok;
  }
  const output = openOutput(process.stdout, request.display);
  const [first] = settings;
  if (first === undefined) {
    output.printText("Every setting has its default value. sous config explain --all shows them.");
  } else output.print(first.key === name ? explainLines(first, output) : settingLines(settings, output.style));
  return EXIT.ok;
}

function settingJson({ key, shown, where, isDefault, about }: Explanation): object {
  return { key, value: shown, from: where, is_default: isDefault, default: about.fallback, allowed: about.allowed };
}
