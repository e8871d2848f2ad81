/** One event as a row: what the key and the row of its run do not say already, as JSON, with long texts kept apart. */

import { createHash } from "node:crypto";
import { messageOf, StoreError } from "../../core/errors.ts";
import type { EventOf, RunIdentity, StoredEvent } from "../../core/event.ts";
import { isObject } from "../../core/schema.ts";
import { DamageError } from "../../core/store.ts";
import { utf8Length } from "../../core/usage.ts";
import { STORED_TYPES, versionOf } from "../../core/words/event-rows.ts";
import { isVersion, parseStoredEvent } from "./event-schema.ts";

export type EncodedEvent = {
  readonly type: string;
  /** `{ … }`, or `[{ … }, [[path, hash], …]]` when texts were taken out: no event of its own is a list. */
  readonly json: string;
  readonly blobs: readonly Blob[];
};

/** A text over 64 KB, kept once however often it occurs. */
export type Blob = { readonly hash: string; readonly text: string };

type EventRow = { readonly seq: number; readonly type: string; readonly json: string };

/** A fault of a row; told as a `StoreError`. */
class Damaged extends Error {
  override name = "Damaged";
}

const MAX_TEXT_BYTES = 64 * 1024;
/** Looked up for every event. */
const VERSIONS = Object.fromEntries(STORED_TYPES.map((type) => [type, versionOf(type)])) as Record<
  StoredEvent["type"],
  number
>;
const NO_BLOBS: readonly Blob[] = Object.freeze([]);

export function encodeEvent(event: StoredEvent): EncodedEvent {
  const whole = bodyOf(event);
  const ofTask = event.type === "run-start" ? takeFromTask(whole, event) : [];
  const json = toJson(whole, event);
  // A unit of UTF-16 is at most three bytes of UTF-8, so what is shorter than a third cannot hold a long text.
  if (json.length * 3 <= MAX_TEXT_BYTES && ofTask.length === 0) return { type: event.type, json, blobs: NO_BLOBS };
  const body: unknown = JSON.parse(json);
  const taken = [...ofTask, ...takeLongTexts(body)];
  if (taken.length === 0) return { type: event.type, json, blobs: NO_BLOBS };
  const refs = taken.map(({ path, hash }) => [path, hash]);
  return { type: event.type, json: JSON.stringify([body, refs]), blobs: taken };
}

/** A row is not trusted: whatever it holds, this returns an event or throws a `DamageError`. */
export function decodeEvent(
  row: EventRow,
  identity: RunIdentity,
  blob: (hash: string) => string | undefined,
): StoredEvent {
  try {
    const stored: unknown = JSON.parse(row.json);
    const body = Array.isArray(stored) ? putLongTextsBack(stored, blob) : stored;
    if (!isObject(body) || Array.isArray(body)) throw new Damaged("it is not an object");
    const { seq, type } = row;
    const { runId, agentId, parentId, path, depth } = identity;
    const head = { seq, runId, agentId, parentId, path, depth, type };
    const { version, fields } = "v" in body ? splitVersion(body) : { version: 1, fields: body };
    // First for the order of the fields, last so that no row can speak for another run.
    return parseStoredEvent({ ...head, ...fields, ...head }, version);
  } catch (error) {
    if (error instanceof StoreError) throw new DamageError(error.message, { cause: error });
    throw new DamageError(`Event ${row.seq} of run ${identity.runId} is damaged: ${messageOf(error)}`);
  }
}

/** The hashes of the texts a row refers to, each as often as it does; none when the row is damaged. */
export function blobsOf(json: string): string[] {
  if (!json.startsWith("[")) return [];
  try {
    const stored: unknown = JSON.parse(json);
    return Array.isArray(stored) ? refsOf(stored).map(({ hash }) => hash) : [];
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof Damaged) return [];
    throw error;
  }
}

function toJson(body: object, event: StoredEvent): string {
  try {
    return JSON.stringify(body);
  } catch (error) {
    throw new StoreError(`Event ${event.seq} of run ${event.runId} cannot be written as JSON: ${messageOf(error)}`);
  }
}

function splitVersion({ v: version, ...fields }: Record<string, unknown>): { version: number; fields: object } {
  if (!isVersion(version)) throw new Damaged("its version is not a whole number of at least 1");
  return { version, fields };
}

/** The part that the key and the row of the run do not say already. `v` is the version that last changed the event; without it, it is 1. */
function bodyOf(event: StoredEvent): object {
  const { seq, runId, agentId, parentId, path, depth, type, ...body } = event;
  const version = VERSIONS[type];
  return version === 1 ? body : { v: version, ...body };
}

type Path = readonly (string | number)[];
type TakenText = Blob & { readonly path: Path };

/** A task may be of any length, so its long texts go before there is JSON of them: that would be twice as much again. */
function takeFromTask(body: { task?: unknown }, { task }: EventOf<"run-start">): TakenText[] {
  const taken: TakenText[] = [];
  const content = task.content.map((part, index) => {
    const field = part.type === "text" ? "text" : "data";
    const text = part.type === "text" ? part.text : part.data;
    if (!isForBlobs(text)) return part;
    taken.push({ path: ["task", "content", index, field], hash: hashOf(text), text });
    return { ...part, [field]: "" };
  });
  body.task = { ...task, content };
  return taken;
}

/** Empties every long text in a value fresh from `JSON.parse`. With a stack of its own: a model may nest as deep as it likes. */
function takeLongTexts(body: unknown): TakenText[] {
  const taken: TakenText[] = [];
  const open: { value: Record<string, unknown>; path: Path }[] = isObject(body) ? [{ value: body, path: [] }] : [];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, path } = next;
    const isList = Array.isArray(value);
    for (const [key, part] of Object.entries(value)) {
      if (isObject(part)) open.push({ value: part, path: [...path, isList ? Number(key) : key] });
      if (typeof part !== "string" || !isForBlobs(part)) continue;
      taken.push({ path: [...path, isList ? Number(key) : key], hash: hashOf(part), text: part });
      value[key] = "";
    }
  }
  return taken;
}

/** True for a text over 64 KB. One that is not well-formed stays where it is: JSON can keep it, UTF-8 cannot. */
export function isForBlobs(text: string): boolean {
  return text.length * 3 > MAX_TEXT_BYTES && utf8Length(text) > MAX_TEXT_BYTES && text.isWellFormed();
}

/** SHA-256, as 64 hexadecimal digits. */
export function hashOf(text: string | Uint8Array): string {
  return createHash("sha256").update(text).digest("hex");
}

function putLongTextsBack(stored: readonly unknown[], blob: (hash: string) => string | undefined): unknown {
  const [body] = stored;
  for (const { path, hash } of refsOf(stored)) {
    const text = blob(hash);
    if (text === undefined) throw new Damaged(`the text ${hash} is missing or is another one`);
    let place: unknown = body;
    for (const key of path.slice(0, -1)) place = isObject(place) && Object.hasOwn(place, key) ? place[key] : undefined;
    const last = path.at(-1);
    if (last === undefined || !isObject(place) || !Object.hasOwn(place, last)) {
      throw new Damaged(`there is no place ${path.join(".")} for the text ${hash}`);
    }
    place[last] = text;
  }
  return body;
}

function refsOf(stored: readonly unknown[]): { path: Path; hash: string }[] {
  const [, refs] = stored;
  if (!Array.isArray(refs)) throw new Damaged("it does not say where its long texts belong");
  return refs.map((ref: unknown) => {
    const [path, hash]: unknown[] = Array.isArray(ref) ? ref : [];
    const isPath = Array.isArray(path) && path.every((key) => typeof key === "string" || typeof key === "number");
    if (!isPath || typeof hash !== "string") throw new Damaged("it does not say where its long texts belong");
    return { path, hash };
  });
}

/** The same text in nearly every case; else with the characters that cannot be kept, and `\`, written as `\u005c`. */
export function toColumn(text: string): string {
  if (!text.includes("\\") && !text.includes("\0") && text.isWellFormed()) return text;
  return text.replace(UNFIT, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function fromColumn(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(WRITTEN, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** A surrogate matches with the flag `u` only when its other half is missing. */
const UNFIT = /[\\\p{Cs}]|\0/gu;
const WRITTEN = /\\u([0-9a-f]{4})/g;
