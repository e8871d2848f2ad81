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
  const size = recordedSize(ports.runsOf(definition));
  const missingIn = async (made: AgentDefinition) => (size === undefined ? 0 : size - (await ports.bytesOf(made)));
  const made = definition.with({ subagents });
  const [tool, ...otherTools] = Array.isArray(made.tools) ? (made.tools as readonly Tool[]) : [];
  if (tool !== undefined) {
    const filler = ".".repeat(Math.max(0, await missingIn(made)));
    return made.with({ tools: [{ ...tool, description: tool.description + filler }, ...otherTools] });
  }
  const [subagent, ...others] = subagents;
  if (subagent === undefined || (await missingIn(made)) <= 0) return made;
  const describedAs = (description: string) => made.with({ subagents: [subagent.with({ description }), ...others] });
  return describedAs(".".repeat(Math.max(0, await missingIn(describedAs("")))));
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
