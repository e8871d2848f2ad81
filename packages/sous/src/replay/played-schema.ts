/** Schemas of a rerun: what they made of an input or an answer then they make of it now, with the same words. */

import type { ShownTool } from "../core/event.ts";
import type { JsonSchema, Parsed, Schema } from "../core/schema.ts";
import type { Comparison } from "./comparison.ts";
import type { RunRecording } from "./recording.ts";

/** The input schema of a tool: an input that a person was asked about is known as it was parsed. */
export function playedInput(run: RunRecording, { name, inputSchema }: ShownTool): Schema {
  const verdicts = new Map<string, Parsed>();
  for (const { callId, toolName, input } of run.calls.values()) {
    if (toolName !== name) continue;
    const result = run.results.get(callId);
    const asked = run.asked.get(callId);
    if (result?.metadata?.error_type === "invalid_input")
      verdicts.set(JSON.stringify(input), { ok: false, problems: [result.output] });
    else if (asked !== undefined) verdicts.set(JSON.stringify(input), { ok: true, value: asked.input });
  }
  return { jsonSchema: inputSchema, parse: (value) => verdicts.get(JSON.stringify(value)) ?? { ok: true, value } };
}

/** What the loop says before the problems of an answer that it does not ask for again (`loop/close-run.ts`). */
const MISMATCH = "The answer does not match the output schema: ";

/** The output schema of a run: asked about its latest answer, it says what became of that. */
export function playedOutput(run: RunRecording, jsonSchema: JsonSchema, comparison: Comparison): Schema {
  const { events, end } = run;
  return {
    jsonSchema,
    parse(value) {
      const answered = events.findLastIndex((event) => event.type === "message-end" && comparison.hasCome(event));
      const repair = events.find(
        (event, index) => index > answered && event.type === "notice" && event.reason === "output-repair",
      );
      if (repair?.type === "notice") return problem(repair.text.slice(repair.text.indexOf("\n") + 1));
      if (end?.fault?.message.startsWith(MISMATCH) === true) return problem(end.fault.message.slice(MISMATCH.length));
      return { ok: true, value: end === undefined ? value : end.output };
    },
  };
}

function problem(text: string): Parsed {
  return { ok: false, problems: [text] };
}
