/** The tools for children that a run is offered, and the agents that calls may name. */

import type { AgentDefinition } from "../../core/agent.ts";
import { MAX_AGENT_TOOLS } from "../../core/limits.ts";
import type { StandardSchema } from "../../core/schema.ts";
import { type Tool, tool } from "../../core/tool.ts";
import { DEFAULT_LIMITS, type DelegationLimits } from "../../core/words/limits.ts";
import { cancelTool, listTool, reportTool, sendTool, waitTool } from "./child-tools.ts";
import { findAgentsTool } from "./find-agents.ts";
import { type InputLimits, namedInputSchema, type SubagentInput, spawnInputSchema, toSpawnRequest } from "./input.ts";
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
  /** The tools are made when the first run may delegate. */
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
  offered(delegating: Delegating): Tool[] {
    const { own, subagents, delegate, callable, deny } = delegating;
    const mayUse = usableBeside(delegating);
    const isTogether = this.#isTogether(delegating);
    const named = isTogether ? [] : subagents.map((each) => this.#toolOf(each)).filter(mayUse);
    const nameable = delegate ? callable : isTogether ? callableAgents(subagents, [], deny) : [];
    const make: Make = delegate ? () => this.#startingTools() : (agents) => [namedOnlyTool(this.#limits, agents)];
    const starting = delegate || isTogether ? namingAgents(make, nameable, mayUse) : [];
    const hasOwn = own.some(({ category }) => category === "subagent");
    if (!hasOwn && named.length === 0 && starting.length === 0) return [];
    return [...named, ...starting, ...(delegate ? FOLLOW_UP_TOOLS : [reportTool]).filter(mayUse)];
  }

  /**
   * `subagent_scout` where `subagent` names scout: not shown, and there for a call that an earlier part of the conversation
   * leads to, or that began before a restart.
   */
  hidden(delegating: Delegating): Tool[] {
    if (!this.#isTogether(delegating)) return [];
    return delegating.subagents.map((each) => this.#toolOf(each)).filter(usableBeside(delegating));
  }

  /** True when one tool names the agents of the definition. When that tool is denied, each agent has its own. */
  #isTogether(delegating: Delegating): boolean {
    const { subagents, deny } = delegating;
    const count = callableAgents(subagents, [], deny).length;
    return count > MAX_AGENT_TOOLS && usableBeside(delegating)(subagentTool);
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

type MayUse = (candidate: Pick<Tool, "name">) => boolean;

function usableBeside({ own, deny }: Delegating): MayUse {
  return ({ name }) => !deny.has(name) && !own.some((each) => each.name === name);
}

/** The tool for one task to one child. */
function subagentToolWith(description: string, inputSchema: StandardSchema<SubagentInput>): Tool {
  return tool({
    name: "subagent",
    description,
    category: "subagent",
    // Repeating a spawn after a crash is safe: the gate knows the child by its call.
    effect: "idempotent",
    inputSchema,
    execute: async (input, context) => toToolResult(await context.spawn(toSpawnRequest(input))),
  }) as Tool;
}

/** `limits` are those that its description names. */
function subagentToolFor(limits: InputLimits): Tool {
  return subagentToolWith(DESCRIPTIONS.subagent, spawnInputSchema(limits));
}

export const subagentTool: Tool = subagentToolFor(DEFAULT_LIMITS);

/** Makes the tool of an agent that has many subagents and may start no other children: `agent` must be one of them. */
function namedOnlyTool(limits: InputLimits, agents: readonly AgentDefinition[]): Tool {
  return subagentToolWith(DESCRIPTIONS.named, namedInputSchema(limits, agents));
}

/** Makes the tools that start children, for these agents. */
type Make = (agents: readonly AgentDefinition[]) => readonly Tool[];

/** Only the first tool has the list; the second refers to it. Of many agents there is more to find than the list has. */
function namingAgents(make: Make, agents: readonly AgentDefinition[], mayUse: MayUse): readonly Tool[] {
  const tools = make(agents).filter(mayUse);
  if (tools.length === 0) return [];
  const finding = agents.length > MAX_AGENT_TOOLS ? [findAgentsTool(agents)].filter(mayUse) : [];
  const list = agentList(agents, finding.length > 0);
  if (list === undefined) return tools;
  const naming = tools.map((each, index) => ({
    ...each,
    description: index === 0 ? `${each.description}\n\n${list}` : `${each.description} ${AGENTS_OF_SUBAGENT}`,
  }));
  const all = [...naming, ...finding];
  for (const each of all) made.set(each, { make, agents, mayUse });
  return all;
}

/** The parts of a tool whose text names agents. */
type Naming = { readonly make: Make; readonly agents: readonly AgentDefinition[]; readonly mayUse: MayUse };
const made = new WeakMap<Tool, Naming>();

/** The tool without the agents that are denied now; undefined when it goes with them. */
export function withoutDenied(given: Tool, deny: ReadonlySet<string>): Tool | undefined {
  const naming = made.get(given);
  if (naming === undefined) return given;
  const { make, agents, mayUse } = naming;
  const left = agents.filter(({ name }) => !deny.has(`subagent_${name}`));
  if (left.length === agents.length) return given;
  const stillUsed: MayUse = (each) => !deny.has(each.name) && mayUse(each);
  return namingAgents(make, left, stillUsed).find(({ name }) => name === given.name);
}

/** Lists agents, those of the definition first, each name once. A denied `subagent_scout` is denied by its name, too. */
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
