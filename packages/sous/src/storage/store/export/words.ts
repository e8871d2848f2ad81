/** Values and texts of an export in words: times, amounts, files, and characters that would not be seen. */

import type { FilePart } from "../../../core/message.ts";
import type { RunRecord } from "../../../core/store.ts";
import { trimEndOf } from "../../../core/truncate.ts";
import type { Usage } from "../../../core/usage.ts";

/** `0.4 s`, `58 s`, `1 min 12 s`, `2 h 5 min`. */
export function timeInWords(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** The time that a run was at work. */
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

/** Before the reason. */
export const DAMAGED = "This tree is damaged: it is not whole here, and its figures may be too low.";

/** The cells of a run in the table of its tree: turns, tool calls, tokens, cost and time. */
export function figuresOf(record: RunRecord): string[] {
  const { turns, toolCount, usage, costUsd } = record;
  const tokens = tokensInWords(usage).replace(" tokens", "");
  const cost = costUsd === null ? "?" : costInWords(costUsd);
  return [String(turns), String(toolCount), tokens, cost, durationInWords(record)];
}

export function countInWords(count: number, one: string, many: string = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** Any value as a person reads it: text as it is, the rest as indented JSON. */
export function valueInWords(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, undefined, 2) ?? "");
}

/**
 * Calls `show` for every character that would be invisible, move a cursor or turn the text around. Line breaks and tabs
 * stay, and so do the joiner and the selectors that emoji are made of.
 */
export function showHidden(text: string, show = (name: string) => `⟨${name}⟩`): string {
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
