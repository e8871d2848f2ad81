/**
 * Every event once: its fields, which of them are compared, and its words for people. The types are in `core/event.ts`; a field
 * that is missing here, misspelt, of another kind or wrongly marked `?` does not compile. Schema, redaction, comparison and most
 * lines for people follow from the rows. Code that only one place has for an event stands in that place.
 */

import type { DeltaBody, StoredBody } from "../event.ts";
import { rateWaitWords } from "../units.ts";
import type { FieldWord } from "./kinds.ts";

type Body = StoredBody | DeltaBody;
type BodyOf<Type extends Body["type"]> = Extract<Body, { type: Type }>;
type KeysOf<Shape> = Shape extends unknown ? keyof Shape : never;
/** The fields of all shapes, also those that only one of several has, so that the table refuses them: an event has one shape. */
type FieldOf<Type extends Body["type"]> = Exclude<KeysOf<BodyOf<Type>>, "type">;
type WordOf<Type extends Body["type"], Field> = Field extends keyof BodyOf<Type>
  ? FieldWord<BodyOf<Type>[Field]>
  : { eventHasSeveralShapes: Type };

/** Makes a text of others harmless: one line, cut to about `maxLength` units. */
export type Plain = (text: string, maxLength?: number) => string;

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
