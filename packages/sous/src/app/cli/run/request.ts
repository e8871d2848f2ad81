/** What `sous run` was asked: its options, read before anything is opened. */

import { messageOf } from "../../core/errors.ts";
import type { JsonSchema } from "../../core/schema.ts";
import { usageError } from "../exit-codes.ts";
import { readForeign } from "../files/file-access.ts";
import { readOptions } from "../table/options.ts";
import { OUTPUT_FORMATS, RUN } from "../table/run-entries.ts";
import { type RunFlags, readRunFlags } from "../table/run-flags.ts";
import type { Display } from "../terminal/output.ts";
import { inertLine } from "../terminal/text.ts";
import type { OutputFormat } from "./output.ts";

const COMMAND = "sous run";

export type RunRequest = {
  readonly flags: RunFlags;
  /** `-` when stdin has it. */
  readonly prompt: string;
  readonly format: OutputFormat;
  readonly display: Display;
  /** A file, or the schema itself. */
  readonly outputSchema: string | undefined;
  readonly logFile: string | undefined;
  /** What needs approval is left open. */
  readonly parks: boolean;
};

/** Throws a `CommandError` about the first mistake. */
export function readRunRequest(parameters: readonly string[]): RunRequest {
  const { values, positionals } = readOptions(RUN, parameters);
  const format = values["output-format"] ?? (values.json ? "json" : "text");
  if (values.json && format !== "json") throw usageError(`--json is --output-format json, and not ${format}`);
  const prompt = positionals.join(" ");
  if (prompt.trim() === "") {
    throw usageError(`${COMMAND} needs a prompt: ${COMMAND} "…", or ${COMMAND} - to read it from standard input`);
  }
  return {
    flags: readRunFlags(values),
    prompt,
    format,
    display: values,
    outputSchema: values["output-schema"],
    logFile: values["log-file"],
    parks: values.park,
  };
}

/** The format in which mistakes in the options are reported: the one that they seem to ask for. */
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
  const source = isInline ? "--output-schema" : `--output-schema ${inertLine(given, 200)}`;
  const text = isInline
    ? given
    : await readForeign(given).catch((error: unknown) => {
        throw usageError(`--output-schema: ${inertLine(messageOf(error))}`);
      });
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch (error) {
    throw usageError(`${source} is not JSON: ${inertLine(messageOf(error))}`);
  }
  if (typeof schema !== "object" || schema === null || Array.isArray(schema))
    throw usageError(`${source} is not a JSON Schema: it must be an object`);
  const found: JsonSchema = { ...schema };
  const { compileSchema } = await import("../../schema/compile.ts");
  try {
    await compileSchema(found);
  } catch (error) {
    throw usageError(`${source}: ${inertLine(messageOf(error))}`);
  }
  return found;
}
