/** One fact as one line: JSON for programs, words for people. Nothing in it can act on a terminal. */

import { visibleJson } from "../core/clean-text.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";

export type LogFields = Readonly<Record<string, string | number | readonly string[]>>;

export type LogEntry = { time: number; level: LogLevel; event: string; fields: LogFields };

export function logLine(format: "json" | "pretty", { time, level, event, fields }: LogEntry): string {
  const ts = new Date(time).toISOString();
  if (format === "json") return toJson({ ts, level, event, ...fields });
  const words = Object.entries(fields).map(([name, value]) => `${name}=${toWord(value)}`);
  return [ts, level.toUpperCase().padEnd(5), event, ...words].join(" ");
}

/** As it is when nobody can mistake it, else in quotes. */
function toWord(value: LogFields[string]): string {
  const text = typeof value === "object" ? value.join(",") : String(value);
  return /^[\w.,:/#@+-]+$/.test(text) ? text : toJson(text);
}

function toJson(value: unknown): string {
  return visibleJson(JSON.stringify(value));
}
