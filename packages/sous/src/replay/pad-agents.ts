/** Gives rebuilt definitions the size of the real ones: budgets are reserved by the length of a prompt, tools included. */

import type { AgentDefinition } from "../core/agent.ts";
import { messageBytes } from "../core/conversation.ts";
import type { RunRecording } from "../core/recording.ts";
import type { Tool } from "../core/tool.ts";

export type PadPorts = {
  runsOf(definition: AgentDefinition): readonly RunRecording[];
  /** What its tools and instructions measure. */
  bytesOf(definition: AgentDefinition): Promise<number>;
};

/** The same agent and everybody below it, with descriptions as long as they must have been. */
export async function padAgent(definition: AgentDefinition, ports: PadPorts): Promise<AgentDefinition> {
  const subagents = await Promise.all((definition.subagents ?? []).map((each) => padAgent(each, ports)));
  const made = definition.with({ subagents });
  const size = recordedSize(ports.runsOf(definition));
  const missing = size === undefined ? 0 : size - (await ports.bytesOf(made));
  if (missing <= 0) return made;
  const filler = ".".repeat(missing);
  const [tool, ...otherTools] = Array.isArray(made.tools) ? (made.tools as readonly Tool[]) : [];
  if (tool !== undefined) return made.with({ tools: [longer(tool, filler), ...otherTools] });
  const [subagent, ...others] = subagents;
  if (subagent === undefined) return made;
  return made.with({
    subagents: [subagent.with({ description: `${subagent.description ?? ""}${filler}` }), ...others],
  });
}

/** The bytes beside its task that the first prompt of a run must have had; prompts are counted by threes. */
function recordedSize(runs: readonly RunRecording[]): number | undefined {
  const sizes = runs.flatMap(({ start, events }) => {
    const first = events.find(({ type }) => type === "turn-start");
    if (start.origin !== undefined || first?.type !== "turn-start") return [];
    return [first.promptTokens * 3 - messageBytes(start.task)];
  });
  return sizes.length === 0 ? undefined : Math.min(...sizes);
}

function longer(tool: Tool, filler: string): Tool {
  return Object.freeze({ ...tool, description: tool.description + filler });
}
