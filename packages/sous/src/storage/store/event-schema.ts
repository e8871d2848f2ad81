/** Checks stored events that come from a database or a file, before anything trusts their type. */

import * as z from "zod";
import { StoreError } from "../core/errors.ts";
import type { StoredEvent } from "../core/event.ts";
import { list, maybe, messageSchemas, runSchemas } from "../core/run-schema.ts";
import { isObject, once } from "../core/schema.ts";

/**
 * The version of events as they are stored and exported. A change of an event shows in the snapshot of the schema
 * (`test/core/event-schema.test.ts`), and then this is raised by one, with three things beside it: a step that turns
 * events of the version before into this one, a migration of the databases, and a new golden journal. The old journals
 * stay and must still work.
 */
export const EVENT_SCHEMA_VERSION = 1;

/**
 * One event as it comes out of a row or a file. Throws a `StoreError` that names its number, its type and the field.
 *
 * A field that is not known is refused: a later version wrote it, or no version did, and it could be a restriction that
 * would not be heeded. Only what callers, models and tools hand over may hold more, and there it is dropped
 * (`core/run-schema.ts`).
 */
export function parseStoredEvent(value: unknown): StoredEvent {
  const excess = excessOf(value);
  if (excess !== undefined) throw new StoreError(`${nameOf(value)} cannot be read: it has ${excess}`);
  const parsed = storedEventSchema().safeParse(value);
  if (!parsed.success) throw new StoreError(`${nameOf(value)} cannot be read: ${problemOf(parsed.error)}`);
  return parsed.data;
}

/** The end of the year 9999: what is later has no date as RFC 3339 writes it. */
export const LATEST_TIME = 253_402_300_799_999;

export const storedEventSchema = once(() => {
  const { amount, assistantMessage, count, filePart } = messageSchemas();
  const { errorType, modelErrorKind, resumedRun, runEnd, runStart, usage } = runSchemas();

  const HEAD = {
    seq: z.int().min(1),
    time: z.number().min(0).max(LATEST_TIME),
    runId: z.string(),
    agentId: z.string(),
    parentId: z.string().nullable(),
    path: z.string(),
    depth: count,
  };

  const event = <Body extends z.ZodRawShape>(body: Body) => z.strictObject({ ...HEAD, ...body });

  const money = amount.nullable();
  const anything = maybe(z.unknown());

  return z.discriminatedUnion("type", [
    event(runStart),
    event({
      type: z.literal("turn-start"),
      turn: count,
      promptTokens: amount,
      reserved: amount,
      reservedUsd: amount.optional(),
    }),
    event({
      type: z.literal("message-end"),
      turn: count,
      message: assistantMessage,
      finish: z.enum(["stop", "tool-calls", "length", "content-filter", "paused", "other"]),
      usage,
      costUsd: money,
      providerCalls: z.record(z.string(), count).optional(),
    }),
    event({ type: z.literal("tool-call-start"), callId: z.string(), toolName: z.string(), input: anything }),
    event({
      type: z.literal("tool-call-end"),
      callId: z.string(),
      toolName: z.string(),
      output: z.string(),
      isError: z.boolean(),
      files: list(filePart).optional(),
      durationMs: amount,
      stack: z.string().optional(),
      metadata: z.record(z.string(), z.unknown()).optional(),
    }),
    event({
      type: z.literal("outside-session"),
      server: z.string(),
      sessionId: z.string(),
      continued: z.boolean(),
    }),
    event({
      type: z.literal("outside-call"),
      callId: z.string(),
      phase: z.enum(["start", "end"]),
      name: z.string(),
      kind: z.string(),
      title: z.string(),
      input: anything,
      output: z.string().optional(),
      isError: z.boolean().optional(),
    }),
    event({
      type: z.literal("approval-request"),
      callId: z.string(),
      toolName: z.string(),
      input: anything,
      origin: z.object({ server: z.string(), tool: z.string(), definition: z.string().optional() }).optional(),
      toolReason: z.string().optional(),
    }),
    event({
      type: z.literal("approval-end"),
      callId: z.string(),
      allowed: z.boolean(),
      by: z.enum(["person", "nobody", "cancelled"]),
      reason: maybe(z.string()),
    }),
    event({ type: z.literal("budget-warning"), message: z.string() }),
    event({
      type: z.literal("retry"),
      attempt: count,
      delayMs: amount,
      kind: modelErrorKind,
      message: z.string(),
      spent: usage,
      costUsd: money,
    }),
    event({ type: z.literal("prune"), from: count, dropped: count, tokensBefore: amount, tokensAfter: amount }),
    event({
      type: z.literal("truncation"),
      subject: z.enum(["report", "tool-result"]),
      of: z.string(),
      originalBytes: count,
      keptBytes: count,
    }),
    event({
      type: z.literal("spawn-refused"),
      label: z.string(),
      childPath: z.string().optional(),
      waited: z.literal(true).optional(),
      errorType,
      message: z.string(),
    }),
    event({ type: z.literal("stalled"), seconds: amount, waitingFor: z.string() }),
    event({
      type: z.literal("cancel"),
      mode: z.enum(["stop", "wrap-up", "last-words"]),
      callId: z.string().optional(),
    }),
    event({ type: z.literal("steer"), text: z.string(), callId: z.string().optional() }),
    event({
      type: z.literal("notice"),
      reason: z.enum(["summary", "output-repair", "wrap-up", "empty-answer", "cut-answer", "no-report", "interrupted"]),
      text: z.string(),
    }),
    event({ type: z.literal("report"), childRunId: z.string(), childAgentId: z.string(), text: z.string() }),
    event({ type: z.literal("resume"), usedMs: amount, run: resumedRun.optional() }),
    event(runEnd),
  ]);
});

type Parsed = z.output<ReturnType<typeof storedEventSchema>>;
/** Lists are read-only in the union of events and not in the schema, which makes them. */
type Unchanged<T> = T extends object ? { readonly [Key in keyof T]: Unchanged<T[Key]> } : T;
/** Does not compile when the schema and the union of events are not the same. */
true satisfies Unchanged<Parsed> extends Unchanged<StoredEvent> ? true : never;
true satisfies Unchanged<StoredEvent> extends Unchanged<Parsed> ? true : never;

/** The loop keeps inputs and metadata of up to 100 levels; around them is the event. */
const MAX_DEPTH = 110;
const MAX_VALUES = 5_000_000;

/** What makes a value too much to look into; level by level, because a deep one would use up the stack. */
function excessOf(value: unknown): string | undefined {
  let level: object[] = isObject(value) ? [value] : [];
  let values = 0;
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return `more than ${MAX_DEPTH} levels`;
    const next: object[] = [];
    for (const each of level) {
      const inside: readonly unknown[] = Array.isArray(each) ? each : Object.values(each);
      values += inside.length;
      if (values > MAX_VALUES) return `more than ${MAX_VALUES} values`;
      for (const item of inside) if (isObject(item)) next.push(item);
    }
    level = next;
  }
  return undefined;
}

/** What it says of itself, as far as that is fit to be shown. */
function nameOf(value: unknown): string {
  const { seq, type } = isObject(value) ? (value as { seq?: unknown; type?: unknown }) : {};
  const number = Number.isSafeInteger(seq) ? ` ${seq}` : "";
  const word = typeof type === "string" && type.length <= 30 ? ` (${plainName(type)})` : "";
  return `Stored event${number}${word}`;
}

/** Only the first problem: the event is refused for one as for a hundred. */
function problemOf({ issues: [issue] }: z.ZodError): string {
  const field = issue === undefined || issue.path.length === 0 ? "it" : issue.path.map(plainName).join(".");
  switch (issue?.code) {
    case "invalid_type":
      return `${field} must be ${TYPE_WORDS[issue.expected] ?? `of type ${issue.expected}`}`;
    case "too_small":
      return `${field} must be at least ${issue.minimum}`;
    case "too_big":
      return `${field} must ${issue.origin === "array" ? "have" : "be"} at most ${issue.maximum}`;
    case "invalid_value":
      return `${field} must be ${issue.values.map((each) => JSON.stringify(each)).join(" or ")}`;
    case "unrecognized_keys":
      return `${field} has the field ${issue.keys.map(plainName)[0]}, which this version of sous does not know`;
    default:
      return `${field} is not of any kind this version of sous knows`;
  }
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
  nonoptional: "there",
};

/** Names can be any text, and the sentence is for a terminal. */
function plainName(name: PropertyKey): string {
  const text = String(name);
  return /^[\w-]{1,40}$/.test(text) ? text : "…";
}

/** The largest number of an event: in the keys of databases it has 28 bits. */
export const LAST_SEQ: number = 2 ** 28 - 1;

/** Two journals of one tree, or one that repeats itself, would corrupt the order of events. */
export function checkSeq(rootId: string, last: number, seq: number): void {
  if (!(seq > last)) throw new StoreError(`Tree ${rootId} already has event ${seq}; its last is ${last}`);
  if (seq > LAST_SEQ) throw new StoreError(`Tree ${rootId} is full: a tree has at most ${LAST_SEQ} events`);
}
