/** No field of any event keeps a secret that a person or a program wrote, and nothing is copied when there is none. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { DEFAULT_CONVERSATION } from "../../../../src/core/conversation.ts";
import type { DeltaBody, PieceBody, StoredBody } from "../../../../src/core/event.ts";
import type { AssistantMessage, FilePart } from "../../../../src/core/message.ts";
import { toStoredLimits } from "../../../../src/core/units.ts";
import { noUsage } from "../../../../src/core/usage.ts";
import { STORED_TYPES } from "../../../../src/core/words/event-rows.ts";
import { DEFAULT_LIMITS } from "../../../../src/core/words/limits.ts";
import { redactBody, redactDelta, redactPiece } from "../../../../src/runtime/events/redact-event.ts";
import { createRedactor } from "../../../../src/runtime/secrets/redact.ts";
import type { Filled } from "../../../support/core/every-event.ts";
import { randomText } from "../../../support/runtime/secrets/made-up-keys.ts";
import { journalOn, LEAD, steer, textDelta, WritesInHand } from "./journal-fixtures.ts";

const KEY = randomText("in an event", 30);
const TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const MARK = "[redacted: SERVICE_KEY]";
const redactor = createRedactor([{ name: "SERVICE_KEY", value: KEY }]);

const provider = { acme: { signature: "signed" } };
const budget = { tokens: 1000, costUsd: 0.5, seconds: 60, executions: 3 };

function fileWith(text: string) {
  return {
    type: "file",
    mediaType: "text/plain",
    data: btoa(text),
    filename: `${text}.txt`,
    provider,
  } as const satisfies FilePart;
}

function textOf(text: string) {
  return { type: "text", text, provider } as const;
}

function answerWith(text: string) {
  return {
    role: "assistant",
    content: [
      { type: "reasoning", text: `I think ${text}`, provider },
      textOf(`I say ${text}`),
      fileWith(text),
      { type: "tool-call", callId: "call-1", toolName: `run ${text}`, input: { command: [text] }, provider },
      {
        ...{ type: "provider", kind: "result", from: "acme", callId: "call-2", toolName: text, isError: true },
        ...{ value: [text], provider },
      },
    ],
  } as const satisfies AssistantMessage;
}

type Body = StoredBody | Exclude<DeltaBody, PieceBody>;
/** A field that is added anywhere does not compile until this test says whether it may hold a secret. */
type Bodies = { [Type in Body["type"]]: Filled<Extract<Body, { type: Type }>> };

/** One body of each kind with every field in use, and this text wherever somebody could have written it. */
function bodiesWith(text: string): Bodies {
  const task = { role: "user", content: [textOf(text), fileWith(text)] } as const;
  const result = { type: "tool-result", callId: "call-1", toolName: text, output: text, isError: false } as const;
  const results = [{ ...result, files: [fileWith(text)] }];
  const limit = { of: "tree", unit: "tokens", limit: 10, spent: 8, reserved: 1 } as const;
  return {
    "run-start": {
      type: "run-start",
      agent: "lead",
      nickname: text,
      label: text,
      task,
      model: "acme/one",
      price: { input: 1, output: 2, cachedInput: 0.1, cacheWrite: 1, calls: { "acme.search": 0.01 } },
      contextWindow: 200_000,
      tools: {
        hash: "0123456789abcdef",
        shown: [
          {
            name: "grep",
            description: text,
            inputSchema: { description: text },
            category: "search",
            tier: "observe",
            effect: "read",
            agent: "scout",
            provider: "acme.search",
          },
        ],
        bytes: 2,
        isDeepest: false,
        withheld: ["grep"],
      },
      outputSchema: { description: text },
      instructions: `Use ${text}.`,
      notes: `Mind ${text}.`,
      maxTurns: 10,
      rights: { use: [], delegate: [], deny: [], spawn: false },
      origin: {
        kind: "branch",
        runId: "run-0",
        turn: 1,
        history: [task, answerWith(text), { role: "tool", content: results }],
        traceparent: TRACE,
      },
      call: { callId: "call-0", index: 0, background: true },
      summaryPrompt: text,
      summarizes: true,
      timeoutMs: 5000,
      budget,
      cwd: `/srv/${text}`,
      traceparent: TRACE,
      placed: {
        rootId: "run-1",
        summary: { mode: "auto", maxBytes: 4096 },
        budgets: [{ name: "run-1", limits: { tokens: 10, costUsd: 1, executions: 2 } }],
        asks: true,
      },
      terms: {
        limits: { ...toStoredLimits(DEFAULT_LIMITS), children: budget },
        conversation: DEFAULT_CONVERSATION,
        onExhausted: "wrap-up",
        onLiveChildren: "wait",
        requireAll: true,
        sharedBudget: "team",
        fanOut: { inputs: [text], atOnce: 1, wholeAnswers: true },
        hasRules: true,
      },
    },
    "turn-start": { type: "turn-start", turn: 1, promptTokens: 10, reserved: 20, reservedUsd: 0.5 },
    "message-end": {
      type: "message-end",
      turn: 1,
      message: answerWith(text),
      finish: "stop",
      usage: noUsage(),
      costUsd: 0,
      providerCalls: { "acme.search": 2 },
    },
    "tool-call-start": { type: "tool-call-start", callId: "call-1", toolName: text, input: { [text]: [text] } },
    "tool-call-end": {
      type: "tool-call-end",
      callId: "call-1",
      toolName: text,
      output: `It says ${text}`,
      isError: true,
      durationMs: 3,
      stack: `Error: ${text}\n    at a.ts:1:1`,
      metadata: { deep: [{ [text]: text }] },
      files: [fileWith(text), fileWith("plain")],
    },
    "outside-session": { type: "outside-session", server: "claude", sessionId: "session-1", continued: false },
    "outside-call": {
      type: "outside-call",
      callId: "call-1",
      phase: "end",
      name: text,
      kind: text,
      title: `Runs ${text}`,
      input: { [text]: [text] },
      output: `It says ${text}`,
      isError: false,
    },
    "approval-request": {
      type: "approval-request",
      callId: "call-1",
      toolName: text,
      input: text,
      origin: { server: text, tool: text, definition: "0123456789abcdef" },
      toolReason: text,
      target: { paths: [text], sha256: "5b7a" },
    },
    "approval-end": { type: "approval-end", callId: "call-1", allowed: false, by: "person", reason: `No: ${text}` },
    "budget-warning": { type: "budget-warning", message: text },
    retry: {
      type: "retry",
      attempt: 1,
      delayMs: 10,
      kind: "auth",
      message: `Incorrect key: ${text}`,
      spent: noUsage(),
      costUsd: 0,
    },
    prune: { type: "prune", from: 1, dropped: 2, tokensBefore: 30, tokensAfter: 10 },
    truncation: { type: "truncation", subject: "report", of: "call-1", originalBytes: 30, keptBytes: 10 },
    "spawn-refused": {
      ...{ type: "spawn-refused", label: text, childPath: "lead/scout", waited: true },
      ...{ errorType: "invalid_input", message: text },
    },
    placed: {
      ...{ type: "placed", childRunId: "run-2", childAgentId: "run-2", childPath: "lead/scout", label: text },
      ...{ agent: "scout", call: { callId: "call-0", index: 0, background: true }, budget },
    },
    stalled: { type: "stalled", seconds: 30, waitingFor: `the tool ${text}` },
    cancel: { type: "cancel", mode: "stop", callId: "call-1", mail: 1 },
    steer: { type: "steer", text, callId: "call-1", mail: 2 },
    notice: { type: "notice", reason: "summary", text },
    report: { type: "report", childRunId: "run-2", childAgentId: "run-2", text },
    resume: {
      type: "resume",
      usedMs: 5,
      worker: text,
      attempt: 2,
      // The start that it repeats was redacted before it was recorded.
      run: {
        agent: "lead",
        label: "lead",
        model: "acme/one",
        call: { callId: "call-0", index: 0, background: true },
        traceparent: TRACE,
        startedAt: 1,
        turns: 1,
        usage: noUsage(),
        retried: noUsage(),
        answeredSeq: 3,
      },
    },
    "run-end": {
      type: "run-end",
      status: "incomplete",
      stopReason: "turns",
      text,
      output: { answer: [text] },
      fault: { type: "model", kind: "overloaded", message: text, stack: text },
      turns: 1,
      toolCount: 1,
      usage: noUsage(),
      costUsd: 0,
      durationMs: 5,
      usageBelow: noUsage(),
      costBelowUsd: 0,
    },
    "tool-progress": { type: "tool-progress", callId: "call-1", toolName: text, text, done: 1, total: 2 },
    park: { type: "park" },
    "rate-wait": { type: "rate-wait", delayMs: 1 },
    "budget-wait": { type: "budget-wait", limit },
    "budget-near": { type: "budget-near", limit },
  };
}

function isStored(body: Body): body is StoredBody {
  return (STORED_TYPES as readonly string[]).includes(body.type);
}

/** With the secret in base64, too: a file holds it like that. */
function holdsKey(value: unknown): boolean {
  const json = JSON.stringify(value);
  return json.includes(KEY) || json.includes(btoa(KEY).slice(0, 20));
}

suite("B3.3: an event", () => {
  const [dirty, clean] = [bodiesWith(KEY), bodiesWith("nothing of interest")];

  const redacted = (body: Body) => (isStored(body) ? redactBody(body, redactor) : redactDelta(body, redactor));

  for (const type of Object.keys(clean) as Body["type"][]) {
    test(`an event of the kind ${type} keeps no secret, and its kind and fields`, () => {
      const shown = redacted(dirty[type]);
      assert.ok(!holdsKey(shown));
      assert.deepEqual(Object.keys(shown).sort(), Object.keys(dirty[type]).sort());
      assert.deepEqual(dirty[type], bodiesWith(KEY)[type], "what was given is as it was");
      if (holdsKey(dirty[type])) assert.match(JSON.stringify(shown), /\[redacted: SERVICE_KEY\]/);
    });

    test(`an event of the kind ${type} is the same object when there is no secret`, () => {
      assert.equal(redacted(clean[type]), clean[type]);
    });
  }

  test("an event says in every other word what it said", () => {
    const shown = redactBody(dirty["tool-call-end"], redactor);
    const held = btoa("[redacted: a file that holds a secret]");
    assert.deepEqual(shown, {
      ...dirty["tool-call-end"],
      toolName: MARK,
      output: `It says ${MARK}`,
      stack: `Error: ${MARK}\n    at a.ts:1:1`,
      metadata: { deep: [{ [MARK]: MARK }] },
      files: [{ ...fileWith(""), data: held, filename: `${MARK}.txt` }, fileWith("plain")],
    });
  });

  test("an event loses the signature of a thought that is no longer what was signed, and no other provider's data", () => {
    const shown = redactBody(dirty["message-end"], redactor);
    assert.equal(shown.type, "message-end");
    assert.deepEqual(shown.type === "message-end" ? shown.message.content.slice(0, 2) : [], [
      { type: "reasoning", text: `I think ${MARK}` },
      textOf(`I say ${MARK}`),
    ]);
  });

  test("an event that is a piece of a stream is redacted", () => {
    const clean = { type: "text-delta", text: "nothing" } as const;
    assert.equal(redactPiece(clean, redactor.pieces()), clean);
    assert.deepEqual(redactPiece({ type: "reasoning-delta", text: KEY }, redactor.pieces()), {
      type: "reasoning-delta",
      text: MARK,
    });
  });
});

test("B3.3: a journal hands no secret to its store nor to anybody who listens", () => {
  const store = new WritesInHand(true, "at once");
  const { journal, shown } = journalOn(store, { redactor });
  journal.append(LEAD, steer(`Use ${KEY}.`));
  journal.delta(LEAD, textDelta(`I use ${KEY}`));
  assert.deepEqual(shown, [`1:Use ${MARK}.`, `I use ${MARK}`]);
  assert.deepEqual(store.kept, [{ seq: 1, time: 1_000, ...LEAD, type: "steer", text: `Use ${MARK}.` }]);
});
