/** A program that embeds subagents, with the exports that it needs from their own subpath. */

import { agent, run, ToolRegistry } from "sous";
import {
  createLifecycleLog,
  registerSubagentTools,
  type SubagentCallbacks,
  SubagentError,
  type SubagentProgress,
  trackProgress,
  trackSubagents,
} from "sous/embed";
import { calls, fails, says, scriptedModel } from "sous/testing";

const heard: string[] = [];
const callbacks: SubagentCallbacks = {
  onSubagentStart: ({ description }) => void heard.push(description),
  onSubagentError: (_id, error) => void heard.push(`${error instanceof SubagentError} ${error.type}`),
};
const model = scriptedModel({
  lead: [calls("subagent_spawn", { task: "Look.", description: "look" }), says("Seen.")],
  "lead/look": [fails("auth", { message: "no key" })],
});
const registry = new ToolRegistry();
registerSubagentTools(registry, { model, callbacks });
const log = createLifecycleLog({ write: (line) => void heard.push(JSON.parse(line).event) });
const steps: SubagentProgress[] = [];
const listeners = [log.onEvent, trackSubagents({}), trackProgress((progress) => void steps.push(progress))];
const { text } = await run(agent({ name: "lead", model, tools: [...registry] }), "Look.", {
  onEvent(event) {
    for (const listener of listeners) listener(event);
  },
});
console.log(`embed: ${text} ${heard.join(", ")}; ${steps.at(-1)?.step}`);
