/** Gives rebuilt definitions the size of the real ones: budgets are reserved by the length of a prompt, tools included. */

import type { AgentDefinition } from "../core/agent.ts";
import { messageBytes } from "../core/conversation.ts";
import { type Message, toolCallsOf } from "../core/message.ts";
import { rebuildConversation } from "../core/rebuild-conversation.ts";
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

/**
 * The bytes beside its messages that the prompts of a run must have had. Prompts are counted by threes, so each says it to
 * two bytes; all of them together say it well enough to prune where it was pruned.
 */
function recordedSize(runs: readonly RunRecording[]): number | undefined {
  const sizes = runs.flatMap((run) => [sizeOf(run, []), ...run.children.map((child) => sizeOfFork(child, run))]);
  const known = sizes.filter((size) => size !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** `history` is what its conversation began with. */
function sizeOf({ start, events }: RunRecording, history: readonly Message[]): number | undefined {
  const first = events.find(({ type }) => type === "turn-start");
  if (first?.type !== "turn-start" || (start.origin !== undefined && history.length === 0)) return undefined;
  return [...history, start.task].reduce((rest, message) => rest - messageBytes(message), first.promptTokens * 3);
}

/** A fork has the tools of its parent, and begins with what its parent had said and heard before it called. */
function sizeOfFork(fork: RunRecording, { start, events }: RunRecording): number | undefined {
  const { origin, call } = fork.start;
  if (origin?.kind !== "fork" || start.origin !== undefined) return undefined;
  const called = events.findIndex(
    (event) => event.type === "message-end" && toolCallsOf(event.message).some(({ callId }) => callId === call?.callId),
  );
  const history = rebuildConversation(events.slice(0, Math.max(0, called)), []);
  return history.length === origin.messages ? sizeOf(fork, history) : undefined;
}
