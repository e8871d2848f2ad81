/** The choice of the children that are placed. What cannot travel to a worker is refused at the gate, with a sentence. */

import type { AgentDefinition } from "../../../core/agent.ts";
import { Refused } from "../../../core/errors.ts";
import type { Run, RunProfile } from "../../../core/run.ts";
import type { SpawnOptions, SpawnRequest } from "../../../core/spawn.ts";
import type { Tool } from "../../../core/tool.ts";
import type { DelegationLimits } from "../../../core/words/limits.ts";

/** The kinds of tools that work on files or start programs. */
const ON_FILES: ReadonlySet<Tool["category"]> = new Set(["read", "edit", "search", "execute"]);

/**
 * True when the child goes to a worker. A child that a call makes up has no definition that a worker could know, and stays with its
 * parent. So does one that cannot travel, when it is the limits that would place it. Throws `Refused` for one that asks for a
 * worker itself and cannot be sent to one.
 */
export function isToBePlaced(
  parent: Run,
  profile: RunProfile,
  request: SpawnRequest,
  { place }: Pick<DelegationLimits, "place">,
  sharesWorkspace: boolean,
): boolean {
  const isNamed = request.agent !== undefined;
  const isAsked = profile.place === "worker";
  if (!isAsked && (place !== "children" || !isNamed)) return false;
  const definition = typeof request.agent === "object" ? request.agent : undefined;
  const obstacle = whyNotBelow(parent) ?? whyNotPlaced(profile, definition, request.options, sharesWorkspace);
  if (isAsked && obstacle !== undefined) throw notPlaced(profile, obstacle);
  return obstacle === undefined;
}

/** Throws `Refused` for a run that needs something of this process. */
export function checkTravels(
  profile: RunProfile,
  definition: AgentDefinition | undefined,
  options: SpawnOptions | undefined,
  sharesWorkspace: boolean,
): void {
  const obstacle = whyNotPlaced(profile, definition, options, sharesWorkspace);
  if (obstacle !== undefined) throw notPlaced(profile, obstacle);
}

function notPlaced({ agentName }: RunProfile, obstacle: string): Refused {
  return new Refused("invalid_input", `The agent ${agentName} cannot be placed on a worker: ${obstacle}`);
}

/** The rules of an agent bind everything below it, and a worker would not know them. */
function whyNotBelow(parent: Run): string | undefined {
  for (let above: Run | undefined = parent; above !== undefined; above = above.parent)
    if (above.profile.rules !== undefined)
      return `the rules of ${above.profile.agentName} above it are functions of this process`;
  return undefined;
}

function whyNotPlaced(
  profile: RunProfile,
  definition: AgentDefinition | undefined,
  options: SpawnOptions | undefined,
  sharesWorkspace: boolean,
): string | undefined {
  const { model, hooks, rules } = profile;
  if (model.external !== undefined) return `${model.id} is an external agent of this process`;
  if (profile.provider === undefined)
    return `its model ${model.id} is an object of this process; name it as "provider/model"`;
  if (hooks !== undefined) return "its hooks are functions of this process";
  if (rules !== undefined) return "its rules are functions of this process; give them to the workers";
  if (options?.context === "fork") return "a fork needs the conversation of its parent, which stays here";
  if (profile.inheritsTools === true && profile.rights.use.size > 0)
    return "it has its parent's tools, which are functions of this process; give it `tools` of its own";
  if (isCode(definition?.outputSchema) || isCode(options?.outputSchema))
    return "its outputSchema is code of this process; give it as JSON Schema";
  const onFiles = [...profile.tools.byName.values()].find(({ tool }) => ON_FILES.has(tool.category));
  if (onFiles !== undefined && !sharesWorkspace)
    return `its tool ${onFiles.tool.name} works on files, and the workers have others; set sharesWorkspace of the engine if they see the same`;
  return undefined;
}

/** A Standard Schema is code; a JSON Schema is data. */
function isCode(schema: unknown): boolean {
  return (typeof schema === "object" || typeof schema === "function") && schema !== null && "~standard" in schema;
}
