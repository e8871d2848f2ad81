/** Subagent tools in a program of your own: callbacks for a panel, and a log for operators. */

import { agent, run, type ToolContext, ToolRegistry, type ToolResult, tool } from "sous";
import {
  createLifecycleLog,
  type ExternalAgent,
  externalModel,
  registerSubagentTools,
  SessionLost,
  type SubagentCallbacks,
  SubagentError,
  trackSubagents,
} from "sous/embed";
import { calls, fails, says, scriptedModel } from "sous/testing";

const search = tool({
  name: "search",
  description: "Finds files.",
  effect: "read",
  inputSchema: { type: "object", properties: { pattern: { type: "string" } } },
  execute: () => "src/login.test.ts\nsrc/rights.test.ts",
});

const spawn = (description: string) => calls("subagent_spawn", { task: `Do the ${description}.`, description });
const model = scriptedModel({
  lead: [spawn("test search"), spawn("broken search"), says("There are two tests.")],
  "lead/test search": [calls("search", { pattern: "*.test.ts" }), says("Two tests.")],
  "lead/broken search": [fails("auth", { message: "The key was refused" })],
  subagent: [says("Nothing else.")],
  boss: [calls("subagent", { label: "scout", task_prompt: "Look." }), says("Done.")],
  "boss/scout": [says("Seen.")],
});

// #region callbacks
const panel = new Map<string, string>();
const callbacks: SubagentCallbacks = {
  onSubagentStart({ id, description, mode, depth }) {
    panel.set(id, description);
    console.log(`${description}: started (${mode}, depth ${depth})`);
  },
  onSubagentToolCallStart: (id, { toolName }) => console.log(`${panel.get(id)}: → ${toolName}`),
  onSubagentToolCallEnd: (id, { toolName, isError }) =>
    console.log(`${panel.get(id)}: ${isError ? "✗" : "✓"} ${toolName}`),
  onSubagentComplete: (id, { text, turns }) => console.log(`${panel.get(id)}: ${text} (${turns} turns)`),
  onSubagentError: (id, error) => console.log(`${panel.get(id)}: ${inWords(error)}`),
};

function inWords(error: Error): string {
  return error instanceof SubagentError ? `${error.type}: ${error.message}` : error.message;
}
// #endregion

// #region register
// With a key in ANTHROPIC_API_KEY: const model = "anthropic/claude-sonnet-4-5";
const registry = new ToolRegistry([search]);
registerSubagentTools(registry, { model, callbacks, systemPrompt: "Be brief.", defaultMaxTurns: 5 });

const lead = agent({ name: "lead", model, tools: [...registry] });
console.log((await run(lead, "Which tests are there?")).text);
// #endregion

// #region alone
const stop = new AbortController();
const input = { task: "Look again.", description: "second look" };
const spawnTool = registry.get("subagent_spawn");
const result = (await spawnTool?.execute(input, { signal: stop.signal } as ToolContext)) as ToolResult;
console.log(`success ${result.success}: ${result.output}`);
// #endregion

// #region track
const boss = agent({ name: "boss", model, delegate: true });
await run(boss, "Look around.", { onEvent: trackSubagents(callbacks) });
// #endregion

// #region log
const log = createLifecycleLog({
  write(line) {
    const { level, event, label } = JSON.parse(line); // or: logger.info(line)
    console.log(level, event, label);
  },
});
const { lost } = await run(boss, "Look around.", { onEvent: log.onEvent });
log.settle(lost === undefined);
// #endregion

// #region own-agent
const echo: ExternalAgent = {
  serverName: "echo",
  maxCostUsd: 0.01,
  timeoutMs: 60_000,
  async open({ sessionId }, host) {
    if (sessionId !== undefined) throw new SessionLost("echo does not store its sessions");
    return {
      id: "echo-1",
      async prompt(text) {
        host.onText(`You said: ${text}`);
        return { stop: "done", usage: undefined, costUsd: undefined };
      },
      async close() {},
    };
  },
};
const parrot = agent({ name: "parrot", model: externalModel(echo) });
const answer = await run(parrot, "Hello.");
console.log(`${answer.text} (at most $${answer.costUsd})`);
// #endregion
