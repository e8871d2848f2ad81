/** Which tools a model can have: those that a provider defines run only on its own models. */

import { type Model, takesProviderTool } from "../core/model.ts";
import type { DeclaredRights, Rights } from "../core/rights.ts";
import type { RunProfile } from "../core/run.ts";
import type { Tool } from "../core/tool.ts";
import type { ToolSet } from "../core/tool-set.ts";
import { withoutTools } from "./tool-set.ts";

/**
 * What a parent passes on to a child on this model that names no tools. Tools of servers may be there for one agent below alone:
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
  return withoutTools(set, ({ tool }) => isTaken(tool, model));
}

/** Undefined when the model can have all of them. */
export function whyNotTaken(own: readonly Tool[], model: Model): string | undefined {
  const wrong = own.find((each) => !isTaken(each, model));
  if (wrong === undefined) return undefined;
  const id = wrong.provider?.id ?? "";
  return `The tool ${wrong.name} (${id}) is one of the provider ${JSON.stringify(id.split(".", 1)[0])}, and the model ${model.id} cannot use it: choose a model of that provider, or leave the tool out`;
}
