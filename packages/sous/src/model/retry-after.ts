/** How long a provider asks to be left alone: in a header, or in the text of its error. */

export type Headers = Readonly<Record<string, string | undefined>>;

/** Milliseconds; undefined when it did not say. `text` is everything the error says. */
export function retryAfterMs(headers: Headers, text: string, now: number): number | undefined {
  return fromHeaders(headers, now) ?? fromText(text);
}

function fromHeaders(headers: Headers, now: number): number | undefined {
  const exact = toMilliseconds(headers["retry-after-ms"], 1);
  if (exact !== undefined) return exact;
  const value = headers["retry-after"];
  const seconds = toMilliseconds(value, 1000);
  if (seconds !== undefined || value === undefined) return seconds;
  // A date of HTTP names its day; without one `Date.parse` finds a date in almost anything.
  const date = /^[A-Z][a-z]{2}/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** Google sends no header but a `RetryInfo`; OpenAI writes it into the sentence. */
const IN_TEXT = /"retryDelay"\s*:\s*"([\d.]+)(s)"|\btry again in ([\d.]+)\s*(ms|s|m)\b/;

function fromText(text: string): number | undefined {
  const found = IN_TEXT.exec(text);
  if (found === null) return undefined;
  const unit = found[2] ?? found[4] ?? "s";
  return toMilliseconds(found[1] ?? found[3], unit === "ms" ? 1 : unit === "m" ? 60_000 : 1000);
}

function toMilliseconds(value: string | undefined, factor: number): number | undefined {
  if (value === undefined || value.trim() === "") return undefined;
  const number = Number(value);
  return Number.isFinite(number) && number >= 0 ? Math.ceil(number * factor) : undefined;
}
