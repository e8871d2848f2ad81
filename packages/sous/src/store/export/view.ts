/** A tree as people read it: each run as a row of numbered messages, with calls beside their results and remarks between. */

import type { EventOf, StoredEvent } from "../../core/event.ts";
import { type AssistantMessage, type FilePart, type ToolCallPart, textOf, toolCallsOf } from "../../core/message.ts";
import type { RunRecord } from "../../core/store.ts";
import { trimEndOf } from "../../core/truncate.ts";
import type { Usage } from "../../core/usage.ts";

export type RunView = {
  record: RunRecord;
  start: EventOf<"run-start">;
  entries: ViewEntry[];
  end: EventOf<"run-end"> | undefined;
};

export type ViewEntry = MessageEntry | Remark;

export type MessageEntry = {
  kind: "message";
  number: number;
  from: "earlier" | "task" | "model" | "steer" | "notice" | "report";
  time: number;
  parts: readonly Part[];
  calls: readonly CallView[];
};

export type Part = Exclude<EventOf<"message-end">["message"]["content"][number], ToolCallPart>;

/** Something that happened between messages. */
type Remark = { kind: "remark"; isBad: boolean; time: number; text: string };

export type CallView = {
  call: ToolCallPart;
  /** Who was asked for consent, and the answer. */
  consent: string | undefined;
  result: CallResult | undefined;
  /** The runs this call has started. */
  children: readonly RunRecord[];
};

/** What came back; how long it took is known of calls the run has made itself. */
type CallResult = Pick<EventOf<"tool-call-end">, "output" | "isError" | "files" | "stack"> & {
  readonly durationMs?: number;
};

/** One view per run that has a start: the root first, each run followed by everything below it. */
export function viewRuns(records: readonly RunRecord[], events: readonly StoredEvent[]): RunView[] {
  const ofRun = new Map<string, StoredEvent[]>(records.map(({ id }) => [id, []]));
  for (const event of events) ofRun.get(event.runId)?.push(event);
  const children = Map.groupBy(records, ({ id, parentId }) => {
    const [start] = ofRun.get(id) ?? [];
    return startedBy(parentId, start?.type === "run-start" ? start.call?.callId : undefined);
  });
  return inTreeOrder(records).flatMap((record) => {
    const [start, ...rest] = ofRun.get(record.id) ?? [];
    if (start?.type !== "run-start") return [];
    return [viewRun(record, start, rest, (callId) => children.get(startedBy(record.id, callId)) ?? [])];
  });
}

function startedBy(runId: string | null, callId: string | undefined): string {
  return JSON.stringify([runId, callId]);
}

/** A list instead of recursion, and each run once: a store can be crafted. */
function inTreeOrder(records: readonly RunRecord[]): RunRecord[] {
  const below = Map.groupBy(records, ({ parentId }) => parentId);
  const ordered = new Set<RunRecord>();
  const waiting = (below.get(null) ?? []).toReversed();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (ordered.has(next)) continue;
    ordered.add(next);
    for (const child of (below.get(next.id) ?? []).toReversed()) waiting.push(child);
  }
  for (const record of records) ordered.add(record);
  return [...ordered];
}

function viewRun(
  record: RunRecord,
  start: EventOf<"run-start">,
  events: readonly StoredEvent[],
  childrenOf: (callId: string) => readonly RunRecord[],
): RunView {
  const view: RunView = { record, start, entries: [], end: undefined };
  const calls = new Map<string, CallView>();
  let number = 0;
  const say = (from: MessageEntry["from"], time: number, parts: readonly Part[], made: readonly CallView[] = []) => {
    number += 1;
    view.entries.push({ kind: "message", number, from, time, parts, calls: made });
  };
  const hear = (message: AssistantMessage, time: number) => {
    const made = toolCallsOf(message).map((call): CallView => {
      return { call, consent: undefined, result: undefined, children: childrenOf(call.callId) };
    });
    for (const each of made) calls.set(each.call.callId, each);
    say(
      "model",
      time,
      message.content.filter((part) => part.type !== "tool-call"),
      made,
    );
  };
  for (const message of start.origin?.kind === "branch" ? start.origin.history : []) {
    if (message.role === "assistant") hear(message, start.time);
    else if (message.role === "user") say("earlier", start.time, message.content);
    else for (const part of message.content) addResult(calls.get(part.callId), part);
  }
  say("task", start.time, start.task.content);
  for (const event of events) {
    switch (event.type) {
      case "message-end":
        hear(event.message, event.time);
        break;
      case "tool-call-end":
        addResult(calls.get(event.callId), event);
        break;
      case "approval-request":
      case "approval-end":
        addConsent(calls.get(event.callId), event);
        break;
      case "steer":
      case "notice":
      case "report":
        say(event.type, event.time, [{ type: "text", text: event.text }]);
        break;
      case "run-end":
        view.end = event;
        break;
      case "run-start":
      case "turn-start":
      case "tool-call-start":
        break;
      default:
        view.entries.push({ kind: "remark", time: event.time, ...remarkOf(event) });
    }
  }
  return view;
}

function addResult(call: CallView | undefined, result: CallView["result"]): void {
  if (call !== undefined) call.result = result;
}

function addConsent(call: CallView | undefined, event: EventOf<"approval-request" | "approval-end">): void {
  if (call === undefined) return;
  if (event.type === "approval-request") call.consent = "consent was asked for";
  else if (event.allowed) call.consent = "allowed by a person";
  else call.consent = `not allowed (${event.by})${event.reason === undefined ? "" : `: ${event.reason}`}`;
}

type RemarkEvent = EventOf<
  "budget-warning" | "retry" | "prune" | "truncation" | "spawn-refused" | "stalled" | "cancel" | "resume"
>;

function remarkOf(event: RemarkEvent): { isBad: boolean; text: string } {
  switch (event.type) {
    case "budget-warning":
      return { isBad: true, text: event.message };
    case "retry":
      return {
        isBad: true,
        text: `Attempt ${event.attempt} failed (${event.kind}): ${event.message}. Asked again after ${timeInWords(event.delayMs)}.`,
      };
    case "prune":
      return {
        isBad: false,
        text: `${countInWords(event.dropped, "message")} left out from here on: ${event.tokensBefore} tokens became ${event.tokensAfter}.`,
      };
    case "truncation":
      return {
        isBad: false,
        text: `${event.subject === "report" ? "The report" : "A result"} was cut to ${event.keptBytes} of ${event.originalBytes} bytes.`,
      };
    case "spawn-refused":
      return { isBad: true, text: `${event.label} was not started (${event.errorType}): ${event.message}` };
    case "stalled":
      return { isBad: true, text: `Nothing had happened for ${event.seconds} s; it waited for ${event.waitingFor}.` };
    case "cancel":
      return { isBad: false, text: `It was told to stop (${event.mode}).` };
    case "resume":
      return { isBad: false, text: `Resumed after an interruption; ${timeInWords(event.usedMs)} had been used.` };
    default:
      return event satisfies never;
  }
}

/** All files a call gave back. */
export function filesOf({ result }: CallView): readonly FilePart[] {
  return result?.files ?? [];
}

/** What came out of a call, and whether that is bad news. */
export function resultOf({ result }: CallView): { text: string; state: "done" | "failed" | "open" } {
  if (result === undefined) return { text: "No result was recorded.", state: "open" };
  return { text: result.output, state: result.isError ? "failed" : "done" };
}

/** The text a run ended with, unless that is what its model said last. */
export function lastWords({ end, entries }: RunView): string {
  const last = entries.findLast((entry) => entry.kind === "message" && entry.from === "model");
  const said = last?.kind === "message" ? textOf({ content: last.parts }) : "";
  return end === undefined || end.text === said ? "" : end.text;
}

/** `0.4 s`, `58 s`, `1 min 12 s`, `2 h 5 min`. */
export function timeInWords(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** How long a run was at work. */
export function durationInWords({ durationMs }: RunRecord): string {
  return durationMs === undefined ? "no end" : timeInWords(durationMs);
}

/** `12,345 tokens`, with a mark before what was estimated. */
export function tokensInWords({ totalTokens, estimated }: Usage): string {
  return `${estimated ? "~" : ""}${totalTokens.toLocaleString("en")} tokens`;
}

export function costInWords(dollars: number | null): string {
  if (dollars === null) return "cost unknown";
  return dollars === 0 ? "$0" : `$${dollars.toFixed(dollars < 0.1 ? 4 : 2)}`;
}

export function countInWords(count: number, one: string, many: string = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** Any value as a person reads it: text as it is, the rest as indented JSON. */
export function valueInWords(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, undefined, 2) ?? "");
}

/** Whose message it is, for people. */
export const SPEAKERS: Readonly<Record<MessageEntry["from"], string>> = {
  earlier: "Said before",
  task: "Task",
  model: "Model",
  steer: "Said from outside",
  notice: "Notice of the runtime",
  report: "Report of a child",
};

/**
 * Calls `show` for every character that would be invisible, move a cursor or turn the text around. Line breaks and tabs
 * stay, and so do the joiner and the selectors that emoji are made of.
 */
export function showHidden(text: string, show: (name: string) => string): string {
  return text
    .toWellFormed()
    .replaceAll("\r\n", "\n")
    .replace(HIDDEN, (character) => (WANTED.has(character) ? character : show(nameOf(character.codePointAt(0) ?? 0))));
}

const HIDDEN = /[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029\ufff9-\ufffb]/gu;
const WANTED = new Set(["\n", "\t", "\u200d", "\ufe0e", "\ufe0f"]);

/** The code of a terminal as its picture (␛), anything else by its number. */
function nameOf(point: number): string {
  if (point < 0x20) return String.fromCodePoint(0x2400 + point);
  if (point === 0x7f) return "\u2421";
  return `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** The beginning of a file of each kind, in base64; nothing that could hold a script or an address is among them. */
const PICTURES: Readonly<Record<string, RegExp>> = {
  "image/png": /^iVBORw0KGgo/,
  "image/jpeg": /^\/9j\//,
  "image/gif": /^R0lGOD/,
  "image/webp": /^UklGR[\w+/]{6}XRUJQ/,
};
const MAX_PICTURE = 20_000_000;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** An address that holds the picture itself; undefined when the file is not a picture, or lies elsewhere. */
export function pictureAddress({ mediaType, data }: FilePart): string | undefined {
  const type = mediaType.toLowerCase();
  const prefix = `data:${type};base64,`;
  const base64 = data.startsWith(prefix) ? data.slice(prefix.length) : data;
  const isPicture = Object.hasOwn(PICTURES, type) && PICTURES[type]?.test(base64) === true;
  if (!isPicture || base64.length > MAX_PICTURE || base64.length % 4 !== 0 || !BASE64.test(base64)) return undefined;
  return `${prefix}${base64}`;
}

/** The text that is shown instead of a file. */
export function fileInWords({ mediaType, data, filename }: FilePart): string {
  const name = filename === undefined ? "a file" : filename;
  if (/^https?:/.test(data)) return `${name} (${mediaType}) at ${data}`;
  const base64 = trimEndOf(data.slice(data.startsWith("data:") ? data.indexOf(",") + 1 : 0), "=");
  return `${name} (${mediaType}, ${countInWords(Math.floor((base64.length * 3) / 4), "byte")})`;
}
