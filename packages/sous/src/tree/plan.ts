/** What a run begins with, whatever made it: a call of its parent, a further message, or a restart. */

import type { Conversation } from "../core/conversation.ts";
import type { RunCall, RunOrigin } from "../core/event.ts";
import type { UserMessage } from "../core/message.ts";
import type { Run, RunProfile, SummaryPlan } from "../core/run.ts";
import type { Scope } from "../core/scope.ts";
import type { AgentEntry } from "../subagents/agent-book.ts";
import type { EarlierRun } from "./restore/earlier-tree.ts";

export type RunPlan = {
  /** Its agent: path, label, account and budget are the same in all runs of one agent. */
  readonly entry: AgentEntry;
  readonly runId: string;
  readonly parent: Run | undefined;
  readonly profile: RunProfile;
  readonly task: UserMessage;
  /** What its model reads first: the earlier history, if there is one, and the task. */
  readonly conversation: Conversation;
  readonly origin: RunOrigin | undefined;
  /** The call of its parent that asked for it. */
  readonly call: RunCall | undefined;
  /** How it sums up for its parent; a root does not. */
  readonly summary: SummaryPlan | undefined;
  /** It sums up its own conversation, which continues from its answer alone. */
  readonly summarizes?: boolean | undefined;
  readonly scope: Scope;
  /** The run that it continues after a restart. */
  readonly earlier: EarlierRun | undefined;
};

export type ChildPlan = RunPlan & { readonly parent: Run };
