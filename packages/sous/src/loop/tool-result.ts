/** What a tool returned, as a result; and a result, as the bounded text a model reads. */

import type { ToolCallPart } from "../core/message.ts";
import type { Run } from "../core/run.ts";
import type { ToolResult } from "../core/tool.ts";
import { truncateMiddle } from "../core/truncate.ts";

/** The most a model is given of one result; tools with a smaller limit of their own cut earlier. */
const MAX_RESULT_BYTES = 100_000;

/** A string is the text, a `ToolResult` is itself, anything else is shown as JSON. */
export function toToolResult(value: unknown): ToolResult {
  if (typeof value === "string") return { success: true, output: value };
  if (isToolResult(value)) return value;
  if (value === undefined || value === null) return { success: true, output: "done" };
  return { success: true, output: JSON.stringify(value) ?? String(value), data: value };
}

export function failedResult(error: string, metadata?: ToolResult["metadata"]): ToolResult {
  return { success: false, output: "", error, metadata };
}

/** The text for the model: well-formed, and cut in the middle when it is too long. */
export function boundResult(result: ToolResult, call: ToolCallPart, run: Run): { output: string; isError: boolean } {
  const isError = !result.success;
  let output = isError ? (result.error ?? (result.output || "The tool failed without saying why")) : result.output;
  // A failed result may still carry text worth reading, such as the partial report of a child.
  if (isError && result.error !== undefined && result.output !== "") output = `${result.error}\n${result.output}`;
  if (!output.isWellFormed()) output = output.toWellFormed();
  if (output.length * 3 <= MAX_RESULT_BYTES) return { output, isError };
  const cut = truncateMiddle(output, MAX_RESULT_BYTES);
  if (!cut.truncated) return { output, isError };
  run.emit({
    type: "truncation",
    subject: "tool-result",
    of: call.callId,
    originalBytes: cut.originalBytes,
    keptBytes: cut.keptBytes,
  });
  return { output: cut.text, isError };
}

function isToolResult(value: unknown): value is ToolResult {
  return (
    typeof value === "object" &&
    value !== null &&
    "success" in value &&
    typeof value.success === "boolean" &&
    "output" in value &&
    typeof value.output === "string"
  );
}
