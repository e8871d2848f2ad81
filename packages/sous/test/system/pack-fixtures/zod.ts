/** A tool and an output whose schemas are zod's. */

import { agent, run, tool } from "sous";
import { calls, says, scriptedModel } from "sous/testing";
import { z } from "zod";

const add = tool({
  name: "add",
  description: "Adds two numbers",
  effect: "read",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => String(a + b),
});

const model = scriptedModel({ lead: [calls("add", { a: 2, b: 3 }), says('{ "sum": 5 }')] });
const lead = agent({ name: "lead", model, tools: [add], outputSchema: z.object({ sum: z.number() }) });

const { output } = await run(lead, "What is 2 + 3?");
const sum: number | undefined = output?.sum;
console.log(`zod: ${sum}`);
