/** One fact as one line: JSON for programs, words for people. Nothing in it can act on a terminal. */

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

/** What JSON leaves as it is and a terminal acts on, or nobody sees, is written as an escape. */
function toJson(value: unknown): string {
  return JSON.stringify(value).replace(HIDDEN, (character) =>
    Array.from({ length: character.length }, (_, unit) => escapeUnit(character.charCodeAt(unit))).join(""),
  );
}

const HIDDEN = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

function escapeUnit(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, "0")}`;
}
