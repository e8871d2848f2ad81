/** What the tools of one run did. It refers to the parts of the conversation, so that it costs little while the run lives. */

import type { StoredEvent } from "./event.ts";
import type { ToolCallPart, ToolResultPart } from "./message.ts";
import { countsIn, type ToolCounts } from "./tool-counts.ts";

/** One finished tool call of a child. */
export type ToolLogEntry = {
  toolName: string;
  input: unknown;
  output: string;
  success: boolean;
  /** It needed consent and nobody was there to give it. */
  isDenied: boolean;
  durationMs: number;
  /** What the tool is called for people, if it says so. */
  displayName: string | undefined;
  /** What the tool counted. */
  counts: ToolCounts | undefined;
};

/** What is known of a call besides its words. */
export type ToolCallFacts = Pick<ToolLogEntry, "durationMs" | "isDenied" | "displayName" | "counts">;

type Extra = { readonly type?: undefined } & Pick<ToolCallFacts, "displayName" | "counts">;

export class ToolLog {
  /** For every call: the call, how long it took, whether it was denied, what else is known of it, its result. */
  readonly #parts: (ToolCallPart | number | "denied" | Extra | ToolResultPart)[] = [];
  /** What was done before a restart. */
  readonly #earlier: readonly ToolLogEntry[];

  constructor(earlier: readonly ToolLogEntry[] = []) {
    this.#earlier = earlier;
  }

  add(call: ToolCallPart, result: ToolResultPart, facts: ToolCallFacts): void {
    const { durationMs, isDenied, displayName, counts } = facts;
    this.#parts.push(call, durationMs);
    if (isDenied) this.#parts.push("denied");
    if (displayName !== undefined || counts !== undefined) this.#parts.push({ displayName, counts });
    this.#parts.push(result.files === undefined ? result : withoutFiles(result));
  }

  entries(): ToolLogEntry[] {
    const entries = [...this.#earlier];
    let input: unknown;
    let durationMs = 0;
    let isDenied = false;
    let extra: Extra | undefined;
    for (const part of this.#parts) {
      if (typeof part === "number") durationMs = part;
      else if (part === "denied") isDenied = true;
      else if (part.type === "tool-call") input = part.input;
      else if (part.type === undefined) extra = part;
      else {
        const { toolName, output, isError } = part;
        const { displayName, counts } = extra ?? {};
        entries.push({ toolName, input, output, success: !isError, isDenied, durationMs, displayName, counts });
        isDenied = false;
        extra = undefined;
      }
    }
    return entries;
  }
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

/** A log outlives what is pruned from its conversation, and nobody looks for pictures in it. */
function withoutFiles({ files: _, ...result }: ToolResultPart): ToolResultPart {
  return result;
}
