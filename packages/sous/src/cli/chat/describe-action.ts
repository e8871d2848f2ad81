/** What a call would do, word for word, for the person who is asked about it. */

import type { ApprovalRequest } from "../../core/approval.ts";
import { inert, inertLine } from "../inert.ts";
import type { DescribedAction } from "./questions.ts";

/** The field that a rule about this tool looks at. */
const SUBJECT: Readonly<Record<string, string>> = {
  terminal: "command",
  write_file: "path",
  edit_file: "path",
  read_file: "path",
};

/** A question longer than this says how much of it is not shown. */
const LONGEST = 4000;

export function describeAction({ toolName, input }: ApprovalRequest): DescribedAction {
  const name = inertLine(toolName, 80);
  const fields: Record<string, unknown> = typeof input === "object" && input !== null ? { ...input } : { input };
  const field = SUBJECT[toolName] ?? "";
  const subject = fields[field];
  if (typeof subject !== "string") return { text: bounded(`${name}  ${json(input)}`), pattern: undefined };
  const { [field]: _subject, ...others } = fields;
  const rest = Object.keys(others).length === 0 ? "" : `\n${json(others)}`;
  const shown = inert(subject);
  // A rule with a wildcard in it would allow more than what was asked; so would one about a text that is not shown whole.
  const isExact = shown === subject && !/[*?[\]{}()\\\n]/.test(subject);
  return { text: bounded(`${name}  ${shown}${rest}`), pattern: isExact ? `${name}(${subject})` : undefined };
}

function json(value: unknown): string {
  try {
    return inert(JSON.stringify(value, undefined, 1) ?? "").replace(/\n */g, " ");
  } catch {
    return "(an input that cannot be shown)";
  }
}

function bounded(text: string): string {
  if (text.length <= LONGEST) return text;
  const half = LONGEST >> 1;
  return `${text.slice(0, half).toWellFormed()}\n[${text.length - LONGEST} characters are not shown]\n${text.slice(-half).toWellFormed()}`;
}
