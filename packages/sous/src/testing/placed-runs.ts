/** The rules for placed runs: each begins once, as the run that its parent has placed. */

import type { EventOf } from "../core/event.ts";

/** True for a run that has a journal of its own below another one. */
export function beginsJournal({ placed, parentId }: EventOf<"run-start">): boolean {
  return placed !== undefined && parentId !== null;
}

/** The placed runs of a tree so far. Its methods say what is wrong with the event that they are given. */
export class PlacedBegins {
  readonly #placed = new Map<string, EventOf<"placed">>();

  add(event: EventOf<"placed">, hasStarted: boolean): string[] {
    const { childRunId } = event;
    const problems: string[] = [];
    if (this.#placed.has(childRunId)) problems.push(`places ${childRunId} a second time`);
    if (hasStarted) problems.push(`places ${childRunId}, which has started`);
    this.#placed.set(childRunId, event);
    return problems;
  }

  problemsOf(start: EventOf<"run-start">): string[] {
    const placed = this.#placed.get(start.runId);
    if (placed === undefined) return beginsJournal(start) ? ["was not placed by its parent"] : [];
    if (!beginsJournal(start)) return ["does not say that it was placed"];
    const { childAgentId: agentId, childPath: path, runId: parentId } = placed;
    const wanted = factsOf({ ...placed, agentId, path, parentId });
    const found = factsOf(start);
    return Object.keys(wanted)
      .filter((name) => wanted[name] !== found[name])
      .map((name) => `has another ${name} than the run that was placed`);
  }
}

type Facts = Pick<EventOf<"run-start">, "agentId" | "path" | "parentId" | "agent" | "label" | "call">;

function factsOf({ agentId, path, parentId, agent, label, call }: Facts): Record<string, unknown> {
  return { agentId, path, parent: parentId, agent, label, call: call && `${call.callId}/${call.index}` };
}
