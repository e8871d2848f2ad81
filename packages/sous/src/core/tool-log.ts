/** A log of what the tools of one run did. It outlives what is pruned from the conversation, and holds no pictures. */

import type { StoredEvent } from "./event.ts";
import type { ToolCallPart, ToolResultPart } from "./message.ts";
import { isCutNotice } from "./truncate.ts";

/** One finished tool call of a child. */
export type ToolLogEntry = {
  toolName: string;
  input: unknown;
  output: string;
  success: boolean;
  /** It needed approval and no approver was there. */
  isDenied: boolean;
  durationMs: number;
  /** The name of the tool for people, if it has one. */
  displayName: string | undefined;
  /** The counts of the tool. */
  counts: ToolCounts | undefined;
};

/** The facts of a call besides its words. */
type ToolCallFacts = Pick<ToolLogEntry, "durationMs" | "isDenied" | "displayName" | "counts">;

export function toLogEntry(
  { input }: ToolCallPart,
  { toolName, output, isError }: ToolResultPart,
  { durationMs, isDenied, displayName, counts }: ToolCallFacts,
): ToolLogEntry {
  return { toolName, input, output, success: !isError, isDenied, durationMs, displayName, counts };
}

/** The log of one run, from its events. Events do not hold what a tool is called for people. */
export function toolLogOf(
  events: Iterable<StoredEvent>,
  displayNameOf: (toolName: string) => string | undefined,
): ToolLogEntry[] {
  const inputs = new Map<string, unknown>();
  const denied = new Set<string>();
  const log: ToolLogEntry[] = [];
  for (const event of events) {
    if (event.type === "tool-call-start") inputs.set(event.callId, event.input);
    else if (event.type === "approval-end" && event.by === "nobody") denied.add(event.callId);
    else if (event.type === "tool-call-end") {
      const { callId, toolName, output, isError, durationMs, metadata } = event;
      const displayName = displayNameOf(toolName);
      const facts = { isDenied: denied.has(callId), durationMs, displayName, counts: countsIn(metadata) };
      log.push({ toolName, input: inputs.get(callId), output, success: !isError, ...facts });
    }
  }
  return log;
}

/** The counts that tools give in their metadata. `truncated`: there was more than is shown. */
export type ToolCounts = {
  readonly matches?: number | undefined;
  readonly lines?: number | undefined;
  readonly files?: number | undefined;
  readonly truncated?: boolean | undefined;
};

/** Undefined when the metadata says nothing about how much there is. */
export function countsIn(metadata: Readonly<Record<string, unknown>> | undefined): ToolCounts | undefined {
  if (metadata === undefined) return undefined;
  const [matches, lines, files] = [metadata.matches, metadata.lines, metadata.files].map(toCount);
  const truncated = metadata.truncated === true;
  const isEmpty = matches === undefined && lines === undefined && files === undefined && !truncated;
  return isEmpty ? undefined : { matches, lines, files, truncated };
}

function toCount(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : undefined;
}

/** `3 matches`, `2000+ lines`, `1 file`; undefined when the tool counted nothing. */
export function describeCounts(counts: ToolCounts | undefined): string | undefined {
  const isCut = counts?.truncated === true;
  if (counts?.matches !== undefined) return quantity(counts.matches, "match", isCut);
  if (counts?.lines !== undefined) return quantity(counts.lines, "line", isCut);
  if (counts?.files !== undefined) return quantity(counts.files, "file", isCut);
  return undefined;
}

/** `1 line`, `42 lines`, and `42+ lines` where there was more. */
export function quantity(count: number, unit: "match" | "line" | "file", isCut: boolean): string {
  const many = unit === "match" ? "matches" : `${unit}s`;
  return isCut ? `${count}+ ${many}` : `${count} ${count === 1 ? unit : many}`;
}

type TextLines = { readonly lines: readonly string[]; readonly isCut: boolean };

/** The lines of an answer that belong to it: not those by which the runtime or a tool speaks about it. */
export function linesOf(output: string): TextLines {
  const text = output.trimEnd();
  if (text === "" || isRemark(text)) return { lines: [], isCut: false };
  const all = text.split("\n");
  const lines = all.filter((line) => !isNotice(line));
  return { lines, isCut: all.some(isCutNotice) };
}

/** All there is of an answer that has nothing to say, such as `[no output]`. */
function isRemark(text: string): boolean {
  return /^\[[a-z]+ /.test(text) && text.indexOf("]") === text.length - 1 && !text.includes("\n");
}

function isNotice(line: string): boolean {
  return isCutNotice(line) || line.startsWith("[Notice: ") || line.startsWith("(subagent_id: ");
}
