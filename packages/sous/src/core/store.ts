/** The port of a store: it keeps the events of trees and answers questions about their runs. */

import type { StoredEvent } from "./event.ts";
import type { RunStatus } from "./outcome.ts";
import type { Usage } from "./usage.ts";

/** One run as a row, folded from its events (`run-record.ts`). */
export type RunRecord = {
  id: string;
  agentId: string;
  parentId: string | null;
  rootId: string;
  path: string;
  agent: string;
  label: string;
  depth: number;
  /** `running` until its `run-end`; a store that finds it so after a crash calls it `interrupted`. */
  status: RunStatus | "running" | "interrupted";
  stopReason: string | undefined;
  /** Milliseconds since 1970. */
  startedAt: number;
  endedAt: number | undefined;
  turns: number;
  toolCount: number;
  usage: Usage;
  costUsd: number | null;
  model: string;
  task: string;
  summaryPrompt: string | undefined;
  allowedTools: readonly string[];
};

export type RunQuery = {
  limit?: number | undefined;
  offset?: number | undefined;
  status?: RunRecord["status"] | undefined;
  /** Only runs that started at or after this time. */
  since?: number | undefined;
  /** Only roots. */
  rootsOnly?: boolean | undefined;
};

export type ReadOptions = {
  /** Only events with a greater number. */
  after?: number | undefined;
  runId?: string | undefined;
  /** At most so many, the earliest first: a reader that is far behind need not hold everything at once. */
  limit?: number | undefined;
};

export type Store = AsyncDisposable & {
  /** True when `append` keeps the events before it returns: the journal then does not batch. */
  readonly isImmediate: boolean;
  /**
   * Keeps the events of one tree, in order, all or none. Returning (or resolving) is the promise that they are kept;
   * a throw says that none of them is.
   */
  append(rootId: string, events: readonly StoredEvent[]): void | Promise<void>;
  /** The events of a tree in the order of their numbers. */
  read(rootId: string, options?: ReadOptions): Promise<readonly StoredEvent[]>;
  run(runId: string): Promise<RunRecord | undefined>;
  /** Newest first. */
  list(query?: RunQuery): Promise<RunRecord[]>;
  children(runId: string): Promise<RunRecord[]>;
  /** A root and everything below it, parents before children. */
  tree(rootId: string): Promise<RunRecord[]>;
};
