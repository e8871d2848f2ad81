/** Stored runs, one at a time: a typed view over the journal, and how to find, delete and import trees. */

import { checkWhole, checkWord, UserError } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import { readHistory } from "../core/read-history.ts";
import { RECORD_STATUSES, type RunQuery, type RunRecord, type Store } from "../core/store.ts";
import { parseDuration } from "../core/units.ts";
import type { Usage } from "../core/usage.ts";
import { isOutOfTurns } from "../core/words/outcomes.ts";
import { systemClock } from "../host.ts";
import { type ImportedTree, type ImportOptions, importTree } from "./import/tree.ts";

/** One run with everything that was said in it. */
export type StoredConversation = StoredConversationSummary & {
  /** As the model read them at the end, with what a follow-up or a fork began with. */
  messages: Message[];
};

/** One stored run without its messages. */
export type StoredConversationSummary = Pick<
  RunRecord,
  "id" | "parentId" | "rootId" | "agentId" | "path" | "label" | "depth" | "cwd"
> & {
  /** RFC 3339, in UTC. */
  startedAt: string;
  endedAt: string | undefined;
  metadata: StoredConversationMetadata;
};

/** What is known about a stored run besides its position in the tree. */
export type StoredConversationMetadata = Omit<RunRecord, keyof StoredConversationSummary | "agent" | "usage"> & {
  tokens: Usage;
  maxTurnsReached: boolean;
};

/** Which stored runs to list. */
export type StoredConversationQuery = Omit<RunQuery, "since"> & {
  /** Only runs that started at or after this time: RFC 3339, or milliseconds since 1970. */
  since?: string | number | undefined;
};

/** Which trees are deleted. */
export type PruneOptions = {
  /** Milliseconds, or a number with its unit: `90s`, `45m`, `12h`, `30d`, `2w`. */
  olderThan: number | string;
};

/** The stored runs of a store. */
export type StoredConversations = {
  /** Imports a tree that was exported as JSON: the text of the file, or its value. */
  save(exported: unknown, options?: ImportOptions): Promise<ImportedTree>;
  get(id: string): Promise<StoredConversation | undefined>;
  /** Newest first. */
  list(query?: StoredConversationQuery): Promise<StoredConversationSummary[]>;
  /** The runs that this run has started, in the order they started. */
  children(id: string): Promise<StoredConversationSummary[]>;
  /** The run and everything below it, parents before children; nothing when there is no such run. */
  tree(id: string): Promise<StoredConversationSummary[]>;
  /** Deletes a tree by the id of its root. False when there is none. */
  delete(id: string): Promise<boolean>;
  /** Deletes every tree whose root started longer ago than this, except those at work. Returns how many there were. */
  prune(options: PruneOptions): Promise<number>;
};

/** Reads, lists, imports and prunes the stored runs of a store. */
export function conversations(store: Store, now: () => number = systemClock.now): StoredConversations {
  return {
    save: (exported, options) => importTree(store, exported, options),
    async get(id) {
      const record = await store.run(id);
      if (record === undefined) return undefined;
      return { ...toSummary(record), messages: await readHistory(store, record.rootId).messages(id) };
    },
    async list(query = {}) {
      return (await store.list(toRunQuery(query))).map(toSummary);
    },
    async children(id) {
      return (await store.children(id)).map(toSummary);
    },
    async tree(id) {
      const record = await store.run(id);
      if (record === undefined) return [];
      const all = await store.tree(record.rootId);
      return (id === record.rootId ? all : below(id, all)).map(toSummary);
    },
    async delete(id) {
      const record = await store.run(id);
      if (record === undefined) return false;
      if (record.rootId === id) return store.delete(id);
      throw new UserError(`Run ${id} is a part of tree ${record.rootId}, which can only be deleted whole`);
    },
    prune: async ({ olderThan }) => store.prune(now() - toMilliseconds(olderThan)),
  };
}

function toSummary(record: RunRecord): StoredConversationSummary {
  const { id, parentId, rootId, agentId, path, label, depth, cwd, ...rest } = record;
  const { agent: _, startedAt, endedAt, usage: tokens, ...metadata } = rest;
  return {
    ...{ id, parentId, rootId, agentId, path, label, depth, cwd },
    startedAt: new Date(startedAt).toISOString(),
    endedAt: endedAt === undefined ? undefined : new Date(endedAt).toISOString(),
    metadata: { ...metadata, lost: record.lost, tokens, maxTurnsReached: isOutOfTurns(record) },
  };
}

/** The run and what is below it. Parents come first in `all`, so one walk finds everything. */
function below(id: string, all: readonly RunRecord[]): RunRecord[] {
  const found = new Set([id]);
  return all.filter((record) => {
    if (record.parentId !== null && found.has(record.parentId)) found.add(record.id);
    return found.has(record.id);
  });
}

/** Checked here, so that no store has to: a negative limit, for one, means no limit to some databases. */
function toRunQuery({ since, ...query }: StoredConversationQuery): RunQuery {
  if (query.limit !== undefined) checkWhole("limit", query.limit, 0);
  if (query.offset !== undefined) checkWhole("offset", query.offset, 0);
  if (query.status !== undefined) checkWord("status", query.status, RECORD_STATUSES);
  if (since === undefined) return query;
  const time = typeof since === "number" ? since : Date.parse(since);
  if (!Number.isFinite(time))
    throw new UserError(`since must be a time such as 2026-11-15T12:00:00Z; found ${JSON.stringify(since)}`);
  return { ...query, since: time };
}

function toMilliseconds(duration: number | string): number {
  const milliseconds = typeof duration === "number" ? duration : withUnit(duration);
  if (milliseconds !== undefined && Number.isFinite(milliseconds) && milliseconds >= 0) return milliseconds;
  throw new UserError(`olderThan must be milliseconds or a time such as 12h or 30d; found ${JSON.stringify(duration)}`);
}

function withUnit(text: string): number | undefined {
  return /[a-z]$/.test(text) ? parseDuration(text) : undefined;
}
