/** The parts that the processes share: the agents, the store, and the runtime on it. */

// #region all
import { agent, createRuntime, tool } from "sous";
import { storeEngine } from "sous/engine";
import { openPostgresStore } from "sous/postgres";

process.env.OPENAI_COMPATIBLE_BASE_URL ??= "http://127.0.0.1:4100/v1";
// With a key in ANTHROPIC_API_KEY: const model = "anthropic/claude-sonnet-4-5";
const model = "openai-compatible/stock";

const count = tool({
  name: "count",
  description: "Counts the crates in a bay.",
  effect: "read",
  inputSchema: { type: "object", properties: { bay: { type: "integer" } }, required: ["bay"] },
  execute: (input) => `${(input as { bay: number }).bay * 10} crates`,
});

const scout = agent({ name: "scout", description: "Counts a bay.", model, tools: [count], place: "worker" });
export const lead = agent({ name: "lead", model, subagents: [scout] });

const connectionString = process.env.DATABASE_URL ?? "postgres://sous:sous@127.0.0.1:54329/postgres";
export const store = await openPostgresStore({ connectionString });
export const runtime = createRuntime({ store, engine: storeEngine(store), agents: [lead, scout] });
// #endregion
