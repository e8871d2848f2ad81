/** The agents of a tree with what each has used so far, and the live runs. */

import type { Account, Budget } from "../../core/limits.ts";
import { externalNameIn } from "../../core/model.ts";
import type { Fault, RunOutcome } from "../../core/outcome.ts";
import type { Incoming, Run, RunProfile } from "../../core/run.ts";
import type { AgentSummary } from "../../core/runtime.ts";
import type { ChildInfo, ChildStatus } from "../../core/spawn.ts";
import { addCost, addUsage, noUsage, type Usage } from "../../core/usage.ts";
import { childPath, type LabelCounters, notePath } from "./paths.ts";

/** One agent over all its runs. Small: a tree may have a hundred thousand. */
export type AgentEntry = {
  readonly agentId: string;
  readonly parent: AgentEntry | undefined;
  readonly path: string;
  readonly label: string;
  readonly depth: number;
  /** The name of the definition; `subagent` for a child made up by a call. */
  readonly agentName: string;
  /** The external agent that does its work, if one does. */
  readonly external: string | undefined;
  /** Undefined for one that has not run since the restart of its tree. */
  profile: RunProfile | undefined;
  readonly account: Account;
  /** The agent's own share, over all its runs. */
  readonly budget: Budget | undefined;
  readonly isBackground: boolean;
  /** The tree fails with it when the rate of its model is the reason. */
  isRequired?: true | undefined;
  /** The fault of its last run. */
  fault?: Fault | undefined;
  lastRunId: string;
  /** The session with an external agent. */
  sessionId: string | undefined;
  /** Set while it is alive, before that while it is queued, and while it waits for an answer that comes later. */
  run: Run | undefined;
  status: RunOutcome["status"] | "running";
  turns: number;
  toolCount: number;
  /** Undefined before the end of its first run; then the usage object of that run, until a second run ends. */
  usage: Usage | undefined;
  costUsd: number | null;
  durationMs: number;
  children: AgentEntry[] | undefined;
  /** The uses of each label below it. */
  counters: LabelCounters | undefined;
  /** Messages that arrived too late for its last run: the next run reads them first. */
  unread: Incoming[] | undefined;
};

/** A chain of runs that wait for each other is as long as the tree is deep. With more live runs the waits are not counted. */
const MAX_COUNTED_RUNS = 12;

/** The entry of an agent from before the restart of its tree. */
type EarlierEntry = Pick<
  AgentEntry,
  "agentId" | "parent" | "path" | "label" | "depth" | "agentName" | "external" | "account" | "budget" | "isBackground"
>;

type NewEntry = Omit<EarlierEntry, "agentName" | "external" | "depth"> & { profile: RunProfile };

export class AgentBook {
  readonly #byId = new Map<string, AgentEntry>();
  readonly #live = new Map<string, Run>();

  /** The path of the next child with this label. Used up even if the child is then refused. */
  nextPath(parent: AgentEntry, label: string): string {
    parent.counters ??= new Map();
    return childPath(parent.path, label, parent.counters);
  }

  add({ profile, ...made }: NewEntry): AgentEntry {
    const external = externalNameIn(profile.model.id);
    const depth = made.parent === undefined ? 0 : made.parent.depth + 1;
    return this.#enter({ ...made, depth, agentName: profile.agentName, external }, profile);
  }

  /** A child that was refused before the restart had this path. */
  noteRefused(parentId: string, path: string, label: string): void {
    this.#notePath(this.#byId.get(parentId), path, label);
  }

  /** Gives an agent the path it had. */
  restore(earlier: EarlierEntry): AgentEntry {
    this.#notePath(earlier.parent, earlier.path, earlier.label);
    return this.#enter(earlier, undefined);
  }

  #notePath(parent: AgentEntry | undefined, path: string, label: string): void {
    if (parent === undefined) return;
    parent.counters ??= new Map();
    notePath(path, label, parent.counters);
  }

  #enter(made: EarlierEntry, profile: RunProfile | undefined): AgentEntry {
    const { parent } = made;
    const entry: AgentEntry = {
      ...made,
      profile,
      lastRunId: made.agentId,
      sessionId: undefined,
      run: undefined,
      status: "running",
      turns: 0,
      toolCount: 0,
      usage: undefined,
      costUsd: 0,
      durationMs: 0,
      children: undefined,
      counters: undefined,
      unread: undefined,
    };
    this.#byId.set(entry.agentId, entry);
    if (parent !== undefined) {
      parent.children ??= [];
      parent.children.push(entry);
    }
    return entry;
  }

  /** Removes a child that was cancelled before it started. */
  remove(entry: AgentEntry): void {
    entry.status = "cancelled";
    this.#byId.delete(entry.agentId);
    if (entry.parent !== undefined) entry.parent.children = entry.parent.children?.filter((each) => each !== entry);
  }

  started(entry: AgentEntry, run: Run): void {
    entry.run = run;
    entry.lastRunId = run.who.runId;
    entry.status = "running";
    if (entry.unread !== undefined) run.inbox = [...entry.unread, ...(run.inbox ?? [])];
    entry.unread = undefined;
    this.#live.set(entry.path, run);
  }

  /** Adds what the run used; a run without an outcome was ended by a fault of the runtime. */
  ended(run: Run, outcome: RunOutcome | undefined): void {
    const entry = this.#byId.get(run.who.agentId);
    if (entry === undefined) return;
    this.#live.delete(entry.path);
    entry.run = undefined;
    entry.unread = run.inbox;
    this.count(entry, outcome);
  }

  /** The run has stopped without an end. What it used counts from now on. */
  parked(run: Run, outcome: RunOutcome): void {
    this.ended(run, outcome);
    const entry = this.#byId.get(run.who.agentId);
    if (entry !== undefined) entry.run = run;
  }

  /** A parked run has an end after all. */
  closed(run: Run, outcome: RunOutcome): void {
    const entry = this.#byId.get(run.who.agentId);
    if (entry === undefined) return;
    entry.run = undefined;
    entry.status = outcome.status;
    entry.fault = outcome.fault;
  }

  /** Adds what one ended run of the agent used. */
  count(entry: AgentEntry, outcome: RunOutcome | undefined): void {
    entry.status = outcome?.status ?? "failed";
    entry.fault = outcome?.fault;
    if (outcome === undefined) return;
    entry.turns += outcome.turns;
    entry.toolCount += outcome.toolCount;
    entry.durationMs += outcome.durationMs;
    entry.costUsd = addCost(entry.costUsd, outcome.costUsd);
    const before = entry.usage;
    entry.usage = before === undefined ? outcome.usage : { ...before };
    if (before !== undefined) addUsage(entry.usage, outcome.usage);
  }

  get(agentId: string): AgentEntry | undefined {
    return this.#byId.get(agentId);
  }

  /** The agent with this path, alive or not. */
  at(path: string): AgentEntry | undefined {
    const live = this.#live.get(path);
    if (live !== undefined) return this.#byId.get(live.who.agentId);
    for (const entry of this.#byId.values()) if (entry.path === path) return entry;
    return undefined;
  }

  /** True from its start to its end; false while it waits for its slot. */
  isLive(run: Run): boolean {
    return this.#live.get(run.who.path) === run;
  }

  get live(): Iterable<Run> {
    return this.#live.values();
  }

  /** False when two runs may emit events at once; a run that waits for a child emits none. */
  get isOneAtWork(): boolean {
    if (this.#live.size > MAX_COUNTED_RUNS) return false;
    let atWork = 0;
    for (const run of this.#live.values()) if (run.openChildren === 0) atWork += 1;
    return atWork <= 1;
  }

  /** Every run waits for a child, and those at the end of all waits work elsewhere. */
  get isWaitingElsewhere(): boolean {
    let hasPlaced = false;
    for (const run of this.#live.values()) {
      if (run.placed !== undefined) hasPlaced = true;
      else if (run.openChildren === 0) return false;
    }
    return hasPlaced;
  }

  childrenOf(agentId: string): readonly AgentEntry[] {
    return this.#byId.get(agentId)?.children ?? [];
  }

  /** An agent and everything below it, parents before children. */
  summaries(agentId: string): AgentSummary[] {
    const own = this.#byId.get(agentId);
    return own === undefined ? [] : [own, ...this.below(agentId)].map(summarize);
  }

  /** Everything below an agent, parents before children. */
  below(agentId: string): AgentEntry[] {
    const found = [...this.childrenOf(agentId)];
    for (let index = 0; index < found.length; index++) {
      const children = found[index]?.children;
      if (children !== undefined) for (const child of children) found.push(child);
    }
    return found;
  }
}

function summarize(entry: AgentEntry): AgentSummary {
  const { agentId: id, path, label, depth, status, turns, toolCount, costUsd, durationMs } = entry;
  const parentId = entry.parent?.agentId ?? null;
  const usage = entry.usage === undefined ? noUsage() : { ...entry.usage };
  const summary: AgentSummary = {
    id,
    parentId,
    path,
    label,
    depth,
    status,
    turns,
    toolCount,
    usage,
    costUsd,
    durationMs,
  };
  if (entry.fault === undefined) return summary;
  const { type, message, kind } = entry.fault;
  return { ...summary, error: { type, message, ...(kind !== undefined && { kind }) } };
}

/** Delivers a message to an agent that is alive or about to start: read before its next turn, or with its task. */
export function deliver(entry: AgentEntry, incoming: Incoming): void {
  if (entry.run !== undefined) {
    entry.run.receive(incoming);
    return;
  }
  entry.unread ??= [];
  entry.unread.push(incoming);
}

export function childInfo(entry: AgentEntry): ChildInfo {
  const { agentId, lastRunId: runId, path, label, depth, agentName, external } = entry;
  return { agentId, runId, path, label, depth, agentName, ...(external !== undefined && { external }) };
}

export function childStatus(entry: AgentEntry): ChildStatus {
  const { run, isBackground: background } = entry;
  const turns = entry.turns + (run === undefined || run.isParked ? 0 : run.turns);
  return { ...childInfo(entry), status: statusOf(entry), background, turns };
}

function statusOf({ run, status }: AgentEntry): ChildStatus["status"] {
  if (run?.isParked) return "waiting";
  return run !== undefined && run.holding === undefined && run.placed === undefined ? "queued" : status;
}
