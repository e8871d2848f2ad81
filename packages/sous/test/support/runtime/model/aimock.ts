/**
 * A fake provider of a third party (`@copilotkit/aimock`): one server on a free port that speaks the protocols of
 * all providers.
 *
 *   await using server = await startAimock([
 *     { match: { systemMessage: "You are the lead", hasToolResult: false },
 *       response: { toolCalls: [{ name: "subagent_scout", arguments: '{"task":"auth"}' }], usage: usage(900, 40) } },
 *     { match: { systemMessage: "You are the lead", hasToolResult: true }, response: { content: "Done.", usage: usage(990, 12) } },
 *     { match: { systemMessage: "You are a scout", userMessage: "auth" }, response: { content: "src/auth.ts:3", usage: usage(300, 9) } },
 *   ]);
 *   const model = await resolveModel("anthropic/claude-sonnet-4-5", server.environment);
 *
 * The first fixture whose `match` fits answers; every field of `match` must fit:
 * - `systemMessage`: words of the system prompt; the way to tell a parent from its children, whatever order they run in;
 * - `userMessage`: words of the last user message (not of a tool result), the way to tell siblings apart;
 * - `hasToolResult`: whether results follow the last user message; `toolResultContains`: words of the last one;
 * - `turnIndex`: how many answers the conversation already has;
 * - `toolCallId`, `toolName`, `model`, or `predicate: (request) => boolean` over the request as chat completions.
 * They look at the request only, so the order of parallel children does not matter; `sequenceIndex` counts matches on the
 * server instead (0: the first time) and is for one caller at a time: a 429 first, then an answer.
 *
 * Without `usage` the server reports zeros, which count as not reported (in chat completions a guess): set it. `chunkSize` is in characters;
 * `truncateAfterChunks` with a `latency` (milliseconds between chunks, or nothing arrives at all) cuts the connection.
 */

import { type Fixture, LLMock } from "@copilotkit/aimock";

export type Aimock = AsyncDisposable & {
  /** Keys and addresses for `resolveModel`, for every provider of `MODELS`. */
  environment: Record<string, string>;
  /** What was asked so far, oldest first: the path, the status of the answer, and the body as chat completions. */
  requests(): { path: string; status: number; body: unknown }[];
};

/** One model for each protocol that aimock speaks and sous uses. */
export const MODELS = [
  "anthropic/claude-sonnet-4-5",
  "openai-chat/gpt-5.5",
  "openai/gpt-5.5",
  "google/gemini-3-pro-preview",
  "openai-compatible/some-model",
  "ollama/llama3.2",
] as const;

export async function startAimock(fixtures: Fixture[]): Promise<Aimock> {
  const server = new LLMock({ port: 0, host: "127.0.0.1", logLevel: "silent" });
  server.addFixtures(fixtures);
  await server.start();
  return {
    environment: {
      ANTHROPIC_API_KEY: "test",
      ANTHROPIC_BASE_URL: server.url,
      OPENAI_API_KEY: "test",
      OPENAI_BASE_URL: `${server.url}/v1`,
      GEMINI_API_KEY: "test",
      GOOGLE_GEMINI_BASE_URL: server.url,
      OPENAI_COMPATIBLE_BASE_URL: `${server.url}/v1`,
      OLLAMA_HOST: server.url,
      OPENROUTER_API_KEY: "test",
      OPENROUTER_BASE_URL: `${server.url}/api/v1`,
    },
    requests: () => server.getRequests().map(({ path, response, body }) => ({ path, status: response.status, body })),
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

/** The same usage in the words of every protocol. */
export function usage(input: number, output: number) {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    input_tokens: input,
    output_tokens: output,
    promptTokenCount: input,
    candidatesTokenCount: output,
  };
}
