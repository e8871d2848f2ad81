/** What a tree is made of, and what a run in it begins with. */

import type { ChildTime } from "./budget/child-time.ts";
import type { Approve } from "./core/approval.ts";
import type { Deadlines } from "./core/clock.ts";
import type { Conversation } from "./core/conversation.ts";
import type { RunCall, RunOrigin, TreeTerms } from "./core/event.ts";
import type { Account, Budget, DelegationLimits, Ledger } from "./core/limits.ts";
import type { Message, UserMessage } from "./core/message.ts";
import type { Run, RunProfile, SummaryPlan, TreePorts } from "./core/run.ts";
import type { Scope } from "./core/scope.ts";
import type { AskPorts } from "./model/ask-for-run.ts";
import type { Profiles } from "./profiles.ts";
import type { Recorded, RecordedRun } from "./recorded.ts";
import type { AgentEntry } from "./subagents/agent-book.ts";

/** What a tree is made of; `runtime.ts` makes one set per root. */
export type TreeParts = {
  readonly settings: Pick<TreePorts, "cwd" | "redactor" | "conversation" | "onExhausted" | "onLiveChildren"> & {
    /** Where the tree was made, which may not be where it works now. */
    readonly folder: string | undefined;
  };
  readonly asking: AskPorts;
  readonly profiles: Profiles;
  readonly limits: DelegationLimits;
  readonly spending: Spending;
  readonly approve: Approve | undefined;
  readonly rules: TreePorts["rules"];
  readonly records: Records;
  /** The root is a fan-out from code whose children answer as a run does. */
  readonly wholeAnswers: boolean;
  /** What a tree goes on from after a restart. */
  readonly recorded: Recorded | undefined;
};

/** Everything that is counted: money, tokens, executions, places, time. */
export type Spending = {
  /** For the whole tree. */
  readonly budget: Budget;
  /** The name of the shared budget it draws on. */
  readonly sharedBudget: string | undefined;
  readonly root: Ledger;
  /** What all children share; the root is not part of it. */
  readonly children: Account;
  readonly deadlines: Deadlines;
  readonly childTime: ChildTime;
};

/** Names, and what the journal remembers. */
export type Records = {
  newId(): string;
  continuation(runId: string): Promise<Message[]>;
  endText(runId: string): Promise<string | undefined>;
  /** Told at the end of a root whose events were not all kept. */
  endWithLoss(): void;
};

/** What a run of the root begins with. */
export type RootStart = Pick<Start, "runId" | "task" | "scope" | "summarizes"> &
  Partial<Pick<Start, "origin" | "earlier">>;

/** What a run begins with. */
export type Start = {
  readonly entry: AgentEntry;
  readonly runId: string;
  readonly parent: Run | undefined;
  readonly profile: RunProfile;
  readonly task: UserMessage;
  /** What it reads first: its task, and before that what it goes on with. */
  readonly conversation: Conversation;
  readonly origin: RunOrigin | undefined;
  readonly call: RunCall | undefined;
  /** How it sums up for its parent; a root does not. */
  readonly summary: SummaryPlan | undefined;
  /** It sums up its own conversation, which continues from its answer alone. */
  readonly summarizes?: boolean | undefined;
  readonly scope: Scope;
  /** The run it goes on with after a restart. */
  readonly earlier: RecordedRun | undefined;
};

/** What a root remembers of how its tree was told to behave. */
export function termsOf({ limits, settings, spending, wholeAnswers }: TreeParts): TreeTerms {
  const { conversation, onExhausted, onLiveChildren } = settings;
  const terms = { limits, conversation, onExhausted, onLiveChildren, wholeAnswers };
  return spending.sharedBudget === undefined ? terms : { ...terms, sharedBudget: spending.sharedBudget };
}
