/** A conversation that grows too long: its oldest turns are left out of what the model reads. */

import { agent, openMemoryStore, run, tool } from "sous";
import { calls, says, scriptedModel } from "sous/testing";

const read = tool({
  name: "read",
  description: "Reads a chapter.",
  effect: "read",
  inputSchema: { type: "object", properties: { chapter: { type: "integer" } }, required: ["chapter"] },
  execute: (input) => `Chapter ${(input as { chapter: number }).chapter}. ${"And so it went. ".repeat(100)}`,
});

// With a key in ANTHROPIC_API_KEY: const model = "anthropic/claude-sonnet-4-5";
const chapters = [1, 2, 3, 4, 5, 6].map((chapter) => calls("read", { chapter }));
const model = scriptedModel(...chapters, says("It went."));
const reader = agent({ name: "reader", model, tools: [read] });
const store = openMemoryStore();

// #region prune
const { runId } = await run(reader, "What happens in the book?", {
  store,
  conversation: { maxTokens: 3_000, pruneThreshold: 0.8, minRetainTurns: 2 },
  onEvent(event) {
    if (event.type === "turn-start") console.log(`turn ${event.turn}`);
    if (event.type === "prune") console.log(`  ${event.dropped} messages are dropped`);
  },
});
// #endregion

const requests = model.requests.map(({ messages }) => messages.length);
console.log(`messages in each request: ${requests.join(", ")}`);
const stored = (await store.read(runId)).filter(({ type }) => type === "tool-call-end").length;
console.log(`results in the store: ${stored}`);
