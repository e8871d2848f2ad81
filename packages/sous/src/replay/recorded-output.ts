/** The output schema of a recorded agent: what its instructions say of it, and what it made of the recorded answers. */

import type { AgentOptions } from "../core/agent.ts";
import { insideFence } from "../core/fenced.ts";
import { textOf } from "../core/message.ts";
import type { RunRecording } from "../core/recording.ts";
import type { JsonSchema, StandardResult, StandardSchema } from "../core/schema.ts";

/** The words before the schema, as the loop writes them (`loop/parse-output.ts`). */
const MARK = "When you are done, answer with nothing but JSON that matches this JSON Schema:\n";
const MISMATCH = "The answer does not match the output schema: ";

/** The instructions as they were given, and the schema that was added to them. */
export function recordedOutput(runs: readonly RunRecording[]): Pick<AgentOptions, "instructions" | "outputSchema"> {
  const instructions = runs[0]?.start.instructions;
  const at = instructions?.lastIndexOf(MARK) ?? -1;
  if (instructions === undefined || at < 0) return { instructions, outputSchema: undefined };
  const jsonSchema = parse(instructions.slice(at + MARK.length));
  if (typeof jsonSchema !== "object" || jsonSchema === null) return { instructions, outputSchema: undefined };
  const before = instructions.slice(0, at);
  return {
    instructions: before === "" ? undefined : before.replace(/\n\n$/, ""),
    outputSchema: playedSchema(jsonSchema as JsonSchema, verdictsOf(runs)),
  };
}

type Verdict = StandardResult<unknown>;

/** Finds in the recording whatever it is asked about: the real schema may say more than its JSON Schema does. */
function playedSchema(jsonSchema: JsonSchema, verdicts: ReadonlyMap<string, Verdict>): StandardSchema {
  const standard = {
    version: 1 as const,
    vendor: "recording",
    validate: (value: unknown) => verdicts.get(JSON.stringify(value)) ?? { value },
    jsonSchema: { input: () => jsonSchema },
  };
  return { "~standard": standard };
}

function verdictsOf(runs: readonly RunRecording[]): Map<string, Verdict> {
  const verdicts = new Map<string, Verdict>();
  for (const { events, end } of runs) {
    let text = "";
    let cutText = "";
    const judge = (verdict: Verdict) => {
      const said = cutText + text;
      verdicts.set(JSON.stringify(parse(insideFence(said) ?? said)) ?? "", verdict);
    };
    for (const event of events) {
      if (event.type === "message-end") text = textOf(event.message);
      if (event.type !== "notice") continue;
      if (event.reason === "cut-answer") cutText += text;
      if (event.reason !== "output-repair") continue;
      judge({ issues: [{ message: event.text.slice(event.text.indexOf("\n") + 1) }] });
      cutText = "";
    }
    const message = end?.fault?.message ?? "";
    if (end?.status === "completed" || end?.stopReason === "consent") judge({ value: end.output });
    else if (message.startsWith(MISMATCH)) judge({ issues: [{ message: message.slice(MISMATCH.length) }] });
  }
  return verdicts;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
