/** A child that has a path and has passed the checks of its input and its rights, and has not paid yet. */

import type { Account, Budget } from "./core/limits.ts";
import type { Run } from "./core/run.ts";
import type { AgentEntry } from "./subagents/agent-book.ts";
import type { Start } from "./tree-parts.ts";

export type Draft = Omit<Start, "entry" | "runId" | "parent"> & {
  readonly label: string;
  readonly path: string;
  readonly parent: Run;
  readonly above: Account;
  readonly account: Account;
  readonly budget: Budget | undefined;
  /** Set when it keeps its place: a follow-up, or a child that goes on after a restart. */
  readonly entry: AgentEntry | undefined;
};

export const NOT_STARTED = "Subagent cancelled before it started";
