/** Imports an exported tree into a store. The file is untrusted: everything in it is checked. */

import { isWellFormed } from "../../../core/clean-text.ts";
import type { Random } from "../../../core/clock.ts";
import { messageOf, StoreError, UserError } from "../../../core/errors.ts";
import type { EventOf, StoredEvent } from "../../../core/event.ts";
import { NO_OWNER, type Store } from "../../../core/store.ts";
import { isUlid, replaceIds, timeOfUlid, ulidSource } from "../../../core/ulid.ts";
import { EVENT_VERSION } from "../../../core/words/event-rows.ts";
import { isSameRun } from "../brief-event.ts";
import { isVersion, LAST_SEQ, parseStoredEvent } from "../event-schema.ts";
import { TREE_FORMAT, type TreeFile } from "../export/tree.ts";
import { MAX_RUN_DEPTH } from "../run-columns.ts";

/** Options for importing a tree. */
export type ImportOptions = {
  /** Gives all runs new ids, so that a tree can be taken in twice. Without it a tree that is there already is refused. */
  newIds?: boolean | undefined;
  /** The source of new ids; the machine's own chance when unset. */
  random?: (() => number) | undefined;
};

/** The imported tree in figures. */
export type ImportedTree = { rootId: string; runs: number; events: number };

/**
 * `exported` is the text of a file, or what JSON made of it. The tree is kept whole or not at all; a file that is refused
 * throws a `UserError` and changes nothing. No process owns the tree: it can be inspected and resumed.
 *
 * The rights in a file grant nothing: tools are functions, which only the definitions given to `resume` have,
 * and what is resumed is narrowed by those again.
 */
export async function importTree(store: Store, exported: unknown, options: ImportOptions = {}): Promise<ImportedTree> {
  const file = parseFile(typeof exported === "string" ? parseText(exported) : exported);
  const events = options.newIds === true ? withNewIds(file.events, options.random ?? Math.random) : file.events;
  const runIds = events.flatMap(({ type, runId }) => (type === "run-start" ? [runId] : []));
  for (const runId of runIds) {
    if ((await store.run(runId)) !== undefined)
      throw notImported(
        `run ${runId} is in this store already; delete its tree first, or import it with new ids (--new-ids)`,
      );
  }
  const [rootId = ""] = runIds;
  await store.append(rootId, events, NO_OWNER);
  if (file.lost !== undefined) await markLost(store, rootId, file.lost);
  return { rootId, runs: runIds.length, events: events.length };
}

/** Without the mark it could be resumed as if it were whole, so then it is not kept at all. */
async function markLost(store: Store, rootId: string, reason: string): Promise<void> {
  try {
    await store.markLost(rootId, reason);
  } catch (error) {
    await store.delete(rootId);
    throw error;
  }
}

const MAX_REASON = 10_000;

function parseFile(value: unknown): TreeFile {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw notImported(NOT_A_TREE);
  const { format, version, lost, events, ...rest } = value as { readonly [Field in keyof TreeFile]?: unknown };
  if (format !== TREE_FORMAT) throw notImported(NOT_A_TREE);
  if (!isVersion(version)) throw notImported("its version is not a whole number of at least 1");
  if (version > EVENT_VERSION)
    throw notImported(`it has version ${version} and this sous knows version ${EVENT_VERSION}; use a newer sous`);
  if (Object.keys(rest).length > 0) throw notImported("it has fields besides format, version, lost and events");
  if (lost !== undefined && !(typeof lost === "string" && lost.length <= MAX_REASON && lost.isWellFormed()))
    throw notImported("lost is not a short text");
  if (!Array.isArray(events) || events.length > LAST_SEQ) throw notImported("events is not a list");
  const parsed = events.map((event) => parseEvent(event, version));
  const problem = problemOfTree(parsed);
  if (problem !== undefined) throw notImported(problem);
  return { format, version: EVENT_VERSION, lost, events: parsed };
}

const NOT_A_TREE = "it is not a tree that sous has exported as JSON";

function parseEvent(value: unknown, version: number): StoredEvent {
  try {
    const event = parseStoredEvent(value, version);
    if (!isWellFormed(event)) throw notImported(`event ${event.seq} (${event.type}) holds half a character`);
    return event;
  } catch (error) {
    throw error instanceof StoreError ? notImported(messageOf(error)) : error;
  }
}

/** Max length in units of UTF-16. A larger tree belongs into a database. */
const MAX_LENGTH = 128_000_000;
/** The file, its list, and the 110 levels an event may have. */
const MAX_LEVELS = 112;
/** An event has some ten lists and objects: each takes many times the two characters it is written with. */
const MAX_OBJECTS = 4_000_000;

/** Throws a `UserError` of one sentence that holds nothing of the text: it would be for a terminal. */
function parseText(text: string): unknown {
  if (text.length > MAX_LENGTH) throw notImported(`it has more than ${MAX_LENGTH} characters`);
  checkShape(text);
  try {
    return JSON.parse(text.startsWith("\ufeff") ? text.slice(1) : text);
  } catch {
    throw notImported("it is not JSON, or only a part of it");
  }
}

function notImported(what: string): UserError {
  return new UserError(`The file cannot be imported: ${what}`);
}

/** Looked at before it is parsed: a few megabytes of brackets would become gigabytes of nested lists. */
function checkShape(text: string): void {
  let level = 0;
  let objects = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit === QUOTE) index = endOfString(text, index);
    else if (unit === OPEN_LIST || unit === OPEN_OBJECT) {
      level += 1;
      objects += 1;
      if (level > MAX_LEVELS) throw notImported(`it has more than ${MAX_LEVELS} levels`);
      if (objects > MAX_OBJECTS) throw notImported(`it has more than ${MAX_OBJECTS} lists and objects`);
    } else if (unit === CLOSE_LIST || unit === CLOSE_OBJECT) level -= 1;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** The index of the closing quote. A quote is escaped when an odd number of backslashes stands before it. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let first = end;
    while (text.charCodeAt(first - 1) === BACKSLASH && first - 1 > start) first -= 1;
    if ((end - first) % 2 === 0) return end;
  }
  return text.length;
}

/**
 * Every id of a run becomes a new one, also of one that was placed and never begun, and where a text speaks of it, such as `(subagent_id: …)`. The new ids have the
 * time and the order of the old ones, so that lists stay in order.
 */
function withNewIds(events: readonly StoredEvent[], random: Random): StoredEvent[] {
  const old = events.flatMap((event) =>
    event.type === "run-start" ? [event.runId] : event.type === "placed" ? [event.childRunId] : [],
  );
  let time = 0;
  const next = ulidSource(() => time, random);
  const newIds = new Map<string, string>();
  for (const id of new Set(old.sort())) {
    time = timeOfUlid(id);
    newIds.set(id, next());
  }
  return events.map((event) => parseStoredEvent(replaceIds(event, newIds)));
}

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
    if (!isSameRun(event, run.start))
      return "does not agree with the start of its run on agentId, parentId, path or depth";
    if (event.type === "run-end") run.isEnded = true;
    if (event.type === "report") return this.#problemOfReport(event);
    if (event.type === "placed") return this.#problemOfPlaced(event);
    return undefined;
  }

  #problemOfStart(start: EventOf<"run-start">): string | undefined {
    const problem =
      this.#problemOfIds(start) ??
      this.#problemOfPosition(start) ??
      this.#problemOfOrigin(start) ??
      this.#problemOfPlace(start);
    if (problem !== undefined) return problem;
    this.#root ??= start;
    this.#agentOfPath.set(start.path, start.agentId);
    this.#runs.set(start.runId, { start, isEnded: false });
    return undefined;
  }

  #problemOfIds({ runId, agentId, parentId, origin }: EventOf<"run-start">): string | undefined {
    const ids = [runId, agentId, parentId ?? runId, origin?.runId ?? runId];
    if (!ids.every(isUlid)) return "has an id that is not a ULID";
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
    if (depth > MAX_RUN_DEPTH) return `is deeper than ${MAX_RUN_DEPTH}`;
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

  /** A store asks which tree a placed run belongs to: here it is this one. */
  #problemOfPlace({ runId, placed }: EventOf<"run-start">): string | undefined {
    const rootId = this.#root?.runId ?? runId;
    return placed === undefined || placed.rootId === rootId ? undefined : "was placed in another tree";
  }

  /** The child is in this file, or was never begun. */
  #problemOfPlaced({ childRunId, childAgentId }: EventOf<"placed">): string | undefined {
    if (!isUlid(childRunId) || !isUlid(childAgentId)) return "has an id that is not a ULID";
    return this.#runs.has(childRunId) ? "places a run that has started" : undefined;
  }

  #problemOfReport({ childRunId, childAgentId }: EventOf<"report">): string | undefined {
    const child = this.#runs.get(childRunId);
    if (child === undefined) return "is about a run that has not started";
    return child.start.agentId === childAgentId ? undefined : "is about a run of another agent";
  }
}
