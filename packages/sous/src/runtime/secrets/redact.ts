/** Takes secrets out of texts: values that are known, and what has the shape of a key. What was taken out is marked. */

import { markOf, type Redactor } from "../../core/clean-text.ts";
import type { FilePart } from "../../core/message.ts";
import { isObject } from "../../core/schema.ts";
import { findDecoded, PieceRedactor } from "./decodings.ts";
import { asBytes, type KnownText, KnownTexts, spellingsOf } from "./known-texts.ts";
import { azureSecrets, KNOWN_SHAPES, urlPasswords } from "./shapes.ts";
import { tokenShapes } from "./token-shapes.ts";
import type { Secret } from "./variables.ts";

/** A part of a text that must not be kept. */
export type Span = {
  start: number;
  end: number;
  name: string;
  /** True for a value of one repeated character, in a longer text of that character. */
  isRepeated?: boolean;
};

/** Knows the shapes of keys, and these values in whatever spelling they appear. */
export function createRedactor(secrets: readonly Secret[]): Redactor {
  return new TextRedactor(secrets, true);
}

/**
 * Knows these values alone. For texts of which nothing else may be hidden: a model can write what has the shape of a key
 * around anything, but it does not know the values.
 */
export function createValueRedactor(secrets: readonly Secret[]): Redactor {
  return new TextRedactor(secrets, false);
}

/** The shortest value that is looked for, and less than the shortest thing with the shape of a key. */
const MIN_LENGTH = 8;
/**
 * Texts without a secret that are remembered: a task is looked at in the call, in the event that says so and at the start of the
 * child, a result when it comes and when it is recorded. To find one again takes a tenth of looking through it or less.
 */
const SHORT_TEXTS = 64;
const LONG_TEXTS = 4;
const LONG = 512;
const TOO_LARGE_TO_REMEMBER = 1 << 20;
/** No value that people or models make is deeper; a store could not keep it either. */
const MAX_DEPTH = 400;

type Fields = Readonly<Record<string, unknown>>;

class TextRedactor implements Redactor {
  readonly #known: KnownTexts;
  /** The values alone; undefined when there are none. */
  readonly #values: KnownTexts | undefined;
  readonly #cleanShort = new Set<string>();
  readonly #cleanLong: string[] = new Array<string>(LONG_TEXTS).fill("");
  #nextLong = 0;
  readonly #hidesShapes: boolean;

  constructor(secrets: readonly Secret[], hidesShapes: boolean) {
    const hidden = secrets.filter(canBeHidden(secrets));
    const spellings: KnownText[] = hidden.flatMap(spellingsOf);
    this.#hidesShapes = hidesShapes;
    this.#known = new KnownTexts(hidesShapes ? [...spellings, ...KNOWN_SHAPES] : spellings);
    this.#values = hidden.length === 0 ? undefined : new KnownTexts([...spellings, ...hidden.flatMap(asBytes)]);
  }

  text(text: string): string {
    const { length } = text;
    if (length < MIN_LENGTH) return text;
    if (length < LONG ? this.#cleanShort.has(text) : this.#cleanLong.includes(text)) return text;
    const redacted = this.#redact(text);
    if (redacted === text && length < TOO_LARGE_TO_REMEMBER) this.#remember(text);
    return redacted;
  }

  #remember(clean: string): void {
    if (clean.length < LONG) {
      if (this.#cleanShort.size === SHORT_TEXTS) this.#cleanShort.clear();
      this.#cleanShort.add(clean);
      return;
    }
    this.#cleanLong[this.#nextLong] = clean;
    this.#nextLong = (this.#nextLong + 1) % LONG_TEXTS;
  }

  value<T>(value: T): T {
    // Every text of the copy is a text in the original, so the copy has the same type.
    return this.#value(value, 0) as T;
  }

  file(file: FilePart): FilePart {
    const { data, filename } = file;
    const isAddress = data.startsWith("http://") || data.startsWith("https://");
    const shown = this.text(data);
    const name = filename === undefined ? undefined : this.text(filename);
    if (shown === data && name === filename) return file;
    const named = name === undefined ? file : { ...file, filename: name };
    if (shown === data || isAddress) return { ...named, data: shown };
    return { ...named, mediaType: "text/plain", data: btoa(markOf("a file that holds a secret")) };
  }

  pieces(): (piece: string) => string {
    const values = this.#values;
    // A piece does not come again, so none is remembered.
    if (values === undefined) return (piece) => this.#redact(piece);
    const redactor = new PieceRedactor((text) => values.find(text), markOf);
    return (piece) => this.#redact(redactor.next(piece));
  }

  #redact(text: string): string {
    if (text.length < MIN_LENGTH) return text;
    const known = this.#known.find(text);
    const tokens = this.#hidesShapes ? tokenShapes(text) : undefined;
    const passwords = this.#hidesShapes ? urlPasswords(text) : undefined;
    const azure = this.#hidesShapes ? azureSecrets(text) : undefined;
    const values = this.#values;
    const decoded = values === undefined ? undefined : findDecoded(text, (plain) => values.find(plain));
    const found = known ?? tokens ?? passwords ?? azure ?? decoded;
    if (found === undefined) return text;
    return withoutSpans(
      text,
      [known, tokens, passwords, azure, decoded].flatMap((spans) => spans ?? []),
    );
  }

  #value(value: unknown, depth: number): unknown {
    if (typeof value === "string") return this.text(value);
    if (!isObject(value)) return value;
    if (depth > MAX_DEPTH) return markOf("too deep to look into");
    return Array.isArray(value) ? this.#list(value, depth) : this.#fields(value, depth);
  }

  #list(list: readonly unknown[], depth: number): readonly unknown[] {
    let copy: unknown[] | undefined;
    for (let index = 0; index < list.length; index++) {
      const item = list[index];
      const shown = this.#value(item, depth + 1);
      if (shown === item) continue;
      copy ??= [...list];
      copy[index] = shown;
    }
    return copy ?? list;
  }

  #fields(fields: Fields, depth: number): Fields {
    let copy: Map<string, unknown> | undefined;
    let counts: Map<string, number> | undefined;
    for (const key in fields) {
      const field = fields[key];
      const name = this.text(key);
      const shown = this.#value(field, depth + 1);
      if (copy === undefined && (name !== key || shown !== field)) copy = fieldsBefore(key, fields);
      if (copy === undefined) continue;
      counts ??= new Map();
      copy.set(freeName(name, copy, counts), shown);
    }
    return copy === undefined ? fields : Object.fromEntries(copy);
  }
}

function fieldsBefore(key: string, fields: Fields): Map<string, unknown> {
  const before = new Map<string, unknown>();
  for (const [name, field] of Object.entries(fields)) {
    if (name === key) break;
    before.set(name, field);
  }
  return before;
}

/** Two names that are redacted alike stay two fields. `counts` has the last number that each name was given. */
function freeName(name: string, taken: ReadonlyMap<string, unknown>, counts: Map<string, number>): string {
  let free = name;
  while (taken.has(free)) {
    const count = (counts.get(name) ?? 1) + 1;
    counts.set(name, count);
    free = `${name} ${count}`;
  }
  return free;
}

/** A mark must not be redacted itself, or a text would change each time it is looked at. */
function canBeHidden(secrets: readonly Secret[]): (secret: Secret) => boolean {
  const marks = secrets.map(({ name }) => markOf(name));
  return ({ value }) => value.length >= MIN_LENGTH && !marks.some((mark) => mark.includes(value));
}

/** Spans that overlap become one, named after the first: what is left of a secret is still part of it. */
function withoutSpans(text: string, spans: readonly Span[]): string {
  const inOrder = spans.toSorted((left, right) => left.start - right.start);
  let result = "";
  let done = 0;
  let open: Span | undefined;
  for (const span of inOrder) {
    if (open !== undefined && span.start < open.end) {
      if (span.end > open.end) open = { ...open, end: span.end };
      continue;
    }
    if (open !== undefined) {
      result += text.slice(done, open.start) + markOf(open.name);
      done = open.end;
    }
    open = span;
  }
  if (open === undefined) return text;
  return result + text.slice(done, open.start) + markOf(open.name) + text.slice(open.end);
}
