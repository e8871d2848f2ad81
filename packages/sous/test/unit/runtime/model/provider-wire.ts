/** Streams of the real protocols in which the provider runs a tool of its own, and a model that gets one after the other. */

import { resolveModel } from "../../../../src/runtime/model/resolve.ts";

const KEYS = { ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k", GEMINI_API_KEY: "k" };

type Body = Record<string, unknown>;

/** `bodies` are the requests so far. */
export async function wireModel(id: string, streams: readonly (readonly Body[])[]) {
  // biome-ignore lint/suspicious/noExplicitAny: requests of three protocols.
  const bodies: any[] = [];
  const model = await resolveModel(id, KEYS, {
    fetch: async (_, init) => {
      bodies.push(JSON.parse(String(init?.body)));
      const events = streams[bodies.length - 1] ?? [];
      const text = events.map((each) => `event: ${each.type ?? "message"}\ndata: ${JSON.stringify(each)}\n\n`).join("");
      return new Response(text, { headers: { "content-type": "text/event-stream" } });
    },
  });
  return { model, bodies };
}

const block = (index: number, content: Body, delta?: Body): Body[] => [
  { type: "content_block_start", index, content_block: content },
  ...(delta === undefined ? [] : [{ type: "content_block_delta", index, delta }]),
  { type: "content_block_stop", index },
];

type AnthropicAnswer = { blocks: Body[][]; stop: string; searches?: number };

export function anthropicStream({ blocks, stop, searches = 0 }: AnthropicAnswer): Body[] {
  const usage = { input_tokens: 1000, output_tokens: 100, server_tool_use: { web_search_requests: searches } };
  const message = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [],
    stop_reason: null,
    usage,
  };
  return [
    { type: "message_start", message },
    ...blocks.flat(),
    { type: "message_delta", delta: { stop_reason: stop, stop_sequence: null }, usage },
    { type: "message_stop" },
  ];
}

export const anthropicText = (index: number, text: string): Body[] =>
  block(index, { type: "text", text: "" }, { type: "text_delta", text });

export const anthropicCall = (index: number, id: string, name: string, input: Body = {}): Body[] =>
  block(
    index,
    { type: "tool_use", id, name, input: {} },
    { type: "input_json_delta", partial_json: JSON.stringify(input) },
  );

export const anthropicSearch = (index: number, query: string, id = `srvtoolu_${index}`): Body[] =>
  block(
    index,
    { type: "server_tool_use", id, name: "web_search", input: {} },
    { type: "input_json_delta", partial_json: JSON.stringify({ query }) },
  );

export const FOUND = {
  type: "web_search_result",
  url: "https://example.org/bern",
  title: "Bern",
  encrypted_content: "ZW5jcnlwdGVk",
  page_age: null,
};

export const anthropicFound = (index: number, id: string, content: unknown = [FOUND]): Body[] =>
  block(index, { type: "web_search_tool_result", tool_use_id: id, content });

const USAGE = {
  input_tokens: 1000,
  output_tokens: 100,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens_details: { reasoning_tokens: 0 },
};

/** Items as they are when they are done. */
export function openAiStream(items: readonly Body[]): Body[] {
  const response = { id: "resp_1", created_at: 1, model: "m" };
  return [
    { type: "response.created", response },
    ...items.flatMap((item, output_index): Body[] => [
      { type: "response.output_item.added", output_index, item: { ...item, status: "in_progress" } },
      ...(item.type === "message"
        ? [{ type: "response.output_text.delta", item_id: item.id, output_index, content_index: 0, delta: item.text }]
        : []),
      { type: "response.output_item.done", output_index, item },
    ]),
    { type: "response.completed", response: { ...response, usage: USAGE } },
  ];
}

export const openAiSearch = (id: string, action: Body): Body => ({
  type: "web_search_call",
  id,
  status: "completed",
  action,
});

export const openAiText = (text: string): Body => ({
  ...{ type: "message", id: "msg_1", role: "assistant", status: "completed", text },
  content: [{ type: "output_text", text, annotations: [] }],
});

export const openAiCall = (id: string, name: string): Body => ({
  ...{ type: "function_call", id: `fc_${id}`, call_id: id, name, arguments: "{}", status: "completed" },
});

export function googleStream(parts: readonly Body[], grounding?: Body): Body[] {
  const usageMetadata = { promptTokenCount: 1000, candidatesTokenCount: 100, totalTokenCount: 1100 };
  const candidate = { content: { role: "model", parts }, finishReason: "STOP", index: 0 };
  return [
    {
      candidates: [grounding === undefined ? candidate : { ...candidate, groundingMetadata: grounding }],
      usageMetadata,
    },
  ];
}
