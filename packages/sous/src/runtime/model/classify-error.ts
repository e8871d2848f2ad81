/**
 * Reduces an error of a provider to one kind and one sentence. Errors are recognized by their shape and their text, because
 * importing the classes of the AI SDK would slow down every start of the program.
 */

import { ModelError } from "../../core/errors.ts";
import type { ModelErrorKind } from "../../core/words/model-errors.ts";
import { type ErrorFacts, isUnreadable, quote, readErrorFacts, retryAfterMs } from "./error-facts.ts";
import { keyVariable } from "./providers.ts";

type Circumstances = {
  /** `provider/model`. */
  id: string;
  /** `stream` once the provider has begun to answer. */
  phase: "request" | "stream";
  afterOutput?: boolean | undefined;
  /** Milliseconds since 1970, for a Retry-After that is a date. */
  now?: (() => number) | undefined;
};

/** Never throws; a `ModelError` is returned as it is, also one that an adapter has put into an error of its own. */
export function classifyError(error: unknown, circumstances: Circumstances): ModelError {
  const own = findModelError(error);
  if (own !== undefined) return own;
  const { id, phase, afterOutput, now = Date.now } = circumstances;
  const facts = readErrorFacts(error);
  const wait = retryAfterMs(facts.headers, facts.text, now());
  const kind = kindOf(facts, phase, wait !== undefined);
  return new ModelError(kind, sentenceOf(kind, facts, id), {
    cause: error,
    status: facts.status,
    // A server that refuses a call sends an error that can be read.
    afterOutput: afterOutput === true || isUnreadable(facts),
    retryAfterMs: kind === "rate_limit" || kind === "overloaded" ? wait : undefined,
  });
}

const MAX_CAUSE_DEPTH = 4;

function findModelError(error: unknown): ModelError | undefined {
  let current = error;
  for (let depth = 0; depth <= MAX_CAUSE_DEPTH && current instanceof Error; depth++) {
    if (current instanceof ModelError) return current;
    current = current.cause;
  }
  return undefined;
}

/** Out of money or of a quota that does not come back soon. */
const SPENT =
  /insufficient[_ ](quota|credits?|balance|funds)|billing_(hard_limit|not_active)|credit balance|spend(ing)? limit|usage limit[^\n]{0,400}regain|quota_exceeded|payment required|Per(Day|Month)Per/i;
/** Google also writes this when only the quota of a minute is used up; then it says how long to wait, too. */
const MAYBE_SPENT = /exceeded your current quota/i;

/** Every provider and server has its own words for a prompt that is too long. */
const TOO_LONG =
  /context_length|context[ _]length|maximum context|context[ _]window|context limit|context[ _]size|prompt is too long|input is too long|input token count[^\n]{0,400}exceeds|prompt token count[^\n]{0,400}exceeds|max_prompt_tokens|request_too_large|maximum model length/i;

const BROKEN_CONNECTION =
  /ECONN|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EPIPE|ENETUNREACH|EHOSTUNREACH|UND_ERR|socket hang up|other side closed|fetch failed|cannot connect|\bterminated\b|premature close|timed? ?out|TimeoutError|ConnectionRefused|ConnectionClosed/i;

/** Thrown by the AI SDK for a request that the provider does not support. */
const UNSUPPORTED =
  /^AI_(UnsupportedFunctionality|InvalidPrompt|InvalidArgument|NoSuchModel|NoSuchProviderReference)Error$/;
function kindOf(facts: ErrorFacts, phase: Circumstances["phase"], saysWhen: boolean): ModelErrorKind {
  const { name, status, text } = facts;
  // First, because unreadable text may contain any words.
  if (isUnreadable(facts)) return "interrupted";
  if (name === "AI_LoadAPIKeyError") return "auth";
  if (UNSUPPORTED.test(name)) return "invalid_request";
  if (status === 402 || SPENT.test(text) || (MAYBE_SPENT.test(text) && !saysWhen)) return "spend_limit";
  if (status === undefined) return kindWithoutStatus(facts, phase);
  if (status === 429) return "rate_limit";
  if (status === 413 || TOO_LONG.test(text)) return "context_length";
  if (status === 401 || status === 403) return "auth";
  if (status === 408) return "network";
  if (status === 409 || status >= 500) return "overloaded";
  return "invalid_request";
}

function kindWithoutStatus({ name, text }: ErrorFacts, phase: Circumstances["phase"]): ModelErrorKind {
  if (TOO_LONG.test(text)) return "context_length";
  if (phase === "stream") return "interrupted";
  // A call without an answer: the AI SDK says so without a status.
  return name === "AI_APICallError" || BROKEN_CONNECTION.test(text) ? "network" : "unknown";
}

function sentenceOf(kind: ModelErrorKind, facts: ErrorFacts, id: string): string {
  const status = facts.status === undefined ? "" : ` (HTTP ${facts.status})`;
  const because = quote(facts);
  switch (kind) {
    case "rate_limit":
      return `${id} asks to be called less often${status}${because}`;
    case "overloaded":
      return `${id} is overloaded or failing${status}${because}`;
    case "network":
      return `The connection to ${id} failed${status}${because}`;
    case "interrupted":
      return `The answer of ${id} broke off${because}`;
    // The message is not quoted: some providers repeat a part of the key.
    case "auth":
      return `${id} did not accept the key${status}: check ${keyVariable(id) ?? "the key of its provider"} and what it may use`;
    case "spend_limit":
      return `The account of ${id} has no credit or quota left${status}${because}`;
    case "context_length":
      return `The conversation is too long for ${id}${status}${because}`;
    case "output_schema":
    case "invalid_request":
      return `${id} refused the request${status}${because}${facts.status === 404 ? NOT_FOUND : ""}`;
    case "unknown":
      return `${id} failed${because}`;
    default:
      return kind satisfies never;
  }
}

/** The server may not be one for models at all. */
const NOT_FOUND = "; check the name of the model and provider.base_url";
