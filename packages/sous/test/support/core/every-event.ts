/** One event of every type with every field in use, and every place in it that can be made wrong. */

import type { EventOf, StoredEvent } from "../../../src/core/event.ts";

/** A field that is added anywhere does not compile until it is in use here. */
export type Filled<T> = T extends object ? { [Field in keyof T]-?: Filled<Exclude<T[Field], undefined>> } : T;
type Whole = { [Type in StoredEvent["type"]]: Filled<EventOf<Type>> };

const head = {
  seq: 7,
  time: Date.UTC(2026, 0, 1),
  runId: "01KDVDP9G0ROOTROOTROOTR001",
  agentId: "01KDVDP9G0ROOTROOTROOTR001",
  parentId: null,
  path: "lead",
  depth: 0,
} as const;

const usage = {
  inputTokens: 10,
  outputTokens: 2,
  cachedInputTokens: 3,
  cacheWriteTokens: 4,
  totalTokens: 12,
  estimated: true,
};
const provider = { scripted: { signature: "abc" } };
const text = { type: "text", text: "Look.", provider } as const;
const file = { type: "file", mediaType: "image/png", data: "aGk=", filename: "a.png", provider } as const;
const budget = { tokens: 1000, costUsd: 0.5, seconds: 60, executions: 3 };

export const EVERY_EVENT: Whole = {
  "run-start": {
    ...head,
    type: "run-start",
    agent: "lead",
    nickname: "Ada",
    label: "lead",
    task: { role: "user", content: [text, file] },
    model: "scripted/model",
    price: { input: 3, output: 15, cachedInput: 0.3, cacheWrite: 3.75, calls: { "scripted.web_search": 0.01 } },
    contextWindow: 200_000,
    tools: {
      hash: "0123456789abcdef",
      shown: [
        {
          name: "subagent_scout",
          description: "Finds files.",
          inputSchema: { type: "object" },
          category: "subagent",
          tier: "observe",
          effect: "idempotent",
          agent: "scout",
          provider: "scripted.web_search",
        },
      ],
      bytes: 120,
      isDeepest: false,
      withheld: ["subagent_scout"],
    },
    outputSchema: { type: "object" },
    instructions: "Be brief.",
    notes: "You work in /srv.",
    maxTurns: 10,
    rights: { use: ["grep"], delegate: ["grep"], deny: ["terminal"], spawn: true },
    origin: {
      kind: "branch",
      runId: "01KDVDP9G0ROOTROOTROOTR001",
      traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
      turn: 1,
      history: [
        { role: "user", content: [text] },
        {
          role: "assistant",
          content: [{ type: "tool-call", callId: "call_0", toolName: "grep", input: {}, provider }],
        },
        {
          role: "tool",
          content: [
            { type: "tool-result", callId: "call_0", toolName: "grep", output: "a:1", isError: false, files: [file] },
          ],
        },
      ],
    },
    call: { callId: "call_1", index: 0, background: true },
    summaryPrompt: "In one word.",
    summarizes: true,
    timeoutMs: 5000,
    budget,
    terms: {
      limits: {
        maxDepth: 3,
        defaultMaxTurns: 10,
        outputMaxSize: 4096,
        maxConcurrent: 5,
        onFull: "queue",
        summary: "auto",
        place: "children",
        children: budget,
      },
      conversation: { maxTokens: 100_000, minRetainTurns: 5, pruneThreshold: 0.8 },
      onExhausted: "wrap-up",
      onLiveChildren: "wait",
      requireAll: true,
      sharedBudget: "team",
      fanOut: { inputs: ["one", "two"], atOnce: 2, wholeAnswers: true },
      hasRules: true,
    },
    cwd: "/srv/shop",
    traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    placed: {
      rootId: "01KDVDP9G0ROOTROOTROOTR001",
      summary: { mode: "auto", maxBytes: 4096 },
      budgets: [{ name: "team", limits: { tokens: 1000, costUsd: 0.5, executions: 3 } }],
      asks: true,
    },
  },
  "turn-start": { ...head, type: "turn-start", turn: 1, promptTokens: 100, reserved: 612, reservedUsd: 0.5 },
  "message-end": {
    ...head,
    type: "message-end",
    turn: 1,
    message: {
      role: "assistant",
      content: [
        { type: "reasoning", text: "Hm.", provider },
        text,
        file,
        { type: "tool-call", callId: "call_1", toolName: "grep", input: { pattern: "x", deep: [{ a: 1 }] }, provider },
        {
          ...{ type: "provider", kind: "result", from: "scripted", callId: "ws_1", toolName: "web_search" },
          ...{ value: [{ url: "https://example.org" }], isError: true, provider },
        },
      ],
    },
    finish: "tool-calls",
    usage,
    costUsd: 0.01,
    providerCalls: { "scripted.web_search": 2 },
  },
  "tool-call-start": { ...head, type: "tool-call-start", callId: "call_1", toolName: "grep", input: { pattern: "x" } },
  "tool-call-end": {
    ...head,
    type: "tool-call-end",
    callId: "call_1",
    toolName: "grep",
    output: "nothing",
    isError: true,
    files: [file],
    durationMs: 1.5,
    stack: "Error: nothing\n    at grep",
    metadata: { error_type: "tool", list: [1, null, true] },
  },
  "outside-session": { ...head, type: "outside-session", server: "claude", sessionId: "session-1", continued: true },
  "outside-call": {
    ...head,
    type: "outside-call",
    callId: "outside_1",
    phase: "end",
    name: "Bash",
    kind: "execute",
    title: "npm test",
    input: { command: "npm test" },
    output: "3 failed",
    isError: true,
  },
  "approval-request": {
    ...head,
    type: "approval-request",
    callId: "call_1",
    toolName: "write",
    input: ["x"],
    origin: { server: "github", tool: "create/issue", definition: "9f8e7d6c" },
    toolReason: "Its description has changed.",
    target: { paths: ["/srv/docs/a.md"], sha256: "5b7a" },
  },
  "approval-end": { ...head, type: "approval-end", callId: "call_1", allowed: false, by: "person", reason: "No." },
  "budget-warning": { ...head, type: "budget-warning", message: "Token limit exceeded: 1200/1000" },
  retry: {
    ...head,
    type: "retry",
    attempt: 1,
    delayMs: 512.25,
    kind: "overloaded",
    message: "The provider is busy",
    spent: usage,
    costUsd: 0.02,
  },
  prune: { ...head, type: "prune", from: 1, dropped: 4, tokensBefore: 9000, tokensAfter: 4000 },
  truncation: {
    ...head,
    type: "truncation",
    subject: "report",
    of: "01KDVDP9G0ROOTROOTROOTR001",
    originalBytes: 9000,
    keptBytes: 4096,
  },
  "spawn-refused": {
    ...head,
    type: "spawn-refused",
    label: "scout",
    childPath: "lead/scout#2",
    waited: true,
    errorType: "quota",
    message: "Token limit exceeded: 12/10",
  },
  placed: {
    ...head,
    type: "placed",
    childRunId: "01KDVDP9G0CH1DCH1DCH1DC001",
    childAgentId: "01KDVDP9G0CH1DCH1DCH1DC001",
    childPath: "lead/scout",
    label: "scout",
    agent: "scout",
    call: { callId: "call_1", index: 0, background: true },
    budget,
  },
  stalled: { ...head, type: "stalled", seconds: 60, waitingFor: "the model" },
  cancel: { ...head, type: "cancel", mode: "last-words", callId: "call_1", mail: 4 },
  steer: { ...head, type: "steer", text: "Look closely.", callId: "call_1", mail: 5 },
  notice: { ...head, type: "notice", reason: "summary", text: "Sum up." },
  report: {
    ...head,
    type: "report",
    childRunId: "01KDVDP9G0CH1DCH1DCH1DC001",
    childAgentId: "01KDVDP9G0CH1DCH1DCH1DC001",
    text: "Seen.",
  },
  resume: {
    ...head,
    type: "resume",
    usedMs: 1200.5,
    attempt: 2,
    worker: "two on host-b",
    run: {
      agent: "scout",
      label: "scout",
      model: "scripted/model",
      call: { callId: "c1", index: 0, background: true },
      traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
      startedAt: 1_700_000_000_000,
      turns: 2,
      usage: {
        inputTokens: 30,
        outputTokens: 7,
        cachedInputTokens: 3,
        cacheWriteTokens: 2,
        totalTokens: 37,
        estimated: false,
      },
      retried: {
        inputTokens: 10,
        outputTokens: 1,
        cachedInputTokens: 0,
        cacheWriteTokens: 0,
        totalTokens: 11,
        estimated: true,
      },
      answeredSeq: 5,
    },
  },
  "run-end": {
    ...head,
    type: "run-end",
    status: "failed",
    stopReason: "turns",
    text: "So far a wall.",
    output: { hits: ["a:1"] },
    fault: { type: "model", message: "The provider is down", kind: "overloaded", stack: "Error: down" },
    turns: 2,
    toolCount: 3,
    usage,
    costUsd: 0.03,
    durationMs: 1234.5,
    usageBelow: usage,
    costBelowUsd: 0.01,
  },
};

export type Place = readonly (string | number)[];

/** Where anything may stand: what models, tools and schemas of others make. */
const FREE = new Set(["input", "output", "metadata", "scripted", "inputSchema", "outputSchema"]);

/** The way to every value of the event that the schema knows; what is inside of free values is left out. */
export function placesOf(value: unknown, way: Place = []): Place[] {
  if (typeof value !== "object" || value === null) return [way];
  const inside = Object.entries(value).flatMap(([key, item]) => {
    const here = [...way, Array.isArray(value) ? Number(key) : key];
    return FREE.has(key) && typeof item !== "string" ? [] : placesOf(item, here);
  });
  return way.length === 0 ? inside : [way, ...inside];
}

/** A copy with another value at this place; without it when the value is `undefined`. */
export function changed(event: unknown, place: Place, value: unknown): unknown {
  const copy: unknown = structuredClone(event);
  let at = copy as Record<string | number, unknown>;
  for (const step of place.slice(0, -1)) at = at[step] as Record<string | number, unknown>;
  const last = place.at(-1) ?? "";
  if (value === undefined) delete at[last];
  else at[last] = value;
  return copy;
}
