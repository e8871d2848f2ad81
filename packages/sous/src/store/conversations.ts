/** What a store has kept, one run at a time: a typed view over the journal, and how to find, forget and take in trees. */

import { UserError } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import { checkWhole, checkWord } from "../core/options.ts";
import type { RunQuery, RunRecord, Store } from "../core/store.ts";
import type { Usage } from "../core/usage.ts";
import { readHistory } from "./history.ts";
import { type ImportedTree, type ImportOptions, importTree } from "./import-tree.ts";

/** One run with everything that was said in it. */
export type StoredConversation = StoredConversationSummary & {
  /** As the model read them at the end, with what a follow-up or a fork began with. */
  messages: Message[];
};

export type StoredConversationSummary = {
  /** A ULID. */
  id: string;
  parentId: string | null;
  rootId: string;
  /** Stable over follow-ups: the id of the agent's first run. */
  agentId: string;
  path: string;
  label: string;
  /** The root is 0. */
  depth: number;
  /** Only of a root: the folder its tree was made in. Undefined when it is not known. */
  cwd: string | undefined;
  /** RFC 3339, in UTC. */
  startedAt: string;
  endedAt: string | undefined;
  metadata: StoredConversationMetadata;
};

export type StoredConversationMetadata = {
  status: RunRecord["status"];
  stopReason: string | undefined;
  maxTurnsReached: boolean;
  turns: number;
  toolCount: number;
  tokens: Usage;
  /** Null when a price is unknown. */
  costUsd: number | null;
  durationMs: number | undefined;
  model: string;
  task: string;
  summaryPrompt: string | undefined;
  allowedTools: readonly string[];
  /** Only of a root: why not everything that happened in its tree was kept. */
  lost: string | undefined;
};

export type StoredConversationQuery = Omit<RunQuery, "since"> & {
  /** Only runs that started at or after this time: RFC 3339, or milliseconds since 1970. */
  since?: string | number | undefined;
};

export type PruneOptions = {
  /** Milliseconds, or a number with its unit: `90s`, `45m`, `12h`, `30d`, `2w`. */
  olderThan: number | string;
};

export type StoredConversations = {
  /** Takes in a tree that was exported as JSON: the text of the file, or what it holds. */
  save(exported: unknown, options?: ImportOptions): Promise<ImportedTree>;
  get(id: string): Promise<StoredConversation | undefined>;
  /** Newest first. */
  list(query?: StoredConversationQuery): Promise<StoredConversationSummary[]>;
  /** The runs that this run has started, in the order they started. */
  children(id: string): Promise<StoredConversationSummary[]>;
  /** The run and everything below it, parents before children; nothing when there is no such run. */
  tree(id: string): Promise<StoredConversationSummary[]>;
  /** Forgets a tree by the id of its root. False when there is none. */
  delete(id: string): Promise<boolean>;
  /** Deletes every tree whose root started longer ago than this, except those at work. Returns how many there were. */
  prune(options: PruneOptions): Promise<number>;
};

export function conversations(store: Store, now: () => number = Date.now): StoredConversations {
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
  const { id, parentId, rootId, agentId, path, label, depth, cwd, startedAt, endedAt, durationMs } = record;
  const { status, stopReason, turns, toolCount, usage, costUsd, model, task, summaryPrompt, allowedTools, lost } =
    record;
  return {
    id,
    parentId,
    rootId,
    agentId,
    path,
    label,
    depth,
    cwd,
    startedAt: toRfc3339(startedAt),
    endedAt: endedAt === undefined ? undefined : toRfc3339(endedAt),
    metadata: {
      status,
      stopReason,
      maxTurnsReached: stopReason === "turns",
      turns,
      toolCount,
      tokens: usage,
      costUsd,
      durationMs,
      model,
      task,
      summaryPrompt,
      allowedTools,
      lost,
    },
  };
}

function toRfc3339(time: number): string {
  return new Date(time).toISOString();
}

/** The run and what is below it. Parents come first in `all`, so one walk finds everything. */
function below(id: string, all: readonly RunRecord[]): RunRecord[] {
  const found = new Set([id]);
  return all.filter((record) => {
    if (record.parentId !== null && found.has(record.parentId)) found.add(record.id);
    return found.has(record.id);
  });
}

const STATUSES: readonly string[] = Object.keys({
  running: true,
  interrupted: true,
  completed: true,
  incomplete: true,
  budget_exceeded: true,
  timeout: true,
  cancelled: true,
  refused: true,
  failed: true,
} satisfies Record<RunRecord["status"], true>);

/** Checked here, so that no store has to: a negative limit, for one, means no limit to some databases. */
function toRunQuery({ since, ...query }: StoredConversationQuery): RunQuery {
  if (query.limit !== undefined) checkWhole("limit", query.limit, 0);
  if (query.offset !== undefined) checkWhole("offset", query.offset, 0);
  if (query.status !== undefined) checkWord("status", query.status, STATUSES);
  if (since === undefined) return query;
  const time = typeof since === "number" ? since : Date.parse(since);
  if (!Number.isFinite(time))
    throw new UserError(`since must be a time such as 2026-11-15T12:00:00Z; found ${JSON.stringify(since)}`);
  return { ...query, since: time };
}

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

function toMilliseconds(duration: number | string): number {
  const [, count = "", unit = ""] = /^(\d{1,6})([smhdw])$/.exec(String(duration)) ?? [];
  const milliseconds = typeof duration === "number" ? duration : Number(count) * (UNITS[unit] ?? Number.NaN);
  if (Number.isFinite(milliseconds) && milliseconds >= 0) return milliseconds;
  throw new UserError(`olderThan must be milliseconds or a time such as 12h or 30d; found ${JSON.stringify(duration)}`);
}
