/** The tools of a run, ready for dispatch, and which of them its children are shown. */

import type { AgentDefinition } from "../core/agent.ts";
import { oneLine, shortened } from "../core/clean-text.ts";
import { messageOf, UserError } from "../core/errors.ts";
import { toTools } from "../core/foreign-tool.ts";
import { MAX_TOOLS } from "../core/limits.ts";
import { nearest } from "../core/nearest.ts";
import { type Steps, wait } from "../core/now-or-later.ts";
import { mayUse, type Rights } from "../core/rights.ts";
import type { Schema } from "../core/schema.ts";
import { isSubagentToolName } from "../core/spawn.ts";
import type { Tool } from "../core/tool.ts";
import type { ReadyTool, ToolSet } from "../core/tool-set.ts";
import { compileSchema } from "../schema/compile.ts";
import { withoutDenied } from "../subagents/delegation-tools.ts";

type ToolSetRequest = {
  readonly tools: readonly Tool[];
  /** Can be called and are not shown. */
  readonly hidden?: readonly Tool[] | undefined;
  readonly isDeepest: boolean;
  /** The system prompt, which estimates count with the tools. */
  readonly instructions: string | undefined;
};

export function* toolSet({ tools, hidden = [], isDeepest, instructions }: ToolSetRequest): Steps<ToolSet> {
  checkCount(tools);
  const byName = new Map<string, ReadyTool>();
  for (const each of [...tools, ...hidden]) {
    if (byName.has(each.name)) {
      throw new UserError(`Two tools are named ${each.name}: the model could not tell them apart`);
    }
    byName.set(each.name, yield* readyTool(each));
  }
  const definitions = [...byName.values()].slice(0, tools.length).map((ready) => ready.definition);
  return { byName, definitions, bytes: JSON.stringify(definitions).length + (instructions?.length ?? 0), isDeepest };
}

/** Before the first request: the answer of a provider would come late, and would not say which. */
function checkCount(tools: readonly Tool[]): void {
  if (tools.length <= MAX_TOOLS) return;
  const servers = serverCounts(tools);
  if (servers !== "")
    throw new UserError(
      `A request can have ${MAX_TOOLS} tools, and this agent has ${tools.length}, of these from MCP servers: ${servers}. List the tools that are needed in the setting tools of a server, or give its tools to one subagent only`,
    );
  const shown = shortened(tools.map(({ name }) => name).join(", "), MAX_NAMES);
  throw new UserError(
    `A request can have ${MAX_TOOLS} tools, and this agent has ${tools.length}: ${shown}. Give it fewer in tools or by deny, and the others to agents in subagents`,
  );
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

function* readyTool(tool: Tool): Steps<ReadyTool> {
  const known = readyTools.get(tool);
  if (known !== undefined) return known;
  const schema = yield* inputSchemaOf(tool);
  const { name, description, provider } = tool;
  const definition = { name, description, inputSchema: schema.jsonSchema, ...(provider !== undefined && { provider }) };
  const ready = { tool, schema, definition };
  if (Object.isFrozen(tool)) readyTools.set(tool, ready);
  return ready;
}

/** Says whose schema it is that cannot be used. */
function* inputSchemaOf({ name, inputSchema }: Tool): Steps<Schema> {
  let schema: Schema;
  try {
    schema = yield* wait(compileSchema(inputSchema));
  } catch (cause) {
    throw new UserError(`The input schema of the tool ${name} cannot be used: ${messageOf(cause)}`, { cause });
  }
  const { type = "object" } = schema.jsonSchema;
  if (type === "object") return schema;
  throw new UserError(`The input of the tool ${name} must be an object; its schema says ${JSON.stringify(type)}`);
}

/** Whether this tool can be called and is not shown, because `subagent` names its agent. */
export function isHidden({ byName, definitions }: ToolSet, name: string): boolean {
  return byName.has(name) && !definitions.some((each) => each.name === name);
}

/** Those of a set that the rights name; never a tool for children. */
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

export function withoutTools(set: ToolSet, stays: (ready: ReadyTool) => boolean): ToolSet {
  return narrowed(set, (ready) => (stays(ready) ? ready : undefined));
}

/** What `leave` leaves of each tool; the set itself when that is all of it. */
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
