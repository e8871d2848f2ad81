/** A model of the AI SDK as it is. The provider is real; only its `fetch` is answered here, because there is no network. */

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { agent, run } from "sous";

const chunks = [
  { choices: [{ index: 0, delta: { role: "assistant", content: "2 + 3 " } }] },
  { choices: [{ index: 0, delta: { content: "is 5." } }] },
  { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
  { choices: [], usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 } },
];

const provider = createOpenAICompatible({
  name: "local",
  baseURL: "http://localhost.invalid/v1",
  includeUsage: true,
  fetch: async () => {
    const lines = chunks.map((chunk) => `data: ${JSON.stringify({ id: "1", created: 0, model: "any", ...chunk })}\n\n`);
    return new Response(`${lines.join("")}data: [DONE]\n\n`, { headers: { "content-type": "text/event-stream" } });
  },
});

const lead = agent({ name: "lead", instructions: "Answer briefly.", model: provider("any") });
const { text, status } = await run(lead, "What is 2 + 3?");
console.log(`ai-sdk-model: ${text} ${status}`);
