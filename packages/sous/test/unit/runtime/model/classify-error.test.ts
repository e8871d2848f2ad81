import assert from "node:assert/strict";
import { test } from "node:test";
import {
  APICallError,
  InvalidResponseDataError,
  JSONParseError,
  LoadAPIKeyError,
  UnsupportedFunctionalityError,
} from "@ai-sdk/provider";
import { ModelError } from "../../../../src/core/errors.ts";
import type { ModelErrorKind } from "../../../../src/core/words/model-errors.ts";
import { classifyError } from "../../../../src/runtime/model/classify-error.ts";

const ID = "anthropic/claude-x";
const NOON = Date.parse("Sun, 15 Nov 2026 12:00:00 GMT");

function classify(error: unknown, phase: "request" | "stream" = "request", id = ID): ModelError {
  return classifyError(error, { id, phase, now: () => NOON });
}

/** The error as the provider packages throw it, with the real class. */
function http(statusCode: number, body: string, responseHeaders: Record<string, string> = {}): APICallError {
  let message = body;
  try {
    message = JSON.parse(body).error.message;
  } catch {}
  return new APICallError({
    message,
    url: "https://api",
    requestBodyValues: {},
    statusCode,
    responseHeaders,
    responseBody: body,
  });
}

function errorBody(message: string, more: object = {}): string {
  return JSON.stringify({ error: { message, ...more } });
}

const BY_STATUS: [name: string, error: unknown, kind: ModelErrorKind][] = [
  ["429", http(429, errorBody("Slow down", { type: "rate_limit_error" })), "rate_limit"],
  ["529 overloaded", http(529, errorBody("Overloaded", { type: "overloaded_error" })), "overloaded"],
  ["503", http(503, "upstream connect error"), "overloaded"],
  ["500", http(500, errorBody("Internal")), "overloaded"],
  ["502", http(502, "<html>Bad gateway</html>"), "overloaded"],
  ["504", http(504, ""), "overloaded"],
  ["408", http(408, "Request Timeout"), "network"],
  ["409", http(409, "Conflict"), "overloaded"],
  ["410", http(410, "Gone"), "invalid_request"],
  ["401", http(401, errorBody("Incorrect API key provided: sk-abc***xyz")), "auth"],
  ["403", http(403, errorBody("Not allowed in your region")), "auth"],
  ["400", http(400, errorBody("messages.0: bad role")), "invalid_request"],
  ["404", http(404, errorBody("model: nope")), "invalid_request"],
  ["422", http(422, errorBody("Unprocessable")), "invalid_request"],
];

const SPENT: [name: string, error: unknown][] = [
  [
    "OpenAI",
    http(
      429,
      errorBody("You exceeded your current quota, please check your plan and billing details.", {
        code: "insufficient_quota",
      }),
    ),
  ],
  [
    "OpenAI hard limit",
    http(400, errorBody("Billing hard limit has been reached", { code: "billing_hard_limit_reached" })),
  ],
  ["Anthropic credit", http(400, errorBody("Your credit balance is too low to access the Anthropic API."))],
  [
    "Anthropic limit",
    http(400, errorBody("You have reached your specified API usage limits. You will regain access on 2026-12-01.")),
  ],
  ["OpenRouter", http(402, errorBody("Insufficient credits"))],
  [
    "Google per day",
    http(
      429,
      '{"error":{"message":"You exceeded your current quota","details":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"},{"retryDelay":"34s"}]}}',
    ),
  ],
  [
    "Google without a delay",
    http(429, errorBody("You exceeded your current quota, please check your plan and billing details.")),
  ],
  [
    "in a stream",
    { message: "You exceeded your current quota", type: "insufficient_quota", code: "insufficient_quota" },
  ],
];

const TOO_LONG: [name: string, error: unknown][] = [
  ["Anthropic", http(400, errorBody("prompt is too long: 210000 tokens > 200000 maximum"))],
  [
    "Anthropic with output",
    http(400, errorBody("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000")),
  ],
  ["Anthropic bytes", http(413, errorBody("Request exceeds the maximum size", { type: "request_too_large" }))],
  [
    "OpenAI",
    http(400, errorBody("This model's maximum context length is 128000 tokens.", { code: "context_length_exceeded" })),
  ],
  ["OpenAI responses", http(400, errorBody("Your input exceeds the context window of this model."))],
  [
    "Google",
    http(400, errorBody("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).")),
  ],
  [
    "llama.cpp",
    http(400, errorBody("the request exceeds the available context size", { type: "exceed_context_size_error" })),
  ],
  ["vLLM", http(400, errorBody("The prompt (total length 9000) is longer than the maximum model length of 8192"))],
  [
    "Copilot",
    http(
      400,
      errorBody("prompt token count of 130000 exceeds the limit of 128000", {
        code: "model_max_prompt_tokens_exceeded",
      }),
    ),
  ],
  [
    "LM Studio in a stream",
    {
      message:
        "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
    },
  ],
];

const BROKEN: [name: string, error: unknown][] = [
  [
    "refused",
    new APICallError({
      message: "Cannot connect to API: connect ECONNREFUSED 127.0.0.1:1",
      url: "",
      requestBodyValues: {},
    }),
  ],
  [
    "fetch failed",
    new TypeError("fetch failed", { cause: Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" }) }),
  ],
  ["reset", Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" })],
  ["hang up", new Error("socket hang up")],
  ["terminated", new TypeError("terminated")],
  ["headers timeout", Object.assign(new Error("Headers Timeout Error"), { code: "UND_ERR_HEADERS_TIMEOUT" })],
  ["timeout", new DOMException("The operation was aborted due to timeout", "TimeoutError")],
];

test("each status has its kind", () => {
  for (const [name, error, kind] of BY_STATUS) assert.equal(classify(error).kind, kind, name);
});

test("spent money or quota is told apart from a limit that passes, and is not tried again", () => {
  for (const [name, error] of SPENT) {
    assert.equal(classify(error).kind, "spend_limit", name);
    assert.equal(classify(error).isRetryable, false, name);
  }
  const minute = http(
    429,
    '{"error":{"message":"You exceeded your current quota","details":[{"retryDelay":"34.5s"}]}}',
  );
  assert.deepEqual([classify(minute).kind, classify(minute).retryAfterMs], ["rate_limit", 34_500]);
});

test("a conversation that is too long is known from every provider's words", () => {
  for (const [name, error] of TOO_LONG) assert.equal(classify(error).kind, "context_length", name);
});

test("a broken connection is network before the stream and an interruption within it", () => {
  for (const [name, error] of BROKEN) {
    assert.equal(classify(error).kind, "network", name);
    assert.equal(classify(error, "stream").kind, "interrupted", name);
  }
});

test("an answer that cannot be read is an interruption, and its bytes are not repeated", () => {
  const unreadable = [
    new JSONParseError({ text: "{a spending limit of the context window", cause: new Error("x") }),
    new InvalidResponseDataError({ data: { a: 1 }, message: "Response stream ended without a finish reason." }),
    new Error("Expected a normalized Anthropic stream error"),
  ];
  for (const error of unreadable) {
    const { kind, message } = classify(error);
    assert.deepEqual(
      [kind, message],
      ["interrupted", `The answer of ${ID} broke off: it sent data that cannot be read`],
    );
  }
});

test("Retry-After is understood in seconds, as a date, in milliseconds and in the text", () => {
  const cases: [Record<string, string>, string, number | undefined][] = [
    [{ "retry-after": "7" }, "x", 7000],
    [{ "Retry-After": "1.5" }, "x", 1500],
    [{ "retry-after": "Sun, 15 Nov 2026 12:00:30 GMT" }, "x", 30_000],
    [{ "retry-after": "Sun, 15 Nov 2026 11:00:00 GMT" }, "x", 0],
    [{ "retry-after-ms": "250", "retry-after": "9" }, "x", 250],
    [{}, "Rate limit reached. Please try again in 20s.", 20_000],
    [{}, "Please try again in 120ms", 120],
    [{}, "Please try again in 7m12.5s.", 432_500],
    [{}, "Please try again in 1h2m3s", 3_723_000],
    [{}, "Please try again in 2 hours.", 7_200_000],
    [{}, "Please try again in 10 minutes and 30 seconds", 600_000],
    [{}, "Please try again in 3 seconds", 3000],
    [{}, "Please try again in 250 milliseconds", 250],
    [{}, "Please try again in 2 fortnights", undefined],
    [{}, "Please try again in a while", undefined],
    [{ "retry-after": "soon" }, "x", undefined],
    [{ "retry-after": "-3" }, "x", undefined],
    [{}, "x", undefined],
  ];
  for (const [headers, text, expected] of cases)
    assert.equal(classify(http(429, text, headers)).retryAfterMs, expected, JSON.stringify([headers, text]));
});

test("a refused key is answered with the name of its variable and never with a value", () => {
  const told = classify(http(401, errorBody("Incorrect API key provided: sk-abc123xyz")));
  assert.deepEqual(
    [told.kind, told.status, told.message],
    ["auth", 401, `${ID} did not accept the key (HTTP 401): check ANTHROPIC_API_KEY and what it may use`],
  );
  assert.equal(
    classify(new LoadAPIKeyError({ message: "missing" }), "request", "other/x").message,
    "other/x did not accept the key: check the key of its provider and what it may use",
  );
  const leak = classify(http(400, errorBody("bad header Bearer sk-live-123 for ghu_abc")));
  assert.equal(leak.message, `${ID} refused the request (HTTP 400): bad header [secret] for [secret]`);
});

test("a message is one line of bounded length", () => {
  const { message } = classify(http(500, errorBody(`a\n\n  b ${"x".repeat(5000)}`)));
  assert.match(message, /^anthropic\/claude-x is overloaded or failing \(HTTP 500\): a b x+ …$/);
  assert.ok(message.length < 400);
});

test("a request that the AI SDK cannot write for the provider is an invalid request", () => {
  const error = new UnsupportedFunctionalityError({ functionality: "file part media type video/mp4" });
  assert.equal(classify(error).kind, "invalid_request");
});

test("anything at all becomes a ModelError, and a ModelError stays itself", () => {
  const own = new ModelError("auth", "ours");
  assert.equal(classify(own), own);
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  for (const thing of [undefined, null, 3, "text", {}, [], circular, Symbol("s"), new Error("bug")]) {
    assert.equal(classify(thing).kind, "unknown");
    assert.equal(classify(thing, "stream").kind, "interrupted");
  }
});
