/**
 * Every event once: its fields, which of them are compared, and its words for people. The types are in `core/event.ts`; a field
 * that is missing here, misspelt, of another kind or wrongly marked `?` does not compile. Schema, redaction, comparison and most
 * lines for people follow from the rows. Code that only one place has for an event stands in that place.
 */

import type { DeltaBody, StoredBody } from "../event.ts";
import { rateWaitWords } from "../units.ts";
import type { AnyWord, FieldWord } from "./kinds.ts";
import { LIMITS } from "./limits.ts";
import { OUTCOMES, STOP_REASONS } from "./outcomes.ts";

type Body = StoredBody | DeltaBody;
type BodyOf<Type extends Body["type"]> = Extract<Body, { type: Type }>;
type KeysOf<Shape> = Shape extends unknown ? keyof Shape : never;
/** The fields of all shapes, also those that only one of several has, so that the table refuses them: an event has one shape. */
type FieldOf<Type extends Body["type"]> = Exclude<KeysOf<BodyOf<Type>>, "type">;
type WordOf<Type extends Body["type"], Field> = Field extends keyof BodyOf<Type>
  ? FieldWord<BodyOf<Type>[Field]>
  : { eventHasSeveralShapes: Type };

/** Makes a text of others harmless: one line, cut to about `maxLength` units. */
type Plain = (text: string, maxLength?: number) => string;

type Row<Type extends Body["type"]> = {
  /** The first version of stored events in which it has these fields, where those before it are read without a step; 1 when unset. */
  since?: number;
  /** Every field by its kind. A text that could hold a secret is a `text`, not an `id`. The order is that of exports. */
  fields: { [Field in FieldOf<Type>]: WordOf<Type, Field> };
  /** Fields that may differ when the same run is made again; `event` for one that only time brings. */
  varies?: readonly FieldOf<Type>[] | "event";
  /** Fields that are estimated from the size of a prompt. */
  estimated?: readonly FieldOf<Type>[];
  /** A person reads it behind the path of the run, where that needs no more than the event. */
  line?: (event: BodyOf<Type>, plain: Plain) => string;
} & (Type extends StoredBody["type"]
  ? {
      /** The name of the event where two runs are compared. */
      noun: string | ((event: BodyOf<Type>) => string);
    }
  : { stored: false });

export const EVENTS = {
  "run-start": {
    since: 3,
    fields: {
      agent: "id",
      nickname: "text?",
      label: "text",
      task: "task",
      model: "text",
      price: "price?",
      contextWindow: "amount?",
      tools: "tools",
      outputSchema: "record?",
      instructions: "text?",
      notes: "text?",
      maxTurns: "count",
      rights: "rights",
      origin: "origin?",
      call: "call?",
      summaryPrompt: "text?",
      summarizes: "yes?",
      timeoutMs: "amount?",
      budget: "budget?",
      terms: "terms?",
      cwd: "text?",
      traceparent: "id?",
      placed: "placed?",
    },
    // A rerun may be in any folder, and a price that was not known may be known now. It places nothing.
    varies: ["cwd", "traceparent", "price", "contextWindow", "placed"],
    noun: "the start",
  },
  "turn-start": {
    fields: { turn: "count", promptTokens: "amount", reserved: "amount", reservedUsd: "amount?" },
    estimated: ["promptTokens", "reserved"],
    noun: ({ turn }) => `turn ${turn}`,
  },
  "message-end": {
    fields: {
      turn: "count",
      message: "answer",
      finish: "finish",
      usage: "usage",
      costUsd: "cost",
      providerCalls: "providerCalls?",
    },
    noun: "the answer",
  },
  "tool-call-start": {
    fields: { callId: "id", toolName: "text", input: "json?" },
    noun: ({ toolName }) => `the call of ${toolName}`,
  },
  "tool-call-end": {
    fields: {
      callId: "id",
      toolName: "text",
      output: "text",
      isError: "flag",
      files: "files?",
      durationMs: "amount",
      stack: "text?",
      metadata: "record?",
    },
    varies: ["durationMs", "stack"],
    noun: ({ toolName }) => `the result of ${toolName}`,
  },
  "outside-session": {
    fields: { server: "id", sessionId: "id", continued: "flag" },
    noun: ({ server }) => `the session with ${server}`,
    line: ({ continued, server }, plain) => `${continued ? "continues" : "works in"} a session of ${plain(server, 80)}`,
  },
  "outside-call": {
    fields: {
      callId: "id",
      phase: "phase",
      name: "text",
      kind: "text",
      title: "text",
      input: "json?",
      output: "text?",
      isError: "flag?",
    },
    noun: ({ phase, name }) => `the ${phase} of its own ${name}`,
  },
  "approval-request": {
    since: 2,
    fields: {
      callId: "id",
      toolName: "text",
      input: "json?",
      origin: "toolOrigin?",
      toolReason: "text?",
      target: "callTarget?",
    },
    // A rerun has the name of the tool and not its server, and may be in any folder.
    varies: ["origin", "target"],
    noun: ({ toolName }) => `the question about ${toolName}`,
  },
  "approval-end": {
    fields: { callId: "id", allowed: "flag", by: "answerer", reason: "text?" },
    noun: "the answer about approval",
    line: ({ allowed }) => (allowed ? "allowed" : "not allowed"),
  },
  "budget-warning": {
    fields: { message: "text" },
    noun: "the warning about its budget",
    line: ({ message }, plain) => plain(message),
  },
  retry: {
    fields: {
      attempt: "count",
      delayMs: "amount",
      kind: "modelErrorKind",
      message: "text",
      spent: "usage",
      costUsd: "cost",
    },
    varies: ["delayMs"],
    estimated: ["spent", "costUsd"],
    noun: "the failed attempt",
  },
  prune: {
    fields: { from: "count", dropped: "count", tokensBefore: "amount", tokensAfter: "amount" },
    estimated: ["tokensBefore", "tokensAfter"],
    noun: "the pruning",
    line: ({ dropped }) => `dropped ${dropped} old ${dropped === 1 ? "message" : "messages"} to make room`,
  },
  truncation: {
    fields: { subject: "cutText", of: "id", originalBytes: "count", keptBytes: "count" },
    noun: ({ subject }) => (subject === "report" ? "the cut of its report" : "the cut of a result"),
    line: ({ subject, keptBytes, originalBytes }) =>
      `cut a ${subject === "report" ? "report" : "tool result"} to ${keptBytes} of ${originalBytes} bytes`,
  },
  "spawn-refused": {
    fields: { label: "text", childPath: "id?", waited: "yes?", errorType: "errorType", message: "text" },
    noun: ({ label }) => `the refusal of ${label}`,
    // An earlier line may have said that the child waits when there is a path, so the line names the child.
    line: ({ childPath, label, message }, plain) =>
      `refused${childPath === undefined ? "" : ` ${plain(label, 80)}`}: ${plain(message)}`,
  },
  placed: {
    since: 3,
    fields: {
      childRunId: "id",
      childAgentId: "id",
      childPath: "id",
      label: "text",
      agent: "id",
      call: "call?",
      budget: "budget?",
    },
    varies: "event",
    noun: ({ label }) => `the placing of ${label}`,
    line: ({ label }, plain) => `placed ${plain(label, 80)}`,
  },
  stalled: {
    fields: { seconds: "amount", waitingFor: "text" },
    varies: "event",
    noun: "the silence",
    line: ({ seconds, waitingFor }, plain) => `silent for ${seconds}s, waits for ${plain(waitingFor, 80)}`,
  },
  cancel: {
    since: 3,
    fields: { mode: "cancelMode", callId: "id?", mail: "count?" },
    varies: ["mail"],
    noun: ({ mode }) => `the cancel (${mode})`,
  },
  steer: {
    since: 3,
    fields: { text: "text", callId: "id?", mail: "count?" },
    varies: ["mail"],
    noun: "what was said to it",
    line: ({ text }, plain) => `is told: ${plain(text)}`,
  },
  notice: {
    fields: { reason: "noticeReason", text: "text" },
    noun: ({ reason }) => `the notice (${reason})`,
  },
  report: {
    fields: { childRunId: "id", childAgentId: "id", text: "text" },
    noun: "the report of a child",
  },
  resume: {
    since: 3,
    fields: { usedMs: "amount", run: "resumedRun?", worker: "text?", attempt: "count?" },
    varies: "event",
    noun: "the restart",
    line: ({ worker }, plain) =>
      worker === undefined ? "continues where it was interrupted" : `is taken by ${plain(worker, 80)}`,
  },
  "run-end": {
    since: 3,
    fields: {
      status: "status",
      stopReason: "stopReason?",
      text: "text",
      output: "json?",
      fault: "fault?",
      turns: "count",
      toolCount: "count",
      usage: "usage",
      costUsd: "cost",
      durationMs: "amount",
      usageBelow: "usage?",
      costBelowUsd: "cost?",
    },
    varies: ["durationMs", "usageBelow", "costBelowUsd"],
    noun: "the end",
  },
  "text-delta": { stored: false, fields: { text: "text" } },
  "reasoning-delta": { stored: false, fields: { text: "text" } },
  "tool-progress": {
    stored: false,
    fields: { callId: "id", toolName: "text", text: "text", done: "amount?", total: "amount?" },
  },
  park: { stored: false, fields: {} },
  "budget-wait": { stored: false, fields: { limit: "limit" } },
  "rate-wait": { stored: false, fields: { delayMs: "amount" }, line: ({ delayMs }) => rateWaitWords(delayMs) },
  "budget-near": { stored: false, fields: { limit: "limit" } },
} satisfies { [Type in Body["type"]]: Row<Type> };

type EventStep = (event: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;

/**
 * Each step by the version that it makes from the one before: `2: (event) => …`. A step that has nothing to change returns its
 * event. Steps run before an event is parsed, so a field may hold anything. They are never changed again.
 */
export const EVENT_STEPS: Readonly<Record<number, EventStep>> = {};

/** The rows of words inside stored events. A new one changes no event from before, so it needs no step. */
const DATED_ROWS = [LIMITS, OUTCOMES, STOP_REASONS].flatMap((rows) => Object.values(rows));

/** The last version that may concern every event. */
const COMMON_VERSION = Math.max(...DATED_ROWS.map(({ since = 1 }) => since), ...Object.keys(EVENT_STEPS).map(Number));

/** A row as code reads it that does the same for every event. */
type AnyRow = {
  readonly since?: number;
  readonly fields: Readonly<Record<string, AnyWord>>;
  readonly varies?: readonly string[] | "event";
  readonly estimated?: readonly string[];
  readonly line?: (event: never, plain: Plain) => string;
  readonly noun?: string | ((event: never) => string);
  readonly stored?: false;
};

export const ROWS: Readonly<Record<Body["type"], AnyRow>> = EVENTS;

/**
 * The version of an event of this type as it is stored: the last one that changed it. Later versions that changed others leave it
 * as it is, so that most rows of a database need no number.
 */
export function versionOf(type: Body["type"]): number {
  return Math.max(COMMON_VERSION, ROWS[type].since ?? 1);
}

/** The types in the order of the table. */
export const EVENT_TYPES: readonly Body["type"][] = Object.keys(EVENTS) as Body["type"][];
export const STORED_TYPES: readonly StoredBody["type"][] = EVENT_TYPES.filter(isStored);

/**
 * The version of events as they are stored and exported. Every change of what is stored makes the next version: a limit, a status,
 * a stop reason, or an event with a new field that may be missing by `since` in its row, anything else by a step. Each version has
 * a golden journal (`test/golden/`). A version without a step changes nothing in the events before it.
 */
export const EVENT_VERSION: number = Math.max(...STORED_TYPES.map(versionOf));

function isStored(type: Body["type"]): type is StoredBody["type"] {
  return ROWS[type].stored !== false;
}

export function nounOf(event: StoredBody): string {
  const { noun = "" } = ROWS[event.type];
  return typeof noun === "string" ? noun : noun(event as never);
}

/** Undefined when the row has no line. */
export function lineOf(event: Body, plain: Plain): string | undefined {
  return ROWS[event.type].line?.(event as never, plain);
}
