/** Calls that a provider or an external agent makes by itself, as events: each when it began and how it ended, within bounds. */

import { cleanText, type Redactor } from "../../core/clean-text.ts";
import type { ExternalCall } from "../../core/external-agent.ts";
import { type AssistantMessage, type ProviderPart, textOf } from "../../core/message.ts";
import type { Run } from "../../core/run.ts";
import { isRecord, jsonOf } from "../../core/schema.ts";
import { truncateUtf8 } from "../../core/truncate.ts";
import { utf8Length } from "../../core/usage.ts";
import { boundText } from "./tool-result.ts";

/**
 * Recorded behind the answer that holds them, which is what is sent back to the provider; these are for people and traces.
 * `recorded` of them were stored before a restart.
 */
export function recordActivity(message: AssistantMessage, run: Run, recorded = 0): void {
  const parts = message.content.filter((part) => part.type === "provider");
  if (parts.length === 0) return;
  for (const call of callsIn(parts, run.turns).slice(recorded)) {
    run.emit({ type: "outside-call", ...boundExternalCall(call, run.tree.redactor) });
  }
}

/** An answer that its provider has paused: it continues when it is asked again. */
export function pauseAnswer(run: Run, message: AssistantMessage): void {
  run.cutText += textOf(message);
  run.text = "";
}

/** Always both halves: a result may come with a later answer than its call. */
function callsIn(parts: readonly ProviderPart[], turn: number): ExternalCall[] {
  const calls: ExternalCall[] = [];
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

function pairOf(part: ProviderPart, result: ProviderPart | undefined): ExternalCall[] {
  const { callId, toolName: name } = part;
  const input = part.kind === "call" ? part.value : null;
  const title = isRecord(input) && typeof input.query === "string" ? input.query : name;
  const start = { callId, name, kind: KIND, title, input };
  const output = result === undefined ? "(no result with this answer)" : resultText(result.value);
  return halvesOf(start, output, result?.isError === true);
}

const KIND = "provider";

/** A search that was reported only by what it found. Sources of an answer that are no more than that are not an event. */
function searchIn({ toolName: name, value }: ProviderPart, turn: number): ExternalCall[] {
  if (!isRecord(value) || !Array.isArray(value.queries)) return [];
  const { queries, sources } = value;
  const start = { callId: `${name}_${turn}`, name, kind: KIND, title: queries.join(", "), input: { queries } };
  return halvesOf(start, resultText(sources ?? []), false);
}

function halvesOf(call: Omit<ExternalCall, "phase">, output: string, isError: boolean): ExternalCall[] {
  return [
    { ...call, phase: "start" },
    { ...call, phase: "end", output, isError },
  ];
}

/** Only the provider can read what is encrypted. */
function resultText(value: unknown): string {
  if (typeof value === "string") return value;
  return JSON.stringify(value, (key, item) => (/^encrypted/i.test(key) ? undefined : item)) ?? "";
}

const MAX_WORDS = 200;
const MAX_BYTES = 4096;
/** An input that is too long becomes the beginning of its JSON: quoted again, it is at most twice as long. */
const MAX_CUT_INPUT = 2000;
/** Levels of an input; the store reads few more. */
const MAX_DEPTH = 50;
/** Far more than is kept. */
const MAX_CLEANED = 100_000;
/** The output has at most `MAX_BYTES`, the notice about the cut included. */
const OUTPUT_BOUNDS = { maxCleaned: MAX_CLEANED, maxBytes: MAX_BYTES, cutTo: MAX_BYTES - 96 };

/**
 * Bounds a call and removes secrets: 200 characters for each name, 4 KB for the input as JSON and for the output. Secrets go
 * before anything is cut, because half a secret is no longer known as one. Given its own result it changes nothing, so that a
 * rerun records the same.
 */
export function boundExternalCall(call: ExternalCall, redactor: Redactor): ExternalCall {
  const words = (text: string): string => cutWords(redactor.text(cleanText(text.slice(0, MAX_CLEANED))));
  const start = {
    callId: cutWords(call.callId),
    phase: call.phase,
    name: words(call.name),
    kind: words(call.kind),
    title: words(call.title),
    input: boundInput(call.input, redactor),
  };
  if (call.phase === "start") return start;
  const output = boundText(call.output ?? "", redactor, OUTPUT_BOUNDS).text;
  return { ...start, output, isError: call.isError === true };
}

function cutWords(text: string): string {
  return text.length <= MAX_WORDS ? text : text.slice(0, MAX_WORDS).toWellFormed();
}

function boundInput(input: unknown, redactor: Redactor): unknown {
  if (isDeeper(input, MAX_DEPTH)) return cutInput(redactor.text(jsonOf(input) ?? "null"));
  const json = jsonOf(redactor.value(input)) ?? "null";
  return utf8Length(json) <= MAX_BYTES ? JSON.parse(json) : cutInput(json);
}

function cutInput(json: string): string {
  return `${truncateUtf8(json, MAX_CUT_INPUT).text}…`;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeper(item, levels - 1));
}
