/** A tool of the AI SDK as it is, named by the key it stands under. */

import { tool } from "ai";
import { agent, run } from "sous";
import { calls, says, scriptedModel } from "sous/testing";
import { z } from "zod";

const seen: number[] = [];
const add = tool({
  description: "Adds two numbers",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => {
    seen.push(a, b);
    return { sum: a + b };
  },
});

const model = scriptedModel({ lead: [calls("add", { a: 2, b: 3 }), says("2 + 3 is 5.")] });
const { text } = await run(agent({ name: "lead", model, tools: { add } }), "What is 2 + 3?");
console.log(`ai-sdk-tool: ${text} ${JSON.stringify(seen)}`);
