/** A program of the OpenAI Agents SDK, written for sous: a triage agent, specialists, approval, a second message. */

import { agent, run, tool } from "sous";
import { calls, says, scriptedModel } from "sous/testing";
import { z } from "zod";

const model = scriptedModel({
  triage: [
    calls("subagent_refunds", { task: "Refund order 7." }),
    says("Order 7 was refunded."),
    says("In three days."),
  ],
  "triage/refunds": [calls("refund", { order: 7 }), says("Refunded.")],
});

// #region program
const refund = tool({
  name: "refund",
  description: "Pays an order back.",
  inputSchema: z.object({ order: z.int() }),
  tier: "confirm", // needsApproval: true
  execute: ({ order }) => `Order ${order} was paid back.`,
});

// With a key in OPENAI_API_KEY: const model = "openai/gpt-5.6";
const refunds = agent({ name: "refunds", description: "Handles refunds.", tools: [refund] });
const orders = agent({ name: "orders", description: "Knows about orders." });
const triage = agent({ name: "triage", model, instructions: "Help customers.", subagents: [refunds, orders] });

const handle = run(triage, "I want my money back for order 7.", {
  approve: ({ toolName, input }) => {
    console.log(`may it ${toolName}? ${JSON.stringify(input)}`);
    return { allow: true }; // ask a person here
  },
});
console.log((await handle).text);
console.log((await handle.followUp("When will it arrive?")).text); // the same conversation
// #endregion
