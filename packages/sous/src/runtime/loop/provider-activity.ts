/** What a provider did by itself during an answer, as events: each call when it began and how it ended. */

import { type AssistantMessage, type ProviderPart, textOf } from "../core/message.ts";
import type { OutsideCall } from "../core/outside-agent.ts";
import { boundOutsideCall } from "../core/outside-call.ts";
import type { Run } from "../core/run.ts";
import { isRecord } from "../core/schema.ts";

/**
 * Recorded behind the answer that holds them, which is what is sent back to the provider; these are for people and traces.
 * `recorded` of them were stored before a restart.
 */
export function recordActivity(message: AssistantMessage, run: Run, recorded = 0): void {
  const parts = message.content.filter((part) => part.type === "provider");
  if (parts.length === 0) return;
  for (const call of callsIn(parts, run.turns).slice(recorded)) {
    run.emit({ type: "outside-call", ...boundOutsideCall(call, run.tree.redactor) });
  }
}

/** An answer that its provider has paused: it continues when it is asked again. */
export function pauseAnswer(run: Run, message: AssistantMessage): void {
  run.cutText += textOf(message);
  run.text = "";
}

/** Always both halves: a result may come with a later answer than its call. */
function callsIn(parts: readonly ProviderPart[], turn: number): OutsideCall[] {
  const calls: OutsideCall[] = [];
  const named = new Set(parts.filter(({ kind }) => kind === "call").map(({ callId }) => callId));
  const results = new Map<string, ProviderPart>();
  for (const part of parts) if (part.kind === "result" && !results.has(part.callId)) results.set(part.callId, part);
  for (const part of parts) {
    if (part.kind === "result" && named.has(part.callId)) continue;
    if (part.kind === "note") calls.push(...searchIn(part, turn));
    else calls.push(...pairOf(part, results.get(part.callId)));
  }
  return calls;
}

function pairOf(part: ProviderPart, result: ProviderPart | undefined): OutsideCall[] {
  const { callId, toolName: name } = part;
  const input = part.kind === "call" ? part.value : null;
  const start = { callId, name, kind: KIND, title: titleOf(input, name), input };
  const output = result === undefined ? "(no result with this answer)" : resultText(result.value);
  return [
    { ...start, phase: "start" },
    { ...start, phase: "end", output, isError: result?.isError === true },
  ];
}

const KIND = "provider";

/** A search that was reported only by what it found. Sources of an answer that are no more than that are not an event. */
function searchIn({ toolName: name, value }: ProviderPart, turn: number): OutsideCall[] {
  if (!isRecord(value) || !Array.isArray(value.queries)) return [];
  const { queries, sources } = value;
  const start = { callId: `${name}_${turn}`, name, kind: KIND, title: queries.join(", "), input: { queries } };
  return [
    { ...start, phase: "start" },
    { ...start, phase: "end", output: resultText(sources ?? []), isError: false },
  ];
}

function titleOf(input: unknown, name: string): string {
  return isRecord(input) && typeof input.query === "string" ? input.query : name;
}

/** Only the provider can read what is encrypted. */
function resultText(value: unknown): string {
  if (typeof value === "string") return value;
  return JSON.stringify(value, (key, item) => (/^encrypted/i.test(key) ? undefined : item)) ?? "";
}
