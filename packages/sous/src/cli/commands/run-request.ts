/** What was typed after `sous run`, read and checked before anything is opened. */

import { messageOf } from "../../core/errors.ts";
import type { JsonSchema } from "../../core/schema.ts";
import { checkSchema } from "../assemble.ts";
import { usageError } from "../exit-codes.ts";
import { inertLine } from "../inert.ts";
import { readColor, readOptions, readWord } from "../options.ts";
import type { Display } from "../output.ts";
import { readForeign } from "../read-foreign.ts";
import { RUN_OPTIONS, type RunFlags, readRunFlags } from "../run-flags.ts";
import { OUTPUT_FORMATS, type OutputFormat } from "./run-output.ts";

const COMMAND = "sous run";

const OPTIONS = {
  ...RUN_OPTIONS,
  "output-format": { type: "string" },
  json: { type: "boolean", default: false },
  "output-schema": { type: "string" },
  "log-file": { type: "string" },
} as const;

export type RunRequest = {
  readonly flags: RunFlags;
  /** `-` when stdin has it. */
  readonly prompt: string;
  readonly format: OutputFormat;
  readonly display: Display;
  /** A file, or the schema itself. */
  readonly outputSchema: string | undefined;
  readonly logFile: string | undefined;
};

/** Throws a `CommandError` about the first mistake. */
export function readRunRequest(parameters: readonly string[]): RunRequest {
  const { values, positionals } = readOptions(COMMAND, parameters, OPTIONS);
  const format = readWord("output-format", values["output-format"] ?? (values.json ? "json" : "text"), OUTPUT_FORMATS);
  if (values.json && format !== "json") throw usageError(`--json is --output-format json, and not ${format}`);
  const prompt = positionals.join(" ");
  if (prompt.trim() === "") {
    throw usageError(`${COMMAND} needs a prompt: ${COMMAND} "…", or ${COMMAND} - to read it from standard input`);
  }
  return {
    flags: readRunFlags(values),
    prompt,
    format,
    display: { color: readColor(values.color), isAscii: values.ascii },
    outputSchema: values["output-schema"],
    logFile: values["log-file"],
  };
}

/** How mistakes in the options themselves are told: by the format that they seem to ask for. */
export function likelyFormat(parameters: readonly string[]): OutputFormat {
  const end = parameters.indexOf("--");
  const options = end === -1 ? parameters : parameters.slice(0, end);
  const at = options.findLastIndex((each) => /^--output-format(=|$)/.test(each));
  const given = options[at]?.split("=")[1] ?? options[at + 1];
  const format = at === -1 ? undefined : OUTPUT_FORMATS.find((each) => each === given);
  return format ?? (options.includes("--json") ? "json" : "text");
}

/** The schema itself, and not the name of a file. */
export function isInlineSchema(given: string): boolean {
  return given.trimStart().startsWith("{");
}

/** Throws a `CommandError` that says what is wrong with it. */
export async function readOutputSchema(given: string): Promise<JsonSchema> {
  const isInline = isInlineSchema(given);
  const place = isInline ? "--output-schema" : `--output-schema ${inertLine(given, 200)}`;
  const text = isInline ? given : await readForeign(given).catch(asUsage("--output-schema"));
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch (error) {
    throw usageError(`${place} is not JSON: ${inertLine(messageOf(error))}`);
  }
  if (typeof schema !== "object" || schema === null || Array.isArray(schema))
    throw usageError(`${place} is no JSON Schema: it must be an object`);
  const found: JsonSchema = { ...schema };
  await checkSchema(found).catch(asUsage(place));
  return found;
}

function asUsage(place: string): (error: unknown) => never {
  return (error) => {
    throw usageError(`${place}: ${inertLine(messageOf(error))}`);
  };
}
