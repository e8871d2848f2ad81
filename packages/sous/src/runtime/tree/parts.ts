/** The parts that a tree is made of. */

import type { AgentDefinition } from "../../core/agent.ts";
import type { Approve } from "../../core/approval.ts";
import type { Deadlines } from "../../core/clock.ts";
import { UserError } from "../../core/errors.ts";
import type { Account, Budget, Ledger } from "../../core/limits.ts";
import type { Message } from "../../core/message.ts";
import type { RunProfile } from "../../core/run.ts";
import type { FanOutTerms, RunOrigin, TreeTerms } from "../../core/run-start.ts";
import type { Store } from "../../core/store.ts";
import type { IsSampled, TraceContext } from "../../core/trace-context.ts";
import type { TreePorts } from "../../core/tree-ports.ts";
import { toStoredLimits } from "../../core/units.ts";
import type { DelegationLimits } from "../../core/words/limits.ts";
import type { ChildTime, MessageStarts } from "../budget/admission.ts";
import { repairHistory } from "../loop/repair-history.ts";
import type { AskPorts } from "../model/ask-for-run.ts";
import type { PlacedRuns } from "./placing/placed-runs.ts";
import type { ProfileSource } from "./profiles.ts";
import type { EarlierTree } from "./restore/earlier-tree.ts";
import type { GivenAnswers } from "./restore/given-answers.ts";

/** `open.ts` makes one set per root. */
export type TreeParts = {
  readonly settings: Pick<TreePorts, "cwd" | "redactor" | "conversation" | "onExhausted" | "onLiveChildren"> & {
    /** The folder in which the tree was made, which may not be the one it works in now. */
    readonly folder: string | undefined;
    /** The tree fails when a child of it does. */
    readonly requireAll: boolean;
    /** The trace of a root that starts now. */
    readonly trace: () => TraceContext | undefined;
    /** Set when spans of its runs are exported. */
    readonly isSampled: IsSampled | undefined;
  };
  readonly asking: AskPorts;
  readonly profiles: ProfileSource;
  readonly limits: DelegationLimits;
  readonly spending: Spending;
  readonly approve: Approve | undefined;
  readonly rules: TreePorts["rules"];
  readonly records: Records;
  /** Set when the root is a fan-out from code. */
  readonly fanOut: FanOutTerms | undefined;
  /** Children that work elsewhere; undefined without an engine. */
  readonly placed: PlacedRuns | undefined;
  /** The worker that continues the journal; undefined outside of one. */
  readonly worker: string | undefined;
  /** The tree before a restart. */
  readonly earlier: EarlierTree | undefined;
  /** The answers to the questions that were open then. */
  readonly answers: GivenAnswers | undefined;
};

/** Everything that is counted: money, tokens, executions, slots, time. */
export type Spending = {
  /** The budget of the whole tree. */
  readonly budget: Budget;
  /** The name of the shared budget it draws on. */
  readonly sharedBudget: string | undefined;
  readonly root: Ledger;
  /** The account that all children share; the root is not part of it. */
  readonly children: Account;
  readonly deadlines: Deadlines;
  readonly childTime: ChildTime;
  /** The children of one message; undefined where they are not limited. */
  readonly starts: MessageStarts | undefined;
};

/** Names, and what the journal remembers. */
export type Records = {
  /** The root of the tree, which may have another journal. */
  readonly rootId: string;
  newId(): string;
  /** For other journals of the tree. */
  readonly store: Pick<Store, "read" | "run">;
  continuation(runId: string): Promise<Message[]>;
  endText(runId: string): Promise<string | undefined>;
  /** Called at the end of a root whose events were not all stored. */
  endWithLoss(): void;
  /** Gives the claim on the tree back, so that any process can resume it. */
  release(): Promise<void>;
};

/** The settings of the tree that its root stores. */
export function termsOf(parts: TreeParts, { rules: own, subagents }: RunProfile): TreeTerms {
  const { limits, settings, spending, fanOut, rules } = parts;
  const { conversation, onExhausted, onLiveChildren, requireAll } = settings;
  const { sharedBudget } = spending;
  return {
    ...{ limits: toStoredLimits(limits), conversation, onExhausted, onLiveChildren },
    ...(requireAll && { requireAll }),
    ...(sharedBudget !== undefined && { sharedBudget }),
    ...(fanOut !== undefined && { fanOut }),
    ...((rules ?? own ?? ruledAgent(subagents)) !== undefined && { hasRules: true }),
  };
}

/** One of these agents, or of those they may call, that has rules of its own. */
export function ruledAgent(
  agents: readonly AgentDefinition[],
  seen = new Set<AgentDefinition>(),
): AgentDefinition | undefined {
  for (const each of agents) {
    if (seen.has(each)) continue;
    seen.add(each);
    const found = each.rules !== undefined ? each : ruledAgent(each.subagents ?? [], seen);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The origin of a run that continues this one. */
export function followUpOf({ earlier }: TreeParts, runId: string): RunOrigin {
  const traceparent = earlier?.spanOf(runId);
  return { kind: "follow-up", runId, ...(traceparent !== undefined && { traceparent }) };
}

/** The messages of an earlier run of the tree. Throws a `UserError` when not all of it was stored: half a history would mislead the model. */
export async function historyOf({ asking: { journal }, records }: TreeParts, runId: string): Promise<Message[]> {
  // A loss that makes this reject is reported below, like any other.
  await journal.settled()?.catch(() => {});
  if (journal.degraded === undefined) return repairHistory(await records.continuation(runId));
  throw new UserError(`This tree cannot be continued, because not all of it was kept. ${journal.degraded}`);
}
