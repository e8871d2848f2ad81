/** The bodies of two answers on each of the wires: one that says something and calls a tool, and one that ends the run. */

import { anthropicCall, anthropicStream, anthropicText, openAiStream, openAiText } from "./provider-wire.ts";

type Body = Readonly<Record<string, unknown>>;

export type Wire = {
  readonly name: string;
  readonly provider: string;
  /** Says "I look." and calls `look` at "here". */
  readonly first: string;
  /** Says and calls something else, under ids of its own. */
  readonly other: string;
  /** Says "Done." */
  readonly last: string;
};

const named = (events: readonly Body[]): string =>
  events.map((each) => `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`).join("");
const unnamed = (events: readonly Body[]): string => events.map((each) => `data: ${JSON.stringify(each)}\n\n`).join("");
const DONE = "data: [DONE]\n\n";

function anthropic(text: string, id: string | undefined, at: string): readonly Body[] {
  const blocks = [anthropicText(0, text), ...(id === undefined ? [] : [anthropicCall(1, id, "look", { at })])];
  return anthropicStream({ blocks, stop: id === undefined ? "end_turn" : "tool_use" });
}

function openAi(text: string, id: string | undefined, at: string): readonly Body[] {
  const call = { type: "function_call", id: `fc_${id}`, call_id: id, name: "look", arguments: JSON.stringify({ at }) };
  return openAiStream([openAiText(text), ...(id === undefined ? [] : [{ ...call, status: "completed" }])]);
}

function chat(text: string, id: string | undefined, at: string): readonly Body[] {
  const chunk = (delta: Body, finish: string | null = null): Body => ({
    ...{ id: "1", object: "chat.completion.chunk", created: 1, model: "m" },
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const call = { index: 0, id, type: "function", function: { name: "look", arguments: JSON.stringify({ at }) } };
  const usage = { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 };
  return [
    chunk({ role: "assistant", content: text }),
    ...(id === undefined ? [] : [chunk({ tool_calls: [call] })]),
    chunk({}, id === undefined ? "stop" : "tool_calls"),
    { ...chunk({}), choices: [], usage },
  ];
}

function wire(name: string, provider: string, message: typeof chat, write: (events: readonly Body[]) => string): Wire {
  return {
    name,
    provider,
    first: write(message("I look.", "call_1", "here")),
    other: write(message("I look again.", "call_2", "there")),
    last: write(message("Done.", undefined, "")),
  };
}

const withDone = (events: readonly Body[]): string => unnamed(events) + DONE;

export const WIRES: readonly Wire[] = [
  wire("anthropic", "anthropic", anthropic, named),
  wire("anthropic without names of events", "anthropic", anthropic, unnamed),
  wire("openai responses", "openai", openAi, named),
  wire("openai responses without names of events", "openai", openAi, unnamed),
  wire("chat completions", "openai-chat", chat, withDone),
  wire("chat completions of another server", "openai-compatible", chat, withDone),
];
