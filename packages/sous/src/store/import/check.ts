/** Whether events are the history of one tree, as a runtime would have written it. */

import type { EventOf, StoredEvent } from "../../core/event.ts";

/**
 * The first thing that is wrong, as a sentence; undefined when all is well. What everything behind an import relies on
 * is checked: numbers without gaps, one root, parents before children, origins before the runs that continue them. So no
 * fold can go round in circles. Whether calls are answered is not: a tree may have been interrupted anywhere, and
 * the sender of a history repairs it.
 */
export function problemOfTree(events: readonly StoredEvent[]): string | undefined {
  const check = new TreeCheck();
  for (const [index, event] of events.entries()) {
    const problem =
      event.seq === index + 1 ? check.problemOf(event) : `has the number ${event.seq}, expected ${index + 1}`;
    if (problem !== undefined) return `event ${index + 1} (${event.type}) ${problem}`;
  }
  return events.length === 0 ? "it has no events" : undefined;
}

/** Ten times what a runtime allows; readers of a tree may use recursion. */
const MAX_DEPTH = 100;
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

type KnownRun = { readonly start: EventOf<"run-start">; isEnded: boolean };

class TreeCheck {
  #root: EventOf<"run-start"> | undefined;
  readonly #runs = new Map<string, KnownRun>();
  /** The agent that owns each path, for ever. */
  readonly #agentOfPath = new Map<string, string>();

  problemOf(event: StoredEvent): string | undefined {
    if (event.type === "run-start") return this.#problemOfStart(event);
    const run = this.#runs.get(event.runId);
    if (run === undefined) return "belongs to a run that has not started";
    if (run.isEnded) return "comes after the end of its run";
    const { agentId, parentId, path, depth } = run.start;
    const isSame =
      event.agentId === agentId && event.parentId === parentId && event.path === path && event.depth === depth;
    if (!isSame) return "does not agree with the start of its run on agentId, parentId, path or depth";
    if (event.type === "run-end") run.isEnded = true;
    if (event.type === "report") return this.#problemOfReport(event);
    return undefined;
  }

  #problemOfStart(start: EventOf<"run-start">): string | undefined {
    const problem = this.#problemOfIds(start) ?? this.#problemOfPosition(start) ?? this.#problemOfOrigin(start);
    if (problem !== undefined) return problem;
    this.#root ??= start;
    this.#agentOfPath.set(start.path, start.agentId);
    this.#runs.set(start.runId, { start, isEnded: false });
    return undefined;
  }

  #problemOfIds({ runId, agentId, parentId, origin }: EventOf<"run-start">): string | undefined {
    const ids = [runId, agentId, parentId ?? runId, origin?.runId ?? runId];
    if (!ids.every((id) => ULID.test(id))) return "has an id that is not a ULID";
    if (this.#runs.has(runId)) return "starts a run for the second time";
    return undefined;
  }

  #problemOfPosition(start: EventOf<"run-start">): string | undefined {
    const { path, agentId, parentId, depth } = start;
    const owner = this.#agentOfPath.get(path);
    if (owner !== undefined && owner !== agentId) return "takes a path that belongs to another agent";
    if (parentId === null) return this.#problemOfRoot(start);
    const parent = this.#runs.get(parentId);
    if (parent === undefined) return "starts below a run that has not started";
    if (parent.isEnded) return "starts below a run that has ended";
    if (depth !== parent.start.depth + 1) return `has the depth ${depth} below a run of depth ${parent.start.depth}`;
    if (depth > MAX_DEPTH) return `is deeper than ${MAX_DEPTH}`;
    const segment = path.startsWith(`${parent.start.path}/`) ? path.slice(parent.start.path.length + 1) : "";
    return segment === "" || segment.includes("/") ? "has a path that is not that of a child of its parent" : undefined;
  }

  /** The first run is the root; later ones without a parent are follow-ups of it. */
  #problemOfRoot({ agentId, runId, depth, path, origin }: EventOf<"run-start">): string | undefined {
    if (depth !== 0) return `has the depth ${depth} and no parent`;
    if (this.#root === undefined) return agentId === runId && !path.includes("/") ? undefined : "is not a root";
    const isFollowUp = agentId === this.#root.agentId && path === this.#root.path && origin?.kind === "follow-up";
    return isFollowUp ? undefined : "is a second root";
  }

  /** A run of its own, or one that continues a stored one. */
  #problemOfOrigin({ agentId, runId, parentId, origin }: EventOf<"run-start">): string | undefined {
    if (origin?.kind !== "follow-up" && agentId !== runId) return "has the agentId of another run";
    if (origin === undefined) return undefined;
    // A branch brings along what it begins with: the run it left is in another tree.
    if (origin.kind === "branch") return this.#root === undefined ? undefined : "is a branch and not the root";
    const from = this.#runs.get(origin.runId);
    if (from === undefined) return "continues a run that has not started";
    if (origin.kind === "fork")
      return origin.runId === parentId ? undefined : "is a fork of a run that is not its parent";
    if (!from.isEnded) return "continues a run that has not ended";
    return from.start.agentId === agentId ? undefined : "continues a run of another agent";
  }

  #problemOfReport({ childRunId, childAgentId }: EventOf<"report">): string | undefined {
    const child = this.#runs.get(childRunId);
    if (child === undefined) return "is about a run that has not started";
    return child.start.agentId === childAgentId ? undefined : "is about a run of another agent";
  }
}
