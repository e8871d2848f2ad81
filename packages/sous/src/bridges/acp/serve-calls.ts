/** Calls and children of a tree as an editor shows them: a title, a kind, the files, and a bounded content. */

import { isAbsolute, join } from "node:path";
import type { ToolCallContent, ToolCallLocation, ToolKind } from "@agentclientprotocol/sdk";
import { plainText } from "../../core/clean-text.ts";
import type { RunIdentity } from "../../core/event.ts";
import { shownToolName } from "../../core/mcp-names.ts";
import { isRecord } from "../../core/schema.ts";
import { askedLabels } from "../../core/spawn.ts";
import { truncateUtf8 } from "../../core/truncate.ts";
import { aboutInput, toolRow } from "../../core/words/tools.ts";
import { oneLine } from "./one-line.ts";

/** Max bytes of one content. */
const MAX_CONTENT_BYTES = 8 * 1024;
const MAX_DIFF_BYTES = 64 * 1024;
const MAX_TITLE = 160;

export function kindOf(toolName: string): ToolKind {
  const row = toolRow(toolName);
  if (row === undefined) return "other";
  return row.action === "host" ? "fetch" : knownKind(row.category);
}

const ALL_KINDS: readonly ToolKind[] = [
  "read",
  "edit",
  "delete",
  "move",
  "search",
  "execute",
  "think",
  "fetch",
  "switch_mode",
];

/** The kind that another agent has given. */
export function knownKind(kind: string): ToolKind {
  return ALL_KINDS.find((each) => each === kind) ?? "other";
}

/** `lead/scout#2 · grep TODO`. The root's own calls are not marked with its name. */
export function titleOf({ depth, path }: Pick<RunIdentity, "depth" | "path">, what: string): string {
  const title = oneLine(what, MAX_TITLE);
  return depth === 0 ? title : `${path} · ${title}`;
}

export function callTitle(who: Pick<RunIdentity, "depth" | "path">, toolName: string, input: unknown): string {
  const about = toolName === "parallel_subagent" ? askedLabels(toolName, input).join(", ") : aboutInput(input);
  return titleOf(who, `${shownToolName(toolName)} ${about}`);
}

/** The file or folder that a call is about, and its line where the call names one. */
export function locationsOf(input: unknown, cwd: string): ToolCallLocation[] {
  const path = textField(input, "path");
  if (path === undefined) return [];
  const line = fieldOf(input, "offset");
  return [{ path: isAbsolute(path) ? path : join(cwd, path), ...(typeof line === "number" && { line }) }];
}

/** The change that a call would make to a file; undefined for other calls, and for one that is too large to show. */
export function diffOf(toolName: string, input: unknown, cwd: string): ToolCallContent | undefined {
  const [location] = locationsOf(input, cwd);
  const change = toolRow(toolName)?.change;
  if (location === undefined || change === undefined) return undefined;
  const newText = textField(input, change.new);
  const oldText = change.old === undefined ? null : textField(input, change.old);
  if (newText === undefined || oldText === undefined) return undefined;
  if (newText.length + (oldText?.length ?? 0) > MAX_DIFF_BYTES) return undefined;
  return { type: "diff", path: location.path, oldText, newText };
}

/** The beginning of what a model has written; empty for an empty text. */
export function textContent(text: string): ToolCallContent[] {
  if (text.trim() === "") return [];
  return [{ type: "content", content: { type: "text", text: bounded(text) } }];
}

/** The beginning of what a tool has given, exactly: nothing in it acts as Markdown. */
export function resultContent(output: string): ToolCallContent[] {
  if (output.trim() === "") return [];
  return [{ type: "content", content: { type: "text", text: fenced(bounded(output)) } }];
}

function bounded(text: string): string {
  const { text: shown, truncated, originalBytes, keptBytes } = truncateUtf8(plainText(text), MAX_CONTENT_BYTES);
  return truncated ? `${shown}\n[${originalBytes - keptBytes} more bytes are not shown here]` : shown;
}

export function fenced(text: string): string {
  let fence = "```";
  while (text.includes(fence)) fence += "`";
  return `${fence}\n${text}\n${fence}`;
}

function textField(input: unknown, name: string): string | undefined {
  const value = fieldOf(input, name);
  return typeof value === "string" ? value : undefined;
}

function fieldOf(input: unknown, name: string): unknown {
  return isRecord(input) && Object.hasOwn(input, name) ? input[name] : undefined;
}
