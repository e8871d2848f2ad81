/**
 * Writes `recorded/*.sse` again: what aimock sends for one answer with thoughts, text and two parallel calls, in each
 * protocol. Run it by hand: `node --conditions=sous-source packages/sous/test/support/runtime/model/record-streams.ts`.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { resolveModel } from "../../../../src/runtime/model/resolve.ts";
import { startAimock, usage } from "./aimock.ts";
import { request, WEATHER } from "./requests.ts";

/** Every protocol with its own parser. The text and the arguments have characters of two, three and four bytes. */
export const RECORDED = {
  anthropic: "anthropic/claude-sonnet-4-5",
  "openai-chat": "openai-chat/gpt-5.5",
  "openai-responses": "openai/gpt-5.5",
  google: "google/gemini-3-pro-preview",
} as const;

if (import.meta.main) await record();

async function record(): Promise<void> {
  await using server = await startAimock([
    {
      match: { userMessage: "weather" },
      chunkSize: 7,
      response: {
        reasoning: "Two cities.",
        content: "Zürich – 🌧?",
        toolCalls: [
          { id: "call_1", name: "get_weather", arguments: '{"city":"Zürich","days":3}' },
          { id: "call_2", name: "get_weather", arguments: '{"city":"東京 🗼","days":12}' },
        ],
        usage: usage(1200, 34),
      },
    },
  ]);
  const folder = new URL("recorded/", import.meta.url);
  mkdirSync(folder, { recursive: true });
  for (const [name, id] of Object.entries(RECORDED)) {
    const model = await resolveModel(id, server.environment, {
      fetch: async (input, init) => {
        const response = await fetch(input, init);
        writeFileSync(new URL(`${name}.sse`, folder), Buffer.from(await response.clone().arrayBuffer()));
        return response;
      },
    });
    await model.answer(request({ task: "weather", tools: [WEATHER] }), () => {});
  }
}
