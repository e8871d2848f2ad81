/** A tool and an output whose schemas are valibot's, with the converter that valibot has for them. */

import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { agent, run, tool } from "sous";
import { calls, says, scriptedModel } from "sous/testing";
import * as v from "valibot";

const add = tool({
  name: "add",
  description: "Adds two numbers",
  effect: "read",
  inputSchema: toStandardJsonSchema(v.object({ a: v.number(), b: v.number() })),
  execute: ({ a, b }) => String(a + b),
});

const model = scriptedModel({ lead: [calls("add", { a: 2, b: 3 }), says('{ "sum": 5 }')] });
const outputSchema = toStandardJsonSchema(v.object({ sum: v.number() }));
const lead = agent({ name: "lead", model, tools: [add], outputSchema });

const { output } = await run(lead, "What is 2 + 3?");
const sum: number | undefined = output?.sum;
console.log(`valibot: ${sum}`);
