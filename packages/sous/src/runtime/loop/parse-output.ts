/** The answer of an agent with an output schema: JSON, perhaps inside a fence, checked, and asked for again once. */

import { setImmediate } from "node:timers/promises";
import type { FinishReason } from "../../core/model.ts";
import type { Run } from "../../core/run.ts";
import { oneAtATime, type Parsed, type Schema } from "../../core/schema.ts";
import type { Ending } from "./ending.ts";
import { NOTICES, notify } from "./inbox.ts";
import { runTurn } from "./run-turn.ts";
import { isJson } from "./to-json.ts";

/** Parsing is one step that nothing interrupts: a slow machine takes a second for this many characters of short keys. */
const MAX_LENGTH = 2_000_000;
const LENGTH_AT_ONCE = 100_000;
const inTurn = oneAtATime(setImmediate);

/** The model, or its provider, would not answer. */
export const REFUSED: Ending = { status: "refused", fault: { type: "refused", message: "The model refused the task" } };

/** The answer as it is, or after one more turn that repairs it. */
export async function outputEnding(run: Run): Promise<Ending> {
  const first = await parseOutput(run);
  if (first.ok) return { status: "completed", output: first.value };
  run.cutText = "";
  notify(run, "output-repair", `${NOTICES["output-repair"]}\n${first.problems.join("\n")}`);
  return repairedEnding(run, undefined);
}

/** The second and last try at an answer of the right shape. `answered` is how it ended, if it was made before a restart. */
export async function repairedEnding(run: Run, answered: FinishReason | undefined): Promise<Ending> {
  const finish = answered ?? (await runTurn(run, { closing: true, jsonOutput: true })).finish;
  if (finish === "content-filter") return REFUSED;
  const second = await parseOutput(run);
  if (second.ok) return { status: "completed", output: second.value };
  const message =
    finish === "length"
      ? "The answer was cut at the output limit before its JSON was complete: raise maxOutputTokens or the budget, or ask for less"
      : `The answer does not match the output schema: ${second.problems.join("; ")}`;
  return { status: "failed", fault: { type: "model", message } };
}

export async function parseOutput({ cutText, text, profile, scope }: Run): Promise<Parsed> {
  const schema = profile.output;
  if (schema === undefined) return { ok: true, value: undefined };
  const whole = await parseText(cutText + text, schema, scope);
  // A model that was asked to continue may begin again instead.
  const again = whole.ok || cutText === "" ? whole : await parseText(text, schema, scope);
  return again.ok ? again : whole;
}

async function parseText(text: string, schema: Schema, scope: Run["scope"]): Promise<Parsed> {
  const body = withoutFence(text);
  if (body.length > MAX_LENGTH) return { ok: false, problems: [`it is longer than ${MAX_LENGTH} characters`] };
  const read = body.length <= LENGTH_AT_ONCE ? readJson(body) : await inTurn(() => readJson(body), scope);
  return read.ok ? schema.parse(read.value, scope) : read;
}

function readJson(text: string): Parsed {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { ok: false, problems: [`it is not JSON (${(error as Error).message})`] };
  }
  // JSON it is; only its depth can be wrong, and a schema that walks through it would not come back.
  return isJson(value) ? { ok: true, value } : { ok: false, problems: ["it is nested too deeply"] };
}

const FENCE = "```";

/** The inside of a fence that begins and ends the text, else the text. */
function withoutFence(text: string): string {
  const whole = text.trim();
  const firstLineEnd = whole.indexOf("\n");
  if (!whole.startsWith(FENCE) || !whole.endsWith(FENCE) || firstLineEnd === -1) return text;
  const language = whole.slice(FENCE.length, firstLineEnd).trim();
  return language === "" || language === "json" ? whole.slice(firstLineEnd + 1, -FENCE.length) : text;
}

/** Added to the instructions of an agent with an output schema. Text a model reads: snapshotted. */
export function outputInstructions(schema: Schema): string {
  return `When you are done, answer with nothing but JSON that matches this JSON Schema:\n${JSON.stringify(schema.jsonSchema)}`;
}

/** The instructions of an agent that must answer in a shape. */
export function withOutput(instructions: string | undefined, output: Schema | undefined): string | undefined {
  if (output === undefined) return instructions;
  return instructions === undefined ? outputInstructions(output) : `${instructions}\n\n${outputInstructions(output)}`;
}
