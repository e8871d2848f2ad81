/** What a tree is made of. */

import type { ChildTime } from "../budget/admission.ts";
import type { Approve } from "../core/approval.ts";
import type { Deadlines } from "../core/clock.ts";
import type { TreeTerms } from "../core/event.ts";
import type { Account, Budget, DelegationLimits, Ledger } from "../core/limits.ts";
import type { Message } from "../core/message.ts";
import type { TreePorts } from "../core/run.ts";
import type { AskPorts } from "../model/ask-for-run.ts";
import type { ProfileSource } from "./profiles.ts";
import type { EarlierTree } from "./restore/earlier-tree.ts";

/** `open.ts` makes one set per root. */
export type TreeParts = {
  readonly settings: Pick<TreePorts, "cwd" | "redactor" | "conversation" | "onExhausted" | "onLiveChildren"> & {
    /** Where the tree was made, which may not be where it works now. */
    readonly folder: string | undefined;
  };
  readonly asking: AskPorts;
  readonly profiles: ProfileSource;
  readonly limits: DelegationLimits;
  readonly spending: Spending;
  readonly approve: Approve | undefined;
  readonly rules: TreePorts["rules"];
  readonly records: Records;
  /** The root is a fan-out from code whose children answer as a run does. */
  readonly wholeAnswers: boolean;
  /** What the tree had done before a restart. */
  readonly recorded: EarlierTree | undefined;
};

/** Everything that is counted: money, tokens, executions, slots, time. */
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
  /** Called at the end of a root whose events were not all stored. */
  endWithLoss(): void;
};

/** The settings of the tree that its root stores. */
export function termsOf({ limits, settings, spending, wholeAnswers, rules }: TreeParts): TreeTerms {
  const { conversation, onExhausted, onLiveChildren } = settings;
  const { sharedBudget } = spending;
  return {
    ...{ limits, conversation, onExhausted, onLiveChildren, wholeAnswers },
    ...(sharedBudget !== undefined && { sharedBudget }),
    ...(rules !== undefined && { hasRules: true }),
  };
}
