/** A tool whose schema is a plain JSON Schema, so its input has no type of its own. */

import { agent, run, tool } from "sous";
import { calls, says, scriptedModel } from "sous/testing";

const seen: unknown[] = [];
const add = tool({
  name: "add",
  description: "Adds two numbers",
  effect: "read",
  inputSchema: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
    additionalProperties: false,
  },
  execute: (input) => {
    seen.push(input);
    return "5";
  },
});

const model = scriptedModel({ lead: [calls("add", { a: 2, b: 3 }), says("2 + 3 is 5.")] });
const { text } = await run(agent({ name: "lead", model, tools: [add] }), "What is 2 + 3?");
console.log(`json-schema: ${text} ${JSON.stringify(seen)}`);
