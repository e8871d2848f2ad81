/** A tool and an output whose schemas are valibot's, which needs the optional peer to describe them to a model. */

import { agent, run, tool } from "sous";
import { calls, says, scriptedModel } from "sous/testing";
import * as v from "valibot";

const add = tool({
  name: "add",
  description: "Adds two numbers",
  effect: "read",
  inputSchema: v.object({ a: v.number(), b: v.number() }),
  execute: ({ a, b }) => String(a + b),
});

const model = scriptedModel({ lead: [calls("add", { a: 2, b: 3 }), says('{ "sum": 5 }')] });
const lead = agent({ name: "lead", model, tools: [add], outputSchema: v.object({ sum: v.number() }) });

const { output } = await run(lead, "What is 2 + 3?");
const sum: number | undefined = output?.sum;
console.log(`valibot: ${sum}`);
