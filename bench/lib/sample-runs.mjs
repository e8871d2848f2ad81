/** Events as runs leave them, for stores that are measured without a run. */

const USAGE = {
  inputTokens: 1200,
  outputTokens: 180,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  totalTokens: 1380,
  estimated: false,
};

/** The identity of a root, or of a child of one. */
export function identityOf(runId, label, parent) {
  if (parent === undefined) return { runId, agentId: runId, parentId: null, path: label, depth: 0 };
  const { runId: parentId, path, depth } = parent;
  return { runId, agentId: runId, parentId, path: `${path}/${label}`, depth: depth + 1 };
}

export function startOf(who, task) {
  return {
    ...who,
    type: "run-start",
    agent: who.path.split("/").at(-1),
    nickname: undefined,
    label: who.path.split("/").at(-1),
    task: { role: "user", content: [{ type: "text", text: task }] },
    model: "mock/mock",
    tools: { hash: "0".repeat(16), bytes: 2, isDeepest: false },
    instructions: undefined,
    maxTurns: 10,
    rights: { use: ["work"], delegate: ["work"], deny: [], spawn: true },
    origin: undefined,
    call: undefined,
    summaryPrompt: undefined,
    timeoutMs: undefined,
    budget: undefined,
    terms: undefined,
  };
}

export function turnOf(who, turn) {
  return { ...who, type: "turn-start", turn, promptTokens: 1200, reserved: 0 };
}

export function answerOf(who, turn, text, calls = []) {
  const message = { role: "assistant", content: [{ type: "text", text }, ...calls] };
  const finish = calls.length === 0 ? "stop" : "tool-calls";
  return { ...who, type: "message-end", turn, message, finish, usage: USAGE, costUsd: null };
}

/** What the model says of a call, in its answer. */
export function toolCallOf(callId, input) {
  return { type: "tool-call", callId, toolName: "work", input };
}

export function callOf(who, callId, input) {
  return { ...who, type: "tool-call-start", callId, toolName: "work", input };
}

export function resultOf(who, callId, output) {
  const unused = { files: undefined, stack: undefined, metadata: undefined };
  return { ...who, type: "tool-call-end", callId, toolName: "work", output, isError: false, durationMs: 4, ...unused };
}

export function endOf(who, status, text) {
  const fault = status === "failed" ? { type: "tool", message: "It did not work" } : undefined;
  const sums = { turns: 1, toolCount: 0, usage: USAGE, costUsd: null, durationMs: 1200 };
  return { ...who, type: "run-end", status, stopReason: undefined, text, output: undefined, fault, ...sums };
}

/** Lines of words, as models and tools write them. */
export function proseOf(characters) {
  const line = "The quick brown fox jumps over the lazy dog, and a model says so at some length.\n";
  return line.repeat(Math.ceil(characters / line.length)).slice(0, characters);
}
