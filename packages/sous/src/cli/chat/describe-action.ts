/** What a call would do, word for word, for the person who is asked about it. */

import { inert, inertLine } from "../inert.ts";
import type { DescribeAction } from "./questions.ts";

/** The field that a call of this tool is about; it is shown first. */
const SUBJECT: Readonly<Record<string, string>> = {
  terminal: "command",
  write_file: "path",
  edit_file: "path",
  fetch: "url",
};

/** A text longer than this says how much of it is not shown. */
const LONGEST = 4000;

export const describeAction: DescribeAction = ({ path, toolName, input }) => {
  const name = inertLine(toolName, 80);
  const fields: Record<string, unknown> = typeof input === "object" && input !== null ? { ...input } : { input };
  const field = SUBJECT[toolName] ?? "";
  const { [field]: subject, ...others } = fields;
  const rest = Object.entries(others).map(([key, value]) => `${inertLine(key, 80)}: ${textOf(value)}`);
  const first = typeof subject === "string" ? [bounded(inert(subject))] : [];
  return {
    title: `${inertLine(path, 200)} wants to use ${name}`,
    lines: [...first, ...rest].flatMap((text) => text.split("\n")),
    rule: undefined,
  };
};

function textOf(value: unknown): string {
  try {
    return bounded(inert(typeof value === "string" ? value : (JSON.stringify(value) ?? "")));
  } catch {
    return "(cannot be shown)";
  }
}

function bounded(text: string): string {
  if (text.length <= LONGEST) return text;
  const half = LONGEST >> 1;
  const hidden = text.length - LONGEST;
  return `${text.slice(0, half).toWellFormed()}\n[${hidden} characters are not shown]\n${text.slice(-half).toWellFormed()}`;
}
