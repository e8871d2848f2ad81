/** Stores of a child's own: its messages, its state and its events, copied while it works. */

import { agent, type Message, run, type StoredEvent, ToolRegistry, tool } from "sous";
import { type ChildState, type ChildStores, subagentFactory } from "sous/embed";
import { calls, says, scriptedModel, uses } from "sous/testing";

const look = tool({
  name: "look",
  description: "Looks around.",
  effect: "read",
  inputSchema: { type: "object", properties: {} },
  execute: () => "Two doors.",
});

const model = scriptedModel({
  lead: [calls("subagent_scout", { task: "Look around." }), says("There are two doors.")],
  "lead/scout": [
    [calls("look"), uses({ input: 100, output: 10 })],
    [says("Two doors."), uses({ input: 120, output: 5 })],
  ],
});

// #region stores
const conversations = new Map<string, Message[]>();
const journals = new Map<string, StoredEvent[]>();

const stores: ChildStores = {
  messages(runId) {
    const messages: Message[] = [];
    conversations.set(runId, messages);
    return { add: (message) => void messages.push(message) };
  },
  state: () => ({ set: showState }),
  events(runId) {
    const events: StoredEvent[] = [];
    journals.set(runId, events);
    return { add: (event) => void events.push(event) };
  },
};

function showState({ status, turns, toolCount, totalTokens }: ChildState): void {
  console.log(`${status}: ${turns} turns, ${toolCount} tools, ${totalTokens} tokens`);
}
// #endregion

// #region run
// With a key in ANTHROPIC_API_KEY: const model = "anthropic/claude-sonnet-4-5";
const { create } = subagentFactory({ model, registry: new ToolRegistry([look]), stores });
const lead = agent({ name: "lead", model, tools: [create({ name: "scout", description: "Looks around." })] });
await run(lead, "What is here?", { approve: () => ({ allow: true }) });

for (const messages of conversations.values()) console.log(messages.map(({ role }) => role).join(", "));
for (const events of journals.values()) console.log(events.map(({ type }) => type).join(", "));
// #endregion
