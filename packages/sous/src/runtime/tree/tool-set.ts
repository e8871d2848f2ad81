/** The tools of a run, ready for dispatch, and which of them its children are shown. */

import type { AgentDefinition } from "../../core/agent.ts";
import { oneLine, shortened } from "../../core/clean-text.ts";
import { UserError } from "../../core/errors.ts";
import { toTools } from "../../core/foreign-tool.ts";
import { type Model, takesProviderTool } from "../../core/model.ts";
import { nearest } from "../../core/nearest.ts";
import { type DeclaredRights, mayUse, type Rights } from "../../core/rights.ts";
import type { RunProfile } from "../../core/run.ts";
import { isSubagentToolName } from "../../core/spawn.ts";
import type { Tool } from "../../core/tool.ts";
import type { ReadyTool, ToolSet } from "../../core/tool-set.ts";
import { compileSchemaOf } from "../schema/compile.ts";
import { withoutDenied } from "../subagents/delegation-tools.ts";
import { allOf, andThen } from "./at-once.ts";

type ToolSetRequest = {
  readonly tools: readonly Tool[];
  /** Can be called and are not shown. */
  readonly hidden?: readonly Tool[] | undefined;
  readonly isDeepest: boolean;
  /** The system prompt, which estimates count with the tools. */
  readonly instructions: string | undefined;
};

export function toolSet({ tools, hidden = [], isDeepest, instructions }: ToolSetRequest): ToolSet | Promise<ToolSet> {
  checkCount(tools);
  const all = [...tools, ...hidden];
  const names = all.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new UserError(`Two tools are named ${twice}: the model could not tell them apart`);
  return andThen(allOf(all.map(readyTool)), (ready) => {
    const definitions = ready.slice(0, tools.length).map(({ definition }) => definition);
    const bytes = JSON.stringify(definitions).length + (instructions?.length ?? 0);
    return { byName: new Map(ready.map((each) => [each.tool.name, each])), definitions, bytes, isDeepest };
  });
}

/** Providers refuse requests with more than 128. */
const MAX_TOOLS = 120;

/** Throws before the first request: the answer of a provider would come late, and would not say which. */
function checkCount(tools: readonly Tool[]): void {
  if (tools.length <= MAX_TOOLS) return;
  const count = `A request can have ${MAX_TOOLS} tools, and this agent has ${tools.length}`;
  const servers = serverCounts(tools);
  if (servers !== "")
    throw new UserError(
      `${count}, of these from MCP servers: ${servers}. List the tools that are needed in the setting tools of a server, or give its tools to one subagent only`,
    );
  const shown = shortened(tools.map(({ name }) => name).join(", "), MAX_NAMES);
  throw new UserError(`${count}: ${shown}. Give it fewer in tools or by deny, and the others to agents in subagents`);
}

/** `github 90, linear 40`: most first. */
function serverCounts(tools: readonly Tool[]): string {
  const counts = new Map<string, number>();
  for (const { origin } of tools)
    if (origin !== undefined) counts.set(origin.server, (counts.get(origin.server) ?? 0) + 1);
  const most = [...counts].sort(([, one], [, other]) => other - one).slice(0, MAX_SERVERS);
  return most.map(([server, count]) => `${shortened(oneLine(server), 60)} ${count}`).join(", ");
}

const MAX_SERVERS = 10;

/** Characters of the names in a message. */
const MAX_NAMES = 4000;

/** Throws a `UserError` for a choice that no call of the agent could meet. What only its rights take away is no mistake. */
export function checkToolChoice(source: Partial<AgentDefinition>, own: readonly Tool[]): void {
  const { name, toolChoice, delegate, subagents = [] } = source;
  const hasChildren = delegate === true || subagents.length > 0;
  if (toolChoice === "required" && own.length === 0 && !hasChildren)
    throw new UserError(`toolChoice of agent ${name} is "required", and the agent has no tools`);
  if (typeof toolChoice !== "object") return;
  const { tool } = toolChoice;
  if (own.some((each) => each.name === tool) || (hasChildren && isSubagentToolName(tool))) return;
  const meant = nearest(
    tool,
    own.map((each) => each.name),
  );
  const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
  throw new UserError(`toolChoice of agent ${name} names the tool ${tool}, which the agent does not have${hint}`);
}

/** A tool that `tool()` made does not change: it is made ready once for all trees. */
const readyTools = new WeakMap<Tool, ReadyTool>();

function readyTool(tool: Tool): ReadyTool | Promise<ReadyTool> {
  const known = readyTools.get(tool);
  if (known !== undefined) return known;
  const { name, description, provider } = tool;
  return andThen(compileSchemaOf(`The input schema of the tool ${name}`, tool.inputSchema), (schema) => {
    const { jsonSchema: inputSchema } = schema;
    const { type = "object" } = inputSchema;
    if (type !== "object")
      throw new UserError(`The input of the tool ${name} must be an object; its schema says ${JSON.stringify(type)}`);
    const definition = { name, description, inputSchema, ...(provider !== undefined && { provider }) };
    const ready = { tool, schema, definition };
    if (Object.isFrozen(tool)) readyTools.set(tool, ready);
    return ready;
  });
}

/** True for a tool that can be called and is not shown, because `subagent` names its agent. */
export function isHidden({ byName, definitions }: ToolSet, name: string): boolean {
  return byName.has(name) && !definitions.some((each) => each.name === name);
}

/** Keeps the tools of a set that the rights name; never a tool for children. */
export function onlyAllowed(set: ToolSet, rights: Rights): ToolSet {
  const kept = [...set.byName].filter(([name, ready]) => ready.tool.category !== "subagent" && rights.use.has(name));
  const definitions = kept.map(([, ready]) => ready.definition);
  return { byName: new Map(kept), definitions, bytes: JSON.stringify(definitions).length, isDeepest: false };
}

/** The set without what `had` allows and `rights` do not. What a fork is shown without having it stays: its prefix does not change. */
export function withoutLost(set: ToolSet, had: Rights, rights: Rights): ToolSet {
  return narrowed(set, (ready) => {
    if (!mayUse(ready.tool, rights) && mayUse(ready.tool, had)) return undefined;
    const left = withoutDenied(ready.tool, rights.deny);
    if (left === ready.tool || left === undefined) return left && ready;
    return { ...ready, tool: left, definition: { ...ready.definition, description: left.description } };
  });
}

/** The rest that `leave` leaves of each tool; the set itself when that is all of it. */
function narrowed(set: ToolSet, leave: (ready: ReadyTool) => ReadyTool | undefined): ToolSet {
  const isShown = new Set(set.definitions.map(({ name }) => name));
  const kept = [...set.byName].flatMap(([name, ready]): [string, ReadyTool][] => {
    const left = leave(ready);
    return left === undefined ? [] : [[name, left]];
  });
  if (kept.length === set.byName.size && kept.every(([name, ready]) => set.byName.get(name) === ready)) return set;
  const definitions = kept.flatMap(([name, ready]) => (isShown.has(name) ? [ready.definition] : []));
  const bytes = set.bytes - JSON.stringify(set.definitions).length + JSON.stringify(definitions).length;
  return { ...set, byName: new Map(kept), definitions, bytes };
}

/** A fork is shown what its parent is shown; of the tools for children it has those that its own definition gives it. */
export function forkedSet(shown: ToolSet, own: ToolSet): ToolSet {
  const isItsOwn = (name: string, { tool }: ReadyTool) =>
    tool.category !== "subagent" || own.isDeepest || own.byName.has(name);
  const kept = [...shown.byName].filter(([name, ready]) => isItsOwn(name, ready));
  return { ...shown, byName: new Map(kept), isDeepest: own.isDeepest };
}

/** The agent's own tools and those of every agent it may call, at any depth; its own come first. */
export function catalogOf(own: readonly Tool[], subagents: readonly AgentDefinition[] = []): ReadonlyMap<string, Tool> {
  const catalog = new Map<string, Tool>();
  const seen = new Set<AgentDefinition>();
  const collect = (tools: readonly Tool[], below: readonly AgentDefinition[]): void => {
    for (const each of tools) {
      if (each.category !== "subagent" && !catalog.has(each.name)) catalog.set(each.name, each);
    }
    const called = [...below, ...tools.flatMap((each) => (each.agent === undefined ? [] : [each.agent]))];
    for (const each of called) {
      if (seen.has(each)) continue;
      seen.add(each);
      collect(toTools(each.tools), each.subagents ?? []);
    }
  };
  collect(own, subagents);
  return catalog;
}

/**
 * The tools that a parent passes on to a child on this model that names none. Tools of servers may be there for one agent below alone:
 * such a child has those that its parent itself may use.
 */
export function inherited({ catalog, rights }: RunProfile, model: Model): Tool[] {
  return [...catalog.values()].filter((each) => isTaken(each, model) && !isForOthers(each, rights));
}

function isForOthers({ name, origin }: Tool, { use }: Rights): boolean {
  return origin !== undefined && !use.has(name);
}

/** The same for its rights: it may still pass on what its parent could. */
export function withoutOthers(declared: DeclaredRights, { catalog, rights }: RunProfile): DeclaredRights {
  const isKept = (name: string): boolean => {
    const tool = catalog.get(name);
    return tool === undefined || !isForOthers(tool, rights);
  };
  const passed = [...rights.delegate];
  if (declared.tools !== undefined || passed.every(isKept)) return declared;
  return { ...declared, tools: passed.filter(isKept), delegate: declared.delegate ?? passed };
}

/** A tool of a provider runs only on its own models. */
function isTaken({ provider }: Pick<Tool, "provider">, model: Model): boolean {
  return provider === undefined || takesProviderTool(model, provider.id);
}

export function onlyTaken(set: ToolSet, model: Model): ToolSet {
  return narrowed(set, (ready) => (isTaken(ready.tool, model) ? ready : undefined));
}

/** Undefined when the model can have all of them. */
export function whyNotTaken(own: readonly Tool[], model: Model): string | undefined {
  const wrong = own.find((each) => !isTaken(each, model));
  if (wrong === undefined) return undefined;
  const id = wrong.provider?.id ?? "";
  return `The tool ${wrong.name} (${id}) is one of the provider ${JSON.stringify(id.split(".", 1)[0])}, and the model ${model.id} cannot use it: choose a model of that provider, or leave the tool out`;
}

export const UNDECLARED: DeclaredRights = { tools: undefined, delegate: undefined, deny: undefined, spawn: undefined };

/** The rights that a definition declares; one without tools takes what its parent passes on. */
export function declare(
  definition: AgentDefinition,
  own: readonly Tool[],
  catalog: ReadonlyMap<string, Tool>,
): DeclaredRights {
  const { deny, delegate, subagents = [] } = definition;
  const startsNothing = subagents.length === 0 && own.every((each) => each.category !== "subagent");
  const spawn = delegate === false && startsNothing ? false : undefined;
  if (definition.tools === undefined && definition.subagents === undefined) return { ...UNDECLARED, deny, spawn };
  return {
    tools: definition.tools && own.filter(({ category }) => category !== "subagent").map(({ name }) => name),
    delegate: [...catalog.keys()],
    deny,
    spawn,
  };
}
