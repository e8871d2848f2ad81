/** One line about a tool call: what it was asked and what came back. */

import { countsIn, describeCounts } from "../../core/tool-log.ts";
import { inertLine } from "../terminal/inert.ts";

/** The fields that say what a call is about, best first. */
const TELLING = ["pattern", "path", "command", "url", "label", "task", "task_prompt", "query"];

export function describeInput(input: unknown): string {
  if (typeof input !== "object" || input === null) return "";
  const fields = new Map(Object.entries(input));
  const name = TELLING.find((each) => typeof fields.get(each) === "string") ?? "";
  return inertLine(String(fields.get(name) ?? ""), 120);
}

export type CallEnd = {
  output: string;
  isError: boolean;
  metadata?: Readonly<Record<string, unknown>> | undefined;
};

/** What the tool counted, or how its answer begins. */
export function describeOutput({ output, isError, metadata }: CallEnd): string {
  if (isError) return `failed: ${inertLine(output, 120)}`;
  return describeCounts(countsIn(metadata)) ?? inertLine(output, 60);
}
