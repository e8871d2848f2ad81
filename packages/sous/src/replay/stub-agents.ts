/** Given definitions for a rerun: the same agents, whose tools give back what was recorded, or are live. */

import type { AgentDefinition } from "../core/agent.ts";
import { toTools } from "../core/foreign-tool.ts";
import type { Hooks } from "../core/hooks.ts";
import type { Tool, ToolTier } from "../core/tool.ts";
import type { Playback } from "./playback.ts";
import { liveTool, replayHooks, type SpawnAgain, stubTool } from "./stub-tool.ts";

export type StubOptions = {
  playback: Playback;
  /** Tools run again instead of giving back what was recorded. */
  isLive: boolean;
  spawnAgain: SpawnAgain;
  /** Makes the tool that hands its task to this agent. */
  namedTool(definition: AgentDefinition, tier: ToolTier): Tool;
};

/** The same definition gives the same stub, so that an agent that is listed twice is one agent. */
export function stubAgents(options: StubOptions): (definition: AgentDefinition) => AgentDefinition {
  const { playback, isLive, spawnAgain, namedTool } = options;
  const known = new Map<AgentDefinition, AgentDefinition>();

  function stub(definition: AgentDefinition): AgentDefinition {
    const earlier = known.get(definition);
    if (earlier !== undefined) return earlier;
    const made = definition.with({
      tools: definition.tools === undefined ? undefined : toTools(definition.tools).map(stubOne),
      subagents: definition.subagents?.map(stub),
      hooks: isLive ? definition.hooks : stubHooks(definition.hooks),
    });
    known.set(definition, made);
    return made;
  }

  /** Where there was none there is none now: a hook takes time, and so it changes what meets what. */
  function stubHooks(hooks: Hooks | undefined): Hooks | undefined {
    return hooks?.beforeToolCall === undefined ? undefined : replayHooks(playback);
  }

  function stubOne(source: Tool): Tool {
    if (source.category === "subagent" && source.agent !== undefined) return namedTool(stub(source.agent), source.tier);
    return isLive ? liveTool(source, playback) : stubTool(source, playback, spawnAgain);
  }

  return stub;
}
