/** The tools of a run, ready for dispatch, and which of them its children are shown. */

import type { AgentDefinition } from "../core/agent.ts";
import { messageOf, UserError } from "../core/errors.ts";
import { toTools } from "../core/foreign-tool.ts";
import { type Steps, wait } from "../core/now-or-later.ts";
import { mayUse, type Rights } from "../core/rights.ts";
import type { ReadyTool, ToolSet } from "../core/run.ts";
import type { Schema } from "../core/schema.ts";
import type { Tool } from "../core/tool.ts";
import { compileSchema } from "../schema/compile.ts";

export function* toolSet(tools: readonly Tool[], isDeepest: boolean, instructions: string | undefined): Steps<ToolSet> {
  const byName = new Map<string, ReadyTool>();
  for (const each of tools) {
    if (byName.has(each.name)) {
      throw new UserError(`Two tools are named ${each.name}: the model could not tell them apart`);
    }
    byName.set(each.name, yield* readyTool(each));
  }
  const definitions = [...byName.values()].map((ready) => ready.definition);
  return { byName, definitions, bytes: JSON.stringify(definitions).length + (instructions?.length ?? 0), isDeepest };
}

/** A tool that `tool()` made does not change: it is made ready once for all trees. */
const readyTools = new WeakMap<Tool, ReadyTool>();

function* readyTool(tool: Tool): Steps<ReadyTool> {
  const known = readyTools.get(tool);
  if (known !== undefined) return known;
  const schema = yield* inputSchemaOf(tool);
  const definition = { name: tool.name, description: tool.description, inputSchema: schema.jsonSchema };
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

/** Those of a set that the rights name; never a tool for children. */
export function onlyAllowed(set: ToolSet, rights: Rights): ToolSet {
  const kept = [...set.byName].filter(([name, ready]) => ready.tool.category !== "subagent" && rights.use.has(name));
  const definitions = kept.map(([, ready]) => ready.definition);
  return { byName: new Map(kept), definitions, bytes: JSON.stringify(definitions).length, isDeepest: false };
}

/** The set without what `had` allows and `rights` do not. What a fork is shown without having it stays: its prefix does not change. */
export function withoutLost(set: ToolSet, had: Rights, rights: Rights): ToolSet {
  const kept = [...set.byName].filter(([, { tool }]) => mayUse(tool, rights) || !mayUse(tool, had));
  if (kept.length === set.byName.size) return set;
  const definitions = kept.map(([, ready]) => ready.definition);
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
