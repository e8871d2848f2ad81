/** Checks stored events that come from a database or a file, before anything trusts their type. */

import * as z from "zod";
import { StoreError } from "../../core/errors.ts";
import type { StoredEvent } from "../../core/event.ts";
import { isObject, isRecord, once } from "../../core/schema.ts";
import { EVENT_VERSION, ROWS, STORED_TYPES } from "../../core/words/event-rows.ts";
import { EVENT_STEPS } from "../../core/words/events.ts";
import { kindOf } from "../../core/words/kinds.ts";
import { kindSchemas } from "./kind-schemas.ts";

/**
 * One event as it comes out of a row or a file, where `version` of the events wrote it. Throws a `StoreError` that names its
 * number, its type and the field.
 *
 * A field that is not known is refused: no version wrote it, and it could be a restriction that would not be heeded. Only what
 * callers, models and tools hand over may hold more, and there it is dropped (`kind-schemas.ts`).
 */
export function parseStoredEvent(value: unknown, version: number = EVENT_VERSION): StoredEvent {
  const excess = excessOf(value);
  if (excess !== undefined) throw new StoreError(`${nameOf(value)} cannot be read: it has ${excess}`);
  const parsed = storedEventSchema().safeParse(version === EVENT_VERSION ? value : upgraded(value, version));
  if (!parsed.success) throw new StoreError(`${nameOf(value)} cannot be read: ${problemOf(parsed.error)}`);
  return parsed.data;
}

/** The event as this version would have stored it. */
function upgraded(value: unknown, version: number): unknown {
  if (version > EVENT_VERSION)
    throw new StoreError(
      `${nameOf(value)} has version ${version} and this sous knows version ${EVENT_VERSION}; use a newer sous`,
    );
  if (!isRecord(value)) return value;
  try {
    let event = value;
    for (let next = version + 1; next <= EVENT_VERSION; next++) event = EVENT_STEPS[next]?.(event) ?? event;
    return event;
  } catch (cause) {
    throw new StoreError(`${nameOf(value)} cannot be read: it is not an event of version ${version}`, { cause });
  }
}

/** A version is counted from 1. */
export function isVersion(version: unknown): version is number {
  return Number.isSafeInteger(version) && Number(version) >= 1;
}

/** The end of the year 9999: what is later has no date as RFC 3339 writes it. */
export const LATEST_TIME = 253_402_300_799_999;

/** Builds the schema from the rows of `core/words/events.ts`, on first use. */
export const storedEventSchema = once((): z.ZodType<StoredEvent> => {
  const kinds: Readonly<Record<string, z.ZodType>> = kindSchemas();
  const head = {
    seq: z.int().min(1),
    time: z.number().min(0).max(LATEST_TIME),
    runId: z.string(),
    agentId: z.string(),
    parentId: z.string().nullable(),
    path: z.string(),
    depth: z.int().min(0),
  };
  const events = STORED_TYPES.map((type) => {
    const fields = Object.entries(ROWS[type].fields).map(([name, word]) => {
      const schema = kinds[kindOf(word)];
      return [name, word.endsWith("?") ? schema?.optional() : schema];
    });
    return z.strictObject({ ...head, type: z.literal(type), ...Object.fromEntries(fields) });
  });
  return z.discriminatedUnion("type", events as never) as unknown as z.ZodType<StoredEvent>;
});

/** The loop keeps inputs and metadata of up to 100 levels; around them is the event. */
const MAX_DEPTH = 110;
const MAX_VALUES = 5_000_000;

/** Finds what makes a value too much to look into; level by level, because a deep one would use up the stack. */
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

/** Names an event by its own words, as far as they are fit to be shown. */
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
