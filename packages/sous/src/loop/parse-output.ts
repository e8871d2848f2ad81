/** The answer of an agent with an output schema: JSON, perhaps inside a fence, checked. */

import type { Parsed, Schema } from "../core/schema.ts";
import { isJson } from "./to-json.ts";

const FENCED = /^\s*```(?:json)?\s*\n([\s\S]*?)\n?```\s*$/;

export async function parseOutput(text: string, schema: Schema | undefined): Promise<Parsed> {
  if (schema === undefined) return { ok: true, value: undefined };
  const body = FENCED.exec(text)?.[1] ?? text;
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (error) {
    return { ok: false, problems: [`it is not JSON (${(error as Error).message})`] };
  }
  // JSON it is; only its depth can be wrong, and a schema that walks through it would not come back.
  return isJson(value) ? schema.parse(value) : { ok: false, problems: ["it is nested too deeply"] };
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
