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

/** Google sends no header but a `RetryInfo`; OpenAI writes it into the sentence, as in "7m12s". */
const IN_TEXT = /"retryDelay"\s*:\s*"|\btry again in /;
/** One figure with its unit. */
const FIGURE = /^\s*([\d.]{1,20})\s*([a-z]{1,20})/;
const LONGEST_SPAN = 60;
const UNITS: Readonly<Record<string, number>> = { ms: 1, m: 60_000, s: 1000, h: 3_600_000, d: 86_400_000 };

function fromText(text: string): number | undefined {
  const found = IN_TEXT.exec(text);
  if (found === null) return undefined;
  const start = found.index + found[0].length;
  let rest = text.slice(start, start + LONGEST_SPAN);
  let sum: number | undefined;
  for (;;) {
    const figure = FIGURE.exec(rest);
    const milliseconds = figure === null ? undefined : toMilliseconds(figure[1], unitOf(figure[2] ?? ""));
    if (figure === null || milliseconds === undefined) return sum;
    sum = (sum ?? 0) + milliseconds;
    rest = rest.slice(figure[0].length);
  }
}

/** Not a number for a word that is no unit of time. */
function unitOf(word: string): number {
  const unit = word.startsWith("milli") ? "ms" : word === "ms" ? word : word.slice(0, 1);
  return UNITS[unit] ?? Number.NaN;
}

/** A number beyond all bounds is still one that is not waited for. */
function toMilliseconds(value: string | undefined, factor: number): number | undefined {
  if (value === undefined || value.trim() === "") return undefined;
  const milliseconds = Math.ceil(Number(value) * factor);
  return milliseconds >= 0 ? Math.min(milliseconds, Number.MAX_SAFE_INTEGER) : undefined;
}
