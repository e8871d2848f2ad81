/** Structured output against a fake provider of a third party: the schema on the wire, refusal, cut and repair. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Fixture } from "@copilotkit/aimock";
import * as z from "zod";
import { agent } from "../../../../src/core/agent.ts";
import type { RunResult } from "../../../../src/core/runtime.ts";
import { tool } from "../../../../src/core/tool.ts";
import { resolveModel } from "../../../../src/runtime/model/resolve.ts";
import { run } from "../../../../src/runtime.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { startAimock, usage } from "../../../support/runtime/model/aimock.ts";

const Hits = z.object({ hits: z.array(z.string()) });
const SCHEMA = {
  type: "object",
  properties: { hits: { type: "array", items: { type: "string" } } },
  required: ["hits"],
  additionalProperties: false,
};

// biome-ignore lint/suspicious/noExplicitAny: bodies of several protocols.
type Body = any;

/** Where each protocol has the schema. */
const PROVIDERS: readonly [id: string, sentSchema: (body: Body) => Body][] = [
  ["anthropic/claude-sonnet-4-5", (body) => body.output_config?.format?.schema],
  ["openai/gpt-5.5", (body) => body.text?.format?.schema],
  ["openai-chat/gpt-5.5", (body) => body.response_format?.json_schema?.schema],
  ["google/gemini-3-pro-preview", (body) => body.generationConfig?.responseJsonSchema],
];

const look = tool({
  name: "look",
  description: "Looks",
  effect: "read",
  inputSchema: z.object({}),
  execute: () => "seen",
});

async function ask(id: string, fixtures: Fixture[], { hasTools = false } = {}) {
  await using server = await startAimock(fixtures);
  const bodies: Body[] = [];
  const model = await resolveModel(id, server.environment, {
    fetch: async (input, init) => {
      bodies.push(JSON.parse(String(init?.body)));
      return withReason(await fetch(input, init));
    },
  });
  const scout = agent({ name: "scout", model, outputSchema: Hits, ...(hasTools && { tools: [look] }) });
  const store = openMemoryStore();
  const handle = run(scout, "Search.", { store });
  const events = [];
  for await (const event of handle) events.push(event);
  const result: RunResult = await handle.result;
  return { result, bodies, events };
}

/** In the responses protocol the server says that an answer is incomplete, and leaves out why. */
async function withReason(response: Response): Promise<Response> {
  const text = (await response.text())
    .replaceAll('"status":"incomplete"', '"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}')
    .replaceAll('"status":"failed"', '"status":"incomplete","incomplete_details":{"reason":"content_filter"}');
  return new Response(text, { status: response.status, headers: response.headers });
}

const GOOD = '{"hits":["a.ts:1"]}';
const BAD = '{"hits":7}';

const says = (content: string, finishReason?: string): Fixture["response"] => ({
  content,
  usage: usage(100, 10),
  ...(finishReason !== undefined && { finishReason }),
});

for (const [id, sentSchema] of PROVIDERS) {
  // Google is sent the schema as it is; the others want every object closed.
  const schemaOf = (body: Body) => sentSchema(body) && { additionalProperties: false, ...sentSchema(body) };
  const refusal = id.startsWith("anthropic") ? "refusal" : "content_filter";

  suite(id, () => {
    test("the first request carries the schema, and one request is enough", async () => {
      const { result, bodies } = await ask(id, [{ match: {}, response: says(GOOD) }]);
      assert.deepEqual([result.status, result.output, result.turns], ["completed", { hits: ["a.ts:1"] }, 1]);
      assert.deepEqual(bodies.map(schemaOf), [SCHEMA]);
    });

    test("every turn of an agent with tools carries the schema and the tools, and forces none", async () => {
      const { result, bodies } = await ask(
        id,
        [
          {
            match: { hasToolResult: false },
            response: { toolCalls: [{ name: "look", arguments: "{}" }], usage: usage(100, 10) },
          },
          { match: { hasToolResult: true }, response: says(GOOD) },
        ],
        { hasTools: true },
      );
      assert.deepEqual([result.status, result.turns], ["completed", 2]);
      assert.deepEqual(bodies.map(schemaOf), [SCHEMA, SCHEMA]);
      for (const body of bodies) {
        const text = JSON.stringify([body.tools, body.tool_choice, body.toolConfig]);
        assert.match(text, /"look"/);
        assert.doesNotMatch(text, /"json"|"any"|"ANY"|"required"\]/, "no tool for the answer and no forced call");
      }
    });

    test("an answer of another shape is repaired in one more turn, which is counted and recorded", async () => {
      const { result, bodies, events } = await ask(id, [
        { match: { sequenceIndex: 0 }, response: says(BAD) },
        { match: {}, response: says(GOOD) },
      ]);
      assert.deepEqual([result.status, result.output, result.turns], ["completed", { hits: ["a.ts:1"] }, 2]);
      assert.deepEqual(bodies.map(schemaOf), [SCHEMA, SCHEMA]);
      const notices = events.filter((event) => event.type === "notice").map(({ reason }) => reason);
      assert.deepEqual(notices, ["output-repair"]);
    });

    test("a refusal ends as refused, without a repair", async () => {
      const { result, bodies } = await ask(id, [{ match: {}, response: says("No.", refusal) }]);
      assert.deepEqual([result.status, result.error?.type, bodies.length], ["refused", "refused", 1]);
    });

    test("a refusal in the repair ends as refused too", async () => {
      const { result, bodies } = await ask(id, [
        { match: { sequenceIndex: 0 }, response: says(BAD) },
        { match: {}, response: says("No.", refusal) },
      ]);
      assert.deepEqual([result.status, result.error?.type, bodies.length], ["refused", "refused", 2]);
    });

    test("a cut answer continues, and its continuation is not held to the schema", async () => {
      const { result, bodies } = await ask(id, [
        { match: { sequenceIndex: 0 }, response: says('{"hits":["a.t', "length") },
        { match: {}, response: says('s:1"]}') },
      ]);
      assert.deepEqual([result.status, result.output, result.turns], ["completed", { hits: ["a.ts:1"] }, 2]);
      assert.deepEqual(bodies.map(schemaOf), [SCHEMA, undefined]);
    });

    test("an answer that is cut in the repair fails as cut, not as one of another shape", async () => {
      const { result } = await ask(id, [
        { match: { sequenceIndex: 0 }, response: says(BAD) },
        { match: {}, response: says('{"hits":["a.t', "length") },
      ]).catch((error: unknown) => error as { result: RunResult });
      assert.deepEqual([result.status, result.error?.type], ["failed", "model"]);
      assert.match(result.error?.message ?? "", /^The answer was cut at the output limit before its JSON was complete/);
    });

    test("a provider that refuses the schema is asked again without it, and not with it again", async () => {
      const rejection = { error: { message: "Invalid schema for response_format", type: "invalid_request_error" } };
      const { result, bodies, events } = await ask(
        id,
        [
          { match: { sequenceIndex: 0 }, response: { ...rejection, status: 400 } },
          {
            match: { hasToolResult: false },
            response: { toolCalls: [{ name: "look", arguments: "{}" }], usage: usage(100, 10) },
          },
          { match: { hasToolResult: true }, response: says(GOOD) },
        ],
        { hasTools: true },
      );
      assert.deepEqual([result.status, result.output], ["completed", { hits: ["a.ts:1"] }]);
      assert.deepEqual(bodies.map(schemaOf), [SCHEMA, undefined, undefined]);
      const retries = events.filter((event) => event.type === "retry").map(({ kind, delayMs }) => [kind, delayMs]);
      assert.deepEqual(retries, [["output_schema", 0]]);
    });
  });
}

/** The events of a stream, as a server sends them. */
function streamOf(events: readonly object[], isNamed: boolean): Response {
  const lines = events.map((event) => {
    const name = isNamed && "type" in event ? `event: ${String(event.type)}\n` : "";
    return `${name}data: ${JSON.stringify(event)}\n\n`;
  });
  return new Response(`${lines.join("")}data: [DONE]\n\n`, { headers: { "content-type": "text/event-stream" } });
}

const chunk = (delta: object, finish_reason: string | null) => ({
  id: "c",
  choices: [{ index: 0, delta, finish_reason }],
});
const item = { type: "message", id: "m", role: "assistant", status: "completed" };
const said = { content: [{ type: "refusal", refusal: "I will not." }] };

const REFUSALS: readonly [id: string, events: readonly object[]][] = [
  [
    "openai-chat/gpt-5.5",
    [chunk({ role: "assistant", refusal: "I will " }, null), chunk({ refusal: "not." }, null), chunk({}, "stop")],
  ],
  [
    "openai/gpt-5.5",
    [
      { type: "response.created", response: { id: "r", created_at: 1, model: "gpt-5.5" } },
      { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
      { type: "response.refusal.delta", item_id: "m", output_index: 0, content_index: 0, delta: "I will not." },
      { type: "response.refusal.done", item_id: "m", output_index: 0, content_index: 0, refusal: "I will not." },
      { type: "response.output_item.done", output_index: 0, item: { ...item, ...said } },
      { type: "response.completed", response: { usage: { input_tokens: 9, output_tokens: 3 } } },
    ],
  ],
];

for (const [id, events] of REFUSALS) {
  test(`the refusal that ${id} writes in place of an answer ends as refused`, async () => {
    let requests = 0;
    const model = await resolveModel(
      id,
      { OPENAI_API_KEY: "test" },
      {
        fetch: async () => {
          requests += 1;
          return streamOf(events, id.startsWith("openai/"));
        },
      },
    );
    const result = await run(agent({ name: "scout", model, outputSchema: Hits }), "Search.").result;
    assert.deepEqual([result.status, result.text, requests], ["refused", "I will not.", 1]);
  });
}
