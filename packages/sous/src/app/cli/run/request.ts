/** The request of `sous run`: its options, read before anything is opened, and its task, which may be piped in. */

import { fstatSync } from "node:fs";
import { messageOf } from "../../../core/errors.ts";
import type { UserInput } from "../../../core/message.ts";
import { isRecord, type JsonSchema } from "../../../core/schema.ts";
import { usageError } from "../exit-codes.ts";
import { readForeign } from "../files/file-access.ts";
import { type OptionValues, readOptions } from "../table/options.ts";
import { OUTPUT_FORMATS, RUN } from "../table/run-entries.ts";
import { readRunFlags } from "../table/run-flags.ts";
import type { Display } from "../terminal/output.ts";
import { inertLine } from "../terminal/text.ts";
import type { OutputFormat } from "./output.ts";

const COMMAND = "sous run";

export type RunRequest = Readonly<ReturnType<typeof readRunRequest>>;

/** Throws a `CommandError` about the first mistake. */
export function readRunRequest(parameters: readonly string[]) {
  const { values, positionals } = readOptions(RUN, parameters);
  const format = values["output-format"] ?? (values.json ? "json" : "text");
  if (values.json && format !== "json") throw usageError(`--json is --output-format json, and not ${format}`);
  const prompt = positionals.join(" ");
  if (prompt.trim() === "") {
    throw usageError(`${COMMAND} needs a prompt: ${COMMAND} "…", or ${COMMAND} - to read it from standard input`);
  }
  const display: Display = values;
  if (values.detach) refuseUndetachable(values, format);
  return {
    flags: readRunFlags(values),
    /** The run is left to a worker. */
    isDetached: values.detach,
    /** `-` when stdin has it. */
    prompt,
    format,
    display,
    /** A file, or the schema itself. */
    outputSchema: values["output-schema"],
    logFile: values["log-file"],
    /** Calls that need approval are left open. */
    parks: values.park,
  };
}

/** The options that are about this process, or about rules, which are those of the worker. */
function refuseUndetachable(values: OptionValues<typeof RUN>, format: OutputFormat): void {
  const refuse = (option: string, why: string): never => {
    throw usageError(`--detach and ${option} do not go together: ${why}`);
  };
  if (values.ephemeral) refuse("--ephemeral", "workers find runs in the database");
  if (values.park) refuse("--park", "what needs approval is refused, unless the rules of the worker allow it");
  if (values.yes) refuse("--yes", "the rules are those of the worker: sous worker --yes");
  if (values.allow !== undefined) refuse("--allow", "the rules are those of the worker: sous worker --allow RULE");
  if (format === "stream-json") refuse("--output-format stream-json", "its events are in the database");
  const [ofProcess] = OF_PROCESS.filter((name) => values[name] !== undefined && values[name] !== false);
  if (ofProcess !== undefined) refuse(`--${ofProcess}`, "this process ends before the run begins");
}

const OF_PROCESS = ["verbose", "log-level", "log-file", "metrics-port"] as const;

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
  if (!isRecord(schema)) throw usageError(`${source} is not a JSON Schema: it must be an object`);
  const found: JsonSchema = { ...schema };
  const { compileSchema } = await import("../../../runtime/schema/compile.ts");
  try {
    await compileSchema(found);
  } catch (error) {
    throw usageError(`${source}: ${inertLine(messageOf(error))}`);
  }
  return found;
}

type TaskOptions = {
  prompt: string;
  signal: AbortSignal;
  /** Says what is waited for. */
  tell: (line: string) => void;
};

/** A prompt of `-` is read; any other comes first, and what is piped in follows as a text of its own. */
export async function readTask({ prompt, signal, tell }: TaskOptions): Promise<UserInput> {
  const isPrompt = prompt.trim() === "-";
  if (!isPrompt && !hasPipedInput()) return prompt;
  const onSilence = (): void => tell("waiting for the end of standard input; add </dev/null to run without it");
  const piped = await readStdin({ signal, onSilence });
  if (isPrompt) {
    if (piped.trim() === "") throw usageError("The prompt is missing: standard input is empty");
    return piped;
  }
  if (piped.trim() === "") return prompt;
  return [
    { type: "text", text: prompt },
    // Begins with a gap: wherever the task is shown as one text, the two are told apart.
    { type: "text", text: `\n\nStandard input:\n\n${piped}` },
  ];
}

export const MAX_STDIN_BYTES = 10_000_000;

/** After this long without input a line says what is waited for. */
const SILENCE_MS = 3000;

/** True when a pipe, a socket or a file is there to be read; a terminal and /dev/null are not. */
function hasPipedInput(): boolean {
  try {
    const found = fstatSync(0);
    return found.isFIFO() || found.isFile() || found.isSocket();
  } catch {
    // It is closed.
    return false;
  }
}

type ReadStdinOptions = {
  signal: AbortSignal;
  /** Called once when nothing comes. */
  onSilence?: (() => void) | undefined;
  stream?: NodeJS.ReadableStream | undefined;
};

/** Waits for the end, as every filter does. Throws a `CommandError` when there is too much, and when `signal` aborts. */
export async function readStdin({ signal, onSilence, stream = process.stdin }: ReadStdinOptions): Promise<string> {
  signal.throwIfAborted();
  const chunks: Buffer[] = [];
  let bytes = 0;
  const silence = onSilence === undefined ? undefined : setTimeout(onSilence, SILENCE_MS);
  const stop = (): void => close(stream);
  signal.addEventListener("abort", stop, { once: true });
  try {
    for await (const chunk of stream) {
      clearTimeout(silence);
      const piece = Buffer.from(chunk);
      bytes += piece.length;
      if (bytes > MAX_STDIN_BYTES) {
        throw usageError(
          `Standard input has more than ${MAX_STDIN_BYTES / 1_000_000} MB: give a file to look into instead`,
        );
      }
      chunks.push(piece);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(silence);
    signal.removeEventListener("abort", stop);
    close(stream);
  }
  signal.throwIfAborted();
  return new TextDecoder().decode(Buffer.concat(chunks));
}

/** An open pipe would keep the process alive. */
function close(stream: NodeJS.ReadableStream): void {
  if ("destroy" in stream && typeof stream.destroy === "function") stream.destroy();
}
