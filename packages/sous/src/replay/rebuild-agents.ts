/** Definitions made from a recording alone: enough to run it again where nobody has the real ones. */

import { type AgentDefinition, agent } from "../core/agent.ts";
import type { ToolCallPart } from "../core/message.ts";
import type { Recording, RunRecording } from "../core/recording.ts";
import { isSubagentToolName } from "../core/subagent-names.ts";
import type { Tool, ToolTier } from "../core/tool.ts";
import { recordedOutput } from "./recorded-output.ts";
import { agentsTold, isTooDeep, isUnknownTool, MADE_UP, toolsTold } from "./told-names.ts";

const NAMED_TOOL = "subagent_";
const REPORT_TOOL = "subagent_report";

export type RebuildPorts = {
  makeTool(name: string): Tool;
  namedTool(definition: AgentDefinition, tier: ToolTier): Tool;
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
  const told = agentsTold(recording);

  /** `runs` are of one definition; what their made-up children did tells about it too, because they have what it has. */
  function define(runs: readonly RunRecording[]): AgentDefinition {
    const [first] = runs;
    if (first === undefined) throw new Error("A definition without a run");
    const { start } = first;
    const calls = runs.flatMap(family).flatMap(callsOf);
    const specialists = specialistsOf(calls, runs.flatMap(told.own));
    const subagents = [...specialists].map(([name, below]) => (below.length === 0 ? spokenOf(name) : define(below)));
    // A call or a parent may have taken some away: it has whatever any of its runs had.
    const use = [...new Set(runs.flatMap(({ start: each }) => each.rights.use))];
    const delegate = [...new Set(runs.flatMap(({ start: each }) => each.rights.delegate))];
    const own = use.map(ports.makeTool);
    const others = delegate.filter((name) => !use.includes(name) && !subagents.some((each) => hasTool(each, name)));
    if (others.length > 0) giveTo(subagents, others.map(ports.makeTool));
    const asked = subagents.filter(({ name }) =>
      calls.some((call) => call.isAsked && call.toolName === NAMED_TOOL + name),
    );
    const definition = agent({
      name: start.agent,
      nickname: start.nickname,
      model: start.model,
      ...recordedOutput(runs),
      notes: start.notes,
      tools: [...own, ...asked.map((each) => ports.namedTool(each, "confirm"))],
      subagents: subagents.filter((each) => !asked.includes(each)),
      delegate:
        calls.some((call) => showsDelegation(call, specialists.size > 0)) ||
        (runs.some((each) => each.start.rights.spawn) ? undefined : false),
      maxTurns: start.maxTurns,
      timeoutMs: start.timeoutMs,
      budget: start.depth === 0 ? undefined : start.budget,
      deny: start.rights.deny,
    });
    runsOf.set(definition, runs);
    return definition;
  }

  /** An agent that could be called, and never was, has these tools: one whose name is known, if there is one. */
  function giveTo(subagents: AgentDefinition[], tools: AgentDefinition["tools"]): void {
    const unseen = subagents.findIndex((each) => runsNamed(each.name).length === 0);
    if (unseen === -1) subagents.push(agent({ name: "others", tools }));
    else subagents[unseen] = agent({ name: subagents[unseen]?.name ?? "", tools });
  }

  function runsNamed(name: string): RunRecording[] {
    return [...recording.runs.values()].filter(({ start }) => start.agent === name && start.depth > 0);
  }

  /** Somebody who was named and not called here: what others of the same name did is all there is to know. */
  function spokenOf(name: string): AgentDefinition {
    const elsewhere = runsNamed(name);
    if (elsewhere.length === 0 || defining.has(name)) return agent({ name });
    defining.add(name);
    const definition = define(elsewhere);
    defining.delete(name);
    return definition;
  }

  const roots = recording.paths.get(recording.runs.get(recording.rootId)?.path ?? "") ?? [];
  const root = define(roots);
  const named = new Map<string, AgentDefinition>();
  for (const [name, group] of Map.groupBy(namedInCalls(recording), ({ start }) => start.agent)) {
    const sorted = plainFirst(group);
    named.set(name, asNamedInCalls(define(sorted), sorted, recording));
  }
  const shared = told.shared.map((name) => named.get(name) ?? spokenOf(name));
  return {
    root,
    agents: [...shared, ...[...named.values()].filter((each) => !shared.includes(each))],
    define: (run) => define([run]),
    runsOf: (definition) => runsOf.get(definition) ?? [],
  };
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
function specialistsOf(calls: readonly Call[], told: readonly string[]): Map<string, RunRecording[]> {
  const specialists = new Map<string, RunRecording[]>(told.map((name) => [name, []]));
  for (const name of calls.flatMap(({ output }) => toolsTold(output))) {
    const isNamed = name.startsWith(NAMED_TOOL) && !isDelegationTool(name);
    if (isNamed) specialists.set(name.slice(NAMED_TOOL.length), []);
  }
  for (const { toolName, output, children } of calls) {
    if (!toolName.startsWith(NAMED_TOOL) || isDelegationTool(toolName)) continue;
    if (isUnknownTool(output) || isTooDeep(output)) continue;
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

/** One that was never used makes no difference. An agent with specialists can read their reports without it. */
function showsDelegation({ toolName, output }: Call, hasSpecialists: boolean): boolean {
  if (toolsTold(output).includes("subagent") || (isSubagentToolName(toolName) && isTooDeep(output))) return true;
  if (toolName === REPORT_TOOL && hasSpecialists) return false;
  return isDelegationTool(toolName) && !isUnknownTool(output);
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
    const toolName = callOf(run)?.toolName;
    return toolName === "subagent" || toolName === "parallel_subagent";
  });
}

function callOf({ start, parent }: RunRecording): ToolCallPart | undefined {
  return parent?.calls.get(start.call?.callId ?? "");
}

/** The one whose call changed the least comes first: what a call said is not the definition's. */
function plainFirst(runs: readonly RunRecording[]): RunRecording[] {
  const changes = (run: RunRecording) => {
    const task = taskOf(run);
    return CHANGING.filter((key) => task[key] !== undefined).length;
  };
  return runs.toSorted((one, other) => changes(one) - changes(other));
}

const CHANGING = ["context", "system_prompt", "output_schema", "allowed_tools", "model"];

/** Turns and time of a definition show in the runs whose calls did not speak of them; so does its own output. */
function asNamedInCalls(
  definition: AgentDefinition,
  group: readonly RunRecording[],
  recording: Recording,
): AgentDefinition {
  const { runs, rootId } = recording;
  const silentOn = (key: string) => group.find((run) => taskOf(run)[key] === undefined)?.start;
  const maxTurns = silentOn("max_turns")?.maxTurns;
  const defaultTurns = runs.get(rootId)?.start.terms?.limits.defaultMaxTurns;
  const named = definition.with({
    maxTurns: maxTurns === defaultTurns ? undefined : maxTurns,
    timeoutMs: silentOn("timeout_ms")?.timeoutMs,
  });
  return silentOn("output_schema") === undefined ? named.with({ outputSchema: undefined }) : named;
}

/** What the call that made this run asked for. */
function taskOf(run: RunRecording): Record<string, unknown> {
  const input = (callOf(run)?.input ?? {}) as { tasks?: unknown };
  const task = Array.isArray(input.tasks) ? input.tasks[run.start.call?.index ?? 0] : input;
  return (task ?? {}) as Record<string, unknown>;
}
