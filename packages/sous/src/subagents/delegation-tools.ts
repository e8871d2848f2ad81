/** The tools for children that a run is offered, and the agents that their calls may name. */

import type { AgentDefinition } from "../core/agent.ts";
import { Refused } from "../core/errors.ts";
import type { DelegationLimits } from "../core/limits.ts";
import { nearestFirst } from "../core/nearest.ts";
import type { Tool } from "../core/tool.ts";
import { utf8Length } from "../core/usage.ts";
import { cancelTool, listTool, waitTool } from "./background.ts";
import { reportTool, sendTool } from "./follow-up.ts";
import { namedAgentTool } from "./named-agent.ts";
import { parallelTool } from "./parallel.ts";
import { AGENTS_OF_SUBAGENT, agentList } from "./prompts.ts";
import { subagentToolFor } from "./spawn.ts";

/** Serve children that another tool has started. */
const FOLLOW_UP_TOOLS: readonly Tool[] = [sendTool, reportTool, waitTool, cancelTool, listTool];

/** What of a definition, and of the rights of its run, says which tools for children there are. */
type Delegating = {
  readonly subagents: readonly AgentDefinition[];
  readonly delegate: boolean;
  /** The tools that it has of its own. */
  readonly own: readonly Tool[];
  /** Those that calls may name. */
  readonly callable: readonly AgentDefinition[];
  readonly deny: ReadonlySet<string>;
};

export class DelegationTools {
  readonly #starting: readonly Tool[];
  readonly #named = new WeakMap<AgentDefinition, Tool>();

  /** The limits are those that descriptions name. */
  constructor(limits: DelegationLimits, now: () => number) {
    this.#starting = [subagentToolFor(limits), parallelTool({ ...limits, now })];
  }

  /**
   * None that is denied, none that the run has already, and none that only serves children that nothing can start. A run that
   * can start a child can read the rest of its report.
   */
  offered({ own, subagents, delegate, callable, deny }: Delegating): Tool[] {
    const mayUse = (each: Tool): boolean => !deny.has(each.name) && !own.some(({ name }) => name === each.name);
    const named = subagents.map((each) => this.#toolOf(each)).filter(mayUse);
    const starting = delegate ? namingAgents(this.#starting.filter(mayUse), callable) : [];
    const hasOwn = own.some(({ category }) => category === "subagent");
    if (!hasOwn && named.length === 0 && starting.length === 0) return [];
    return [...named, ...starting, ...(delegate ? FOLLOW_UP_TOOLS : [reportTool]).filter(mayUse)];
  }

  /** Listing an agent is consent to it. */
  #toolOf(definition: AgentDefinition): Tool {
    const known = this.#named.get(definition) ?? namedAgentTool(definition, { tier: "observe" });
    this.#named.set(definition, known);
    return known;
  }
}

/** The list is told once: the second tool refers to the first. */
function namingAgents(tools: readonly Tool[], agents: readonly AgentDefinition[]): readonly Tool[] {
  const list = agentList(agents, utf8Length);
  if (list === undefined) return tools;
  return tools.map((each, index) => ({
    ...each,
    description: index === 0 ? `${each.description}\n\n${list}` : `${each.description} ${AGENTS_OF_SUBAGENT}`,
  }));
}

/** Those of the definition first, each name once. A denied `subagent_scout` is denied by its name, too. */
export function callableAgents(
  own: readonly AgentDefinition[],
  shared: readonly AgentDefinition[],
  deny: ReadonlySet<string>,
): readonly AgentDefinition[] {
  const byName = new Map<string, AgentDefinition>();
  for (const each of [...own, ...shared]) {
    if (!byName.has(each.name) && !deny.has(`subagent_${each.name}`)) byName.set(each.name, each);
  }
  return [...byName.values()];
}

/** Throws `Refused` with the names that there are, the likeliest first. */
export function findAgent(name: string, callable: readonly AgentDefinition[]): AgentDefinition {
  const found = callable.find((each) => each.name === name);
  if (found !== undefined) return found;
  const names = nearestFirst(
    name,
    callable.map((each) => each.name),
  );
  const known = names.length === 0 ? "There are none." : `Known: ${names.join(", ")}.`;
  throw new Refused("invalid_input", `Unknown agent: ${name}. ${known}`);
}
