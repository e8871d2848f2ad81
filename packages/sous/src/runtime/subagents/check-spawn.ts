/** The checks of a request for a child, before anything is spent. */

import type { AgentDefinition } from "../../core/agent.ts";
import { Refused } from "../../core/errors.ts";
import { whyNotNamed } from "../../core/model.ts";
import { nearestFirst } from "../../core/nearest.ts";
import type { Rights } from "../../core/rights.ts";
import type { Run, RunProfile } from "../../core/run.ts";
import { depthMessage, isSubagentToolName, type SpawnOptions, type SpawnRequest } from "../../core/spawn.ts";
import { TURNS } from "../../core/words/limits.ts";

/** Max names in a sentence. */
const MAX_NAMES = 20;

/** Throws `Refused` with known names, the most similar first. */
export function findAgent(name: string, callable: readonly AgentDefinition[]): AgentDefinition {
  const found = callable.find((each) => each.name === name);
  if (found !== undefined) return found;
  throw new Refused("invalid_input", whyUnknown(name, callable) ?? "");
}

/** The sentence about a name that none of them has; undefined when one has it. */
export function whyUnknown(name: string, callable: readonly AgentDefinition[]): string | undefined {
  const known = callable.map((each) => each.name);
  if (known.includes(name)) return undefined;
  if (known.length === 0) return `Unknown agent: ${name}. No agents are defined.`;
  const names = nearestFirst(name, known);
  const more = names.length > MAX_NAMES ? `, and ${names.length - MAX_NAMES} more` : "";
  return `Unknown agent: ${name}. Known: ${names.slice(0, MAX_NAMES).join(", ")}${more}.`;
}

export function checkDepth(depth: number, maxDepth: number): void {
  if (depth > maxDepth) throw new Refused("depth_limit", depthMessage(maxDepth, depth - 1));
}

export function checkRequest(request: SpawnRequest, parent: Run): void {
  if (request.label.trim() === "") throw new Refused("invalid_input", "label cannot be empty");
  if (request.task.trim() === "") throw new Refused("invalid_input", "task_prompt cannot be empty");
  const { maxTurns, timeoutMs } = request.options ?? {};
  if (maxTurns !== undefined && !(Number.isInteger(maxTurns) && maxTurns >= 1 && maxTurns <= TURNS.max)) {
    throw new Refused("invalid_input", `max_turns must be between 1 and ${TURNS.max}; found ${maxTurns}`);
  }
  if (timeoutMs !== undefined && !(timeoutMs > 0)) {
    throw new Refused("invalid_input", `timeout_ms must be greater than 0; found ${timeoutMs}`);
  }
  checkNotOwnTask(request, parent);
  // A list of tools is exact: an agent that has one starts no child unless the list names a subagent tool.
  if (!parent.profile.rights.spawn)
    throw new Refused("invalid_input", "You may not start subagents: do this part of the work yourself");
}

/** A run may not hand on its own task unchanged: the child would do the same again. */
function checkNotOwnTask(request: SpawnRequest, parent: Run): void {
  if (request.options?.allowedTools !== undefined) return;
  const agentName = typeof request.agent === "string" ? request.agent : request.agent?.name;
  for (let run: Run | undefined = parent; run !== undefined; run = run.parent) {
    if (run.task !== request.task) continue;
    if (agentName !== undefined && agentName !== run.profile.agentName) continue;
    throw new Refused("invalid_input", "This is the task you were given: do it yourself");
  }
}

/** `isFixed`: the instructions stay as they are; a schema of the answer stands behind the task. */
export type NarrowedOptions = SpawnOptions & { readonly isFixed?: true };

/**
 * The options of a call for an agent that may be fixed: they narrow it and rewrite nothing, because its tools and what its rules allow
 * were given to these instructions, on this model, for that number of turns. `profile` is what the definition alone leads to. Throws `Refused`.
 */
export function narrowing(
  definition: AgentDefinition | undefined,
  { model }: RunProfile,
  asked: SpawnOptions | undefined,
): NarrowedOptions | undefined {
  if (definition === undefined || asked === undefined || !isFixed(definition)) return asked;
  const { name, maxTurns, outputSchema } = definition;
  if (asked.systemPrompt !== undefined)
    throw notNarrower(name, "has its own instructions", "leave system_prompt out and say in the task what to do");
  if (asked.context === "fork")
    throw notNarrower(
      name,
      "begins with its own instructions and not with your conversation",
      "leave context out and say in the task all it must know, or leave agent out and fork yourself",
    );
  if (asked.outputSchema !== undefined && outputSchema !== undefined)
    throw notNarrower(name, "has its own output_schema", "leave output_schema out");
  if (maxTurns !== undefined && asked.maxTurns !== undefined && asked.maxTurns > maxTurns)
    throw notNarrower(name, `has at most ${maxTurns} turns`, "leave max_turns out or ask for no more than that");
  if (definition.model === undefined || asked.model === undefined) return { ...asked, isFixed: true };
  if (asked.model !== definition.model && asked.model !== model.id)
    throw notNarrower(name, `works on ${model.id}`, "leave model out");
  return { ...asked, model: undefined, isFixed: true };
}

function isFixed({ fixed, rules }: AgentDefinition): boolean {
  return fixed ?? rules !== undefined;
}

function notNarrower(name: string, what: string, instead: string): Refused {
  return new Refused("invalid_input", `The agent ${name} ${what}, and a call cannot change that: ${instead}`);
}

/** A model that a call names; an object is given by code. `own` is the provider of the run that calls. */
export function checkModel(choice: unknown, own: string | undefined, allow: readonly string[]): void {
  if (typeof choice !== "string") return;
  const problem = whyNotNamed(choice, own, allow);
  if (problem !== undefined) throw new Refused("invalid_input", problem);
}

export function checkAllowed(allowed: readonly string[], rights: Rights): void {
  for (const name of allowed) {
    if (isSubagentToolName(name)) throw new Refused("invalid_input", `Subagent cannot have '${name}' in allowed_tools`);
    if (!rights.use.has(name)) {
      const known = [...rights.use].join(", ");
      throw new Refused(
        "invalid_input",
        `Unknown tool in allowed_tools: ${name}. ${known === "" ? "You have no tools to pass on." : `Known: ${known}.`}`,
      );
    }
  }
}
