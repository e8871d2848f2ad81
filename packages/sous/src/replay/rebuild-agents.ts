/** Definitions made from a recording alone: enough to run it again where nobody has the real ones. */

import { type AgentDefinition, type AgentOptions, agent } from "../core/agent.ts";
import type { ToolCallPart } from "../core/message.ts";
import type { Recording, RunRecording } from "../core/recording.ts";
import { isSubagentToolName } from "../core/subagent-names.ts";
import type { Tool, ToolTier } from "../core/tool.ts";
import { recordedOutput } from "./recorded-output.ts";

/** What `agent` is called in the record of a child that a call made up. */
const MADE_UP = "subagent";
const NAMED_TOOL = "subagent_";
const UNKNOWN = /^(?:Unknown tool|You may not use the tool): /;
const CAN_FETCH = "; subagent_report reads the rest]";

export type RebuildPorts = {
  makeTool(name: string): Tool;
  namedTool(definition: AgentDefinition, tier: ToolTier): Tool;
  hooks: AgentOptions["hooks"];
};

export type RebuiltAgents = {
  root: AgentDefinition;
  /** Those that calls only named. */
  agents: AgentDefinition[];
  /** The definition of any other run. */
  define(run: RunRecording): AgentDefinition;
  /** The runs that a definition was made from. */
  runsOf(definition: AgentDefinition): readonly RunRecording[];
};

export function rebuildAgents(recording: Recording, ports: RebuildPorts): RebuiltAgents {
  const runsOf = new Map<AgentDefinition, readonly RunRecording[]>();
  const defining = new Set<string>();

  /** `runs` are of one definition; what their made-up children did tells about it too, because they have what it has. */
  function define(runs: readonly RunRecording[]): AgentDefinition {
    const [first] = runs;
    if (first === undefined) throw new Error("A definition without a run");
    const { start } = first;
    const calls = runs.flatMap(family).flatMap(callsOf);
    const specialists = specialistsOf(calls);
    const subagents = [...specialists].map(([name, below]) => (below.length === 0 ? spokenOf(name) : define(below)));
    const own = start.rights.use.map(ports.makeTool);
    const others = start.rights.delegate.filter(
      (name) => !start.rights.use.includes(name) && !subagents.some((each) => hasTool(each, name)),
    );
    // Somebody it could call, and did not, has these: nothing else is known of them.
    if (others.length > 0) subagents.push(agent({ name: "others", tools: others.map(ports.makeTool) }));
    const asked = subagents.filter(({ name }) =>
      calls.some((call) => call.isAsked && call.toolName === NAMED_TOOL + name),
    );
    const definition = agent({
      name: start.agent,
      // Not recorded; its length may be.
      description: "",
      nickname: start.nickname,
      model: start.model,
      ...recordedOutput(runs),
      tools: [...own, ...asked.map((each) => ports.namedTool(each, "confirm"))],
      subagents: subagents.filter((each) => !asked.includes(each)),
      delegate: calls.some(showsDelegation),
      maxTurns: start.maxTurns,
      timeoutMs: start.timeoutMs,
      budget: start.depth === 0 ? undefined : start.budget,
      deny: start.rights.deny,
      hooks: ports.hooks,
    });
    runsOf.set(definition, runs);
    return definition;
  }

  /** Somebody who was named and not called here: what others of the same name did is all there is to know. */
  function spokenOf(name: string): AgentDefinition {
    const elsewhere = [...recording.runs.values()].filter(({ start }) => start.agent === name && start.depth > 0);
    if (elsewhere.length === 0 || defining.has(name)) return agent({ name, description: "", hooks: ports.hooks });
    defining.add(name);
    const definition = define(elsewhere);
    defining.delete(name);
    return definition;
  }

  const roots = recording.paths.get(recording.runs.get(recording.rootId)?.path ?? "") ?? [];
  const root = define(roots);
  const named = new Map<string, AgentDefinition>();
  for (const [name, runs] of Map.groupBy(namedInCalls(recording), ({ start }) => start.agent))
    named.set(name, asNamedInCalls(define(runs), runs, recording));
  const told = agentsTold(recording, root).map((name) => named.get(name) ?? spokenOf(name));
  return {
    root,
    agents: [...told, ...[...named.values()].filter((each) => !told.includes(each))],
    define: (run) => define([run]),
    runsOf: (definition) => runsOf.get(definition) ?? [],
  };
}

const AGENTS_TOLD = /^Unknown agent: .*? Known: (.*)\.$/s;

/** The agents that calls may name besides the root's own, in their order, as a run was told that named another. */
function agentsTold({ events, runs }: Recording, { subagents = [] }: AgentDefinition): string[] {
  for (const event of events) {
    const list = event.type === "spawn-refused" ? AGENTS_TOLD.exec(event.message)?.[1]?.split(", ") : undefined;
    const run = runs.get(event.runId);
    if (list === undefined || run === undefined || leaderOf(run, runs).start.depth > 0) continue;
    const isOwn = subagents.every(({ name }, index) => list[index] === name);
    return list.slice(isOwn ? subagents.length : 0);
  }
  return [];
}

/** The run whose definition a made-up child has its tools and specialists from. */
function leaderOf(run: RunRecording, runs: Recording["runs"]): RunRecording {
  const parent = run.start.agent === MADE_UP ? runs.get(run.start.parentId ?? "") : undefined;
  return parent === undefined ? run : leaderOf(parent, runs);
}

/** A run and the children made up below it, which have its tools and its specialists. */
function family(run: RunRecording): RunRecording[] {
  return [run, ...run.children.filter(({ start }) => start.agent === MADE_UP).flatMap(family)];
}

type Call = { toolName: string; output: string; isAsked: boolean; children: readonly RunRecording[] };

function callsOf({ calls, results, asked, children }: RunRecording): Call[] {
  const made = Map.groupBy(children, ({ start }) => start.call?.callId);
  return [...calls.values()].map(({ callId, toolName }) => ({
    toolName,
    output: results.get(callId)?.output ?? "",
    isAsked: asked.has(callId),
    children: made.get(callId) ?? [],
  }));
}

/** By name: the runs that `subagent_<name>` made; none when it was refused every time, or only spoken of. */
function specialistsOf(calls: readonly Call[]): Map<string, RunRecording[]> {
  const specialists = new Map<string, RunRecording[]>();
  for (const name of calls.flatMap(toolsTold)) {
    const isNamed = name.startsWith(NAMED_TOOL) && !isDelegationTool(name);
    if (isNamed) specialists.set(name.slice(NAMED_TOOL.length), []);
  }
  for (const { toolName, output, children } of calls) {
    if (!toolName.startsWith(NAMED_TOOL) || isDelegationTool(toolName) || UNKNOWN.test(output)) continue;
    const name = toolName.slice(NAMED_TOOL.length);
    const known = specialists.get(name) ?? [];
    specialists.set(name, [...known, ...children.filter(({ start }) => start.agent === name)]);
  }
  return specialists;
}

const DELEGATION_TOOLS = new Set([
  "subagent",
  "parallel_subagent",
  "subagent_send",
  "subagent_report",
  "subagent_wait",
  "subagent_cancel",
  "subagent_list",
]);

function isDelegationTool(name: string): boolean {
  return DELEGATION_TOOLS.has(name);
}

/** The tools a run was told it has, when it called one it had not. */
function toolsTold({ output }: Call): string[] {
  const list = UNKNOWN.test(output) ? /Your tools: (.*)\.$/s.exec(output)?.[1] : undefined;
  return list?.split(", ") ?? [];
}

/** One that was never used makes no difference. */
function showsDelegation(call: Call): boolean {
  const { toolName, output } = call;
  if (toolsTold(call).includes("subagent")) return true;
  return (
    (isDelegationTool(toolName) && !UNKNOWN.test(output)) ||
    (isSubagentToolName(toolName) && output.endsWith(CAN_FETCH))
  );
}

function hasTool(definition: AgentDefinition, name: string): boolean {
  const tools: readonly { name: string }[] = Array.isArray(definition.tools) ? definition.tools : [];
  return tools.some((each) => each.name === name) || (definition.subagents ?? []).some((each) => hasTool(each, name));
}

/** First runs whose call named a definition: `subagent { agent: "scout" }`. */
function namedInCalls({ runs }: Recording): RunRecording[] {
  return [...runs.values()].filter((run) => {
    const { start } = run;
    if (start.agent === MADE_UP || start.depth === 0 || start.agentId !== run.runId) return false;
    const toolName = callOf(run, runs)?.toolName;
    return toolName === "subagent" || toolName === "parallel_subagent";
  });
}

function callOf({ start }: RunRecording, runs: Recording["runs"]): ToolCallPart | undefined {
  return runs.get(start.parentId ?? "")?.calls.get(start.call?.callId ?? "");
}

/** What a call said for itself is not the definition's. */
function asNamedInCalls(
  definition: AgentDefinition,
  [first]: readonly RunRecording[],
  { runs, rootId }: Recording,
): AgentDefinition {
  const call = first && callOf(first, runs);
  const input = (call?.input ?? {}) as { tasks?: unknown };
  const task = Array.isArray(input.tasks) ? input.tasks[first?.start.call?.index ?? 0] : input;
  const { max_turns, timeout_ms } = (task ?? {}) as Record<string, unknown>;
  const defaultTurns = runs.get(rootId)?.start.terms?.limits.defaultMaxTurns;
  const isDefault = max_turns !== undefined || definition.maxTurns === defaultTurns;
  return definition.with({
    maxTurns: isDefault ? undefined : definition.maxTurns,
    timeoutMs: timeout_ms === undefined ? definition.timeoutMs : undefined,
  });
}
