/** Whole trees against a fake provider of a third party, over every protocol. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChatCompletionRequest, Fixture } from "@copilotkit/aimock";
import * as z from "zod";
import { agent } from "../../../../src/core/agent.ts";
import type { Clock } from "../../../../src/core/clock.ts";
import { tool } from "../../../../src/core/tool.ts";
import { resolveModel } from "../../../../src/runtime/model/resolve.ts";
import { run } from "../../../../src/runtime.ts";
import { MODELS, startAimock, usage } from "../../../support/runtime/model/aimock.ts";

/** Waits as asked, but its time passes by itself. */
function hastyClock(): Clock {
  let passed = 0;
  return {
    now: Date.now,
    monotonic: () => passed,
    timer(milliseconds, callback) {
      const timer = setTimeout(() => {
        passed += milliseconds;
        callback();
      });
      return { [Symbol.dispose]: () => clearTimeout(timer) };
    },
  };
}

const LEAD = "You are the lead.";
const SCOUT = "You are a scout.";

/** By the system prompt, under whichever role a protocol sends it. */
const lead = { predicate: (request: ChatCompletionRequest) => isInstructed(request, LEAD) };
const scout = { predicate: (request: ChatCompletionRequest) => isInstructed(request, SCOUT) };

function isInstructed({ messages }: ChatCompletionRequest, words: string): boolean {
  return messages.some(({ role, content }) => /system|developer/.test(role) && JSON.stringify(content).includes(words));
}

function call(name: string, input: object) {
  return { name, arguments: JSON.stringify(input) };
}

const searches = [call("grep", { pattern: "a" }), call("grep", { pattern: "b" })];

/** The lead asks two scouts at once; each of them searches twice at once, then answers. */
const tree: Fixture[] = [
  {
    match: { ...lead, hasToolResult: false },
    response: {
      toolCalls: [
        call("subagent_scout", { task: "Look at auth" }),
        call("subagent_scout", { task: "Look at billing" }),
      ],
      usage: usage(1000, 50),
    },
  },
  {
    match: { ...lead, hasToolResult: true },
    response: { content: "Both were looked at.", usage: usage(1200, 20) },
  },
  { match: { ...scout, hasToolResult: false }, response: { toolCalls: searches, usage: usage(300, 40) } },
  {
    match: { ...scout, userMessage: "auth", hasToolResult: true },
    response: { content: "auth is fine", usage: usage(400, 7) },
  },
  {
    match: { ...scout, userMessage: "billing", hasToolResult: true },
    response: { content: "billing is fine", usage: usage(500, 8) },
  },
];

/** Two calls of the lead, two of each scout. */
const TOTAL = { input: 1000 + 1200 + 300 + 400 + 300 + 500, output: 50 + 20 + 40 + 7 + 40 + 8 };

for (const id of MODELS) {
  test(`A4, F5: ${id} carries a parent and two children with parallel calls, and the usage adds up`, async () => {
    await using server = await startAimock(tree);
    const { result, searched } = await runTree(id, server.environment);
    assert.equal(result.text, "Both were looked at.");
    assert.equal(searched.length, 4);
    const paths = result.agents.map(({ path, status }) => `${path} ${status}`);
    assert.deepEqual(paths, ["lead completed", "lead/scout completed", "lead/scout#2 completed"]);
    assert.equal(result.usage.inputTokens, TOTAL.input);
    assert.equal(result.usage.outputTokens, TOTAL.output);
    assert.equal(result.usage.estimated, false);
    const sum = result.agents.reduce((total, each) => total + each.usage.totalTokens, 0);
    assert.equal(sum, result.usage.totalTokens);
    assert.equal(server.requests().length, 6);
  });

  test(`A4: with ${id} a tree survives a 429, a 500 and a connection cut inside a call, and the cut call is not run`, async () => {
    const troubles: Fixture[] = [
      {
        match: { ...lead, hasToolResult: true, sequenceIndex: 0 },
        response: { error: { message: "Slow down", type: "rate_limit_error" }, status: 429, retryAfter: 1 },
      },
      {
        match: { ...scout, userMessage: "auth", hasToolResult: true, sequenceIndex: 0 },
        response: { error: { message: "Oops", type: "server_error" }, status: 500 },
      },
      {
        match: { ...scout, userMessage: "billing", hasToolResult: false, sequenceIndex: 0 },
        // Google's calls arrive in one piece, so there the cut comes just before it.
        response: {
          ...(id.startsWith("google/") ? { content: "I look at billing now." } : {}),
          toolCalls: [call("grep", { pattern: "never run".repeat(20) })],
          usage: usage(300, 40),
        },
        chunkSize: 4,
        latency: 3,
        truncateAfterChunks: id.startsWith("google/") ? 3 : 5,
      },
    ];
    await using server = await startAimock([...troubles, ...tree]);
    const { result, searched, retries } = await runTree(id, server.environment);
    assert.equal(result.text, "Both were looked at.");
    assert.equal(result.status, "completed");
    assert.deepEqual(searched.toSorted(), ["a", "a", "b", "b"]);
    assert.deepEqual(retries.toSorted(), ["lead", "lead/scout", "lead/scout#2"]);
  });
}

async function runTree(id: string, environment: Record<string, string>) {
  const searched: string[] = [];
  const retries: string[] = [];
  const grep = tool({
    name: "grep",
    description: "Search",
    effect: "read",
    inputSchema: z.object({ pattern: z.string() }),
    execute({ pattern }) {
      searched.push(pattern);
      return `src/${pattern}.ts:1`;
    },
  });
  const model = await resolveModel(id, environment);
  const child = agent({ name: "scout", instructions: SCOUT, tools: [grep] });
  const result = await run(agent({ name: "lead", instructions: LEAD, model, subagents: [child] }), "Look around", {
    host: { clock: hastyClock() },
    onEvent: (event) => {
      if (event.type === "retry") retries.push(event.path);
    },
  });
  return { result, searched, retries };
}
