/** What is recorded of a call that an agent outside makes by itself: it may say anything, and any amount of it. */

import { cleanText } from "./clean-text.ts";
import type { OutsideCall } from "./outside-agent.ts";
import type { Redactor } from "./redactor.ts";
import { cutNotice, truncateMiddle, truncateUtf8, truncateUtf8Start } from "./truncate.ts";
import { utf8Length } from "./usage.ts";

const MAX_WORDS = 200;
const MAX_BYTES = 4096;
/** An input that is too long becomes the beginning of its JSON: quoted again, it is at most twice as long. */
const MAX_CUT_INPUT = 2000;
/** Levels of an input; the store reads few more. */
const MAX_DEPTH = 50;
/** Far more than is kept. */
const MAX_CLEANED = 100_000;
/** With the notice about the cut it has at most `MAX_BYTES`. */
const MAX_CUT_OUTPUT = MAX_BYTES - 96;

/**
 * Without secrets and within bounds: 200 characters for each name, 4 KB for the input as JSON and for the output. Secrets go
 * before anything is cut, because half a secret is no longer known as one. Given its own result it changes nothing, so that a
 * rerun records the same.
 */
export function boundOutsideCall(call: OutsideCall, redactor: Redactor): OutsideCall {
  const words = (text: string): string => cutWords(clean(text.slice(0, MAX_CLEANED), redactor));
  const start = {
    callId: cutWords(call.callId),
    phase: call.phase,
    name: words(call.name),
    kind: words(call.kind),
    title: words(call.title),
    input: boundInput(call.input, redactor),
  };
  if (call.phase === "start") return start;
  return { ...start, output: boundOutput(call.output ?? "", redactor), isError: call.isError === true };
}

function clean(text: string, redactor: Redactor): string {
  return redactor.text(cleanText(text));
}

function cutWords(text: string): string {
  return text.length <= MAX_WORDS ? text : text.slice(0, MAX_WORDS).toWellFormed();
}

function boundOutput(output: string, redactor: Redactor): string {
  if (output.length <= MAX_CLEANED) {
    const text = clean(output, redactor);
    return utf8Length(text) <= MAX_BYTES ? text : truncateMiddle(text, MAX_CUT_OUTPUT).text;
  }
  // The middle is dropped anyway, and a secret that is cut at its edges is far from the text that stays.
  const head = truncateUtf8(clean(output.slice(0, MAX_CLEANED / 2), redactor), MAX_CUT_OUTPUT / 2);
  const tail = truncateUtf8Start(clean(output.slice(-MAX_CLEANED / 2), redactor), MAX_CUT_OUTPUT / 2);
  const bytes = utf8Length(output);
  return head.text + cutNotice(bytes - head.keptBytes - tail.keptBytes, bytes) + tail.text;
}

function boundInput(input: unknown, redactor: Redactor): unknown {
  if (isDeeper(input, MAX_DEPTH)) return cutInput(redactor.text(jsonOf(input)));
  const json = jsonOf(redactor.value(input));
  return utf8Length(json) <= MAX_BYTES ? JSON.parse(json) : cutInput(json);
}

function cutInput(json: string): string {
  return `${truncateUtf8(json, MAX_CUT_INPUT).text}…`;
}

/** `null` for what has no JSON, such as a circle. */
function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch {
    return "null";
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeper(item, levels - 1));
}
