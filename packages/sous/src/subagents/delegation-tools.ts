/** The tools for children that a run is offered, and the agents that calls may name. */

import type { AgentDefinition } from "../core/agent.ts";
import { DEFAULT_LIMITS, type DelegationLimits } from "../core/limits.ts";
import { type Tool, tool } from "../core/tool.ts";
import { utf8Length } from "../core/usage.ts";
import { cancelTool, listTool, reportTool, sendTool, waitTool } from "./child-tools.ts";
import { type InputLimits, spawnInputSchema, toSpawnRequest } from "./input.ts";
import { namedAgentTool } from "./named-agent.ts";
import { parallelTool } from "./parallel.ts";
import { AGENTS_OF_SUBAGENT, agentList, DESCRIPTIONS } from "./prompts.ts";
import { toToolResult } from "./report.ts";

/** Serve children that another tool has started. */
const FOLLOW_UP_TOOLS: readonly Tool[] = [sendTool, reportTool, waitTool, cancelTool, listTool];

/** The parts of a definition and of the rights of its run that decide which tools for children it has. */
type Delegating = {
  readonly subagents: readonly AgentDefinition[];
  readonly delegate: boolean;
  /** The tools that it has of its own. */
  readonly own: readonly Tool[];
  /** The agents that calls may name. */
  readonly callable: readonly AgentDefinition[];
  readonly deny: ReadonlySet<string>;
};

export class DelegationTools {
  readonly #limits: DelegationLimits;
  readonly #now: () => number;
  /** Made when the first run may delegate. */
  #starting: readonly Tool[] | undefined;
  readonly #named = new WeakMap<AgentDefinition, Tool>();

  /** The limits are those that descriptions name. */
  constructor(limits: DelegationLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  /**
   * Leaves out tools that are denied, that the run already has, or that need a child when none can be started. A run that
   * can start a child can read the rest of its report.
   */
  offered({ own, subagents, delegate, callable, deny }: Delegating): Tool[] {
    const mayUse = (each: Tool): boolean => !deny.has(each.name) && !own.some(({ name }) => name === each.name);
    const named = subagents.map((each) => this.#toolOf(each)).filter(mayUse);
    const starting = delegate ? namingAgents(this.#startingTools().filter(mayUse), callable) : [];
    const hasOwn = own.some(({ category }) => category === "subagent");
    if (!hasOwn && named.length === 0 && starting.length === 0) return [];
    return [...named, ...starting, ...(delegate ? FOLLOW_UP_TOOLS : [reportTool]).filter(mayUse)];
  }

  #startingTools(): readonly Tool[] {
    this.#starting ??= [subagentToolFor(this.#limits), parallelTool({ ...this.#limits, now: this.#now })];
    return this.#starting;
  }

  /** An agent that the definition lists needs no approval. */
  #toolOf(definition: AgentDefinition): Tool {
    const known = this.#named.get(definition) ?? namedAgentTool(definition, { tier: "observe" });
    this.#named.set(definition, known);
    return known;
  }
}

/** The tool for one task to one child. `limits` are those that its description names. */
function subagentToolFor(limits: InputLimits): Tool {
  return tool({
    name: "subagent",
    description: DESCRIPTIONS.subagent,
    category: "subagent",
    // Repeating a spawn after a crash is safe: the gate knows the child by its call.
    effect: "idempotent",
    inputSchema: spawnInputSchema(limits),
    execute: async (input, context) => toToolResult(await context.spawn(toSpawnRequest(input))),
  }) as Tool;
}

export const subagentTool: Tool = subagentToolFor(DEFAULT_LIMITS);

/** Only the first tool has the list; the second refers to it. */
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
