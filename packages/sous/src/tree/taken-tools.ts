/** Which tools a model can have: those that a provider defines run only on its own models. */

import { type Model, takesProviderTool } from "../core/model.ts";
import type { RunProfile } from "../core/run.ts";
import type { Tool } from "../core/tool.ts";
import type { ToolSet } from "../core/tool-set.ts";
import { withoutTools } from "./tool-set.ts";

/** What a parent passes on to a child on this model. */
export function inherited({ catalog }: RunProfile, model: Model): Tool[] {
  return [...catalog.values()].filter((each) => isTaken(each, model));
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
