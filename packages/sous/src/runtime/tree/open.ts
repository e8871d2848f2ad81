/** A tree that has no root run yet: everything its runs share, put together. */

import type { AgentDefinition, ModelChoice } from "../../core/agent.ts";
import type { Approve } from "../../core/approval.ts";
import type { Host } from "../../core/clock.ts";
import { checkConversation, DEFAULT_CONVERSATION } from "../../core/conversation.ts";
import { ignore, UserError, withDefaults } from "../../core/errors.ts";
import { externalModelFor } from "../../core/external-agent.ts";
import type { Budget, Ledger } from "../../core/limits.ts";
import type { Model } from "../../core/model.ts";
import { readHistory } from "../../core/read-history.ts";
import type { PlacedStart, TreeTerms } from "../../core/run-start.ts";
import type { ReservedId, RunOptions, RuntimeOptions } from "../../core/runtime.ts";
import { budgetRowsOf, type ChainLink, checkShared } from "../../core/shared-budget.ts";
import { FIRST_FENCE, type Store } from "../../core/store.ts";
import { readTraceContext } from "../../core/trace-context.ts";
import type { Journal } from "../../core/tree-ports.ts";
import { isUlid } from "../../core/ulid.ts";
import { fromStored } from "../../core/units.ts";
import { checkLimits, DEFAULT_LIMITS } from "../../core/words/limits.ts";
import { ChildTime, type MessageLimit, MessageStarts } from "../budget/admission.ts";
import { createDeadlines } from "../budget/deadlines.ts";
import { openLedger, withinBudget } from "../budget/ledger.ts";
import { priceFor, priceOf, withFees } from "../budget/prices.ts";
import { Slots } from "../budget/run-slots.ts";
import { chainOf, sharedChainOf } from "../budget/shared-budget-client.ts";
import { createJournal } from "../events/journal.ts";
import { ruledAgent, type TreeParts } from "./parts.ts";
import type { PlacedRuns } from "./placing/placed-runs.ts";
import { type ProfileSource, Profiles } from "./profiles.ts";
import { redactorFor } from "./redaction.ts";
import type { EarlierTree } from "./restore/earlier-tree.ts";
import type { GivenAnswers } from "./restore/given-answers.ts";
import { Tree, tellBudgetNear } from "./tree.ts";

/** Everything that all trees of a runtime have in common, and what is asked of this one. */
export type Shared = {
  options: RuntimeOptions;
  runOptions: TreeOptions;
  host: Host;
  store: Store;
  newId: () => string;
  models: (choice: ModelChoice) => Model | Promise<Model>;
  /** The children of one message, where no limit of executions is set. */
  perMessage?: MessageLimit | undefined;
  /** Definitions of roots that are placed, before those in `agents`. No call finds them. */
  roots?: Roots | undefined;
  /** Runs that work elsewhere; undefined without an engine. */
  placed?: PlacedRuns | undefined;
  /** Keeps the books in another way than by the rules, as a rerun does. */
  openLedger?: ((budget: Budget) => Ledger) | undefined;
  /** Takes the place of the profiles that follow from the definitions, as in a rerun. */
  profiles?: ((given: Profiles) => ProfileSource) | undefined;
};

export type Roots = {
  readonly names: readonly string[];
  definitionOf(name: string): AgentDefinition | undefined | Promise<AgentDefinition | undefined>;
};

/** The options of a caller for a tree, and what its root remembers besides. */
export type TreeOptions = RunOptions & ReservedId & Pick<TreeTerms, "fanOut">;

/** A stored tree that is resumed: its claim, what it had done, and the answers to its open questions. */
export type Earlier = {
  /** The worker that continues it, and what it asks instead of a person of its own. */
  readonly worker?: { readonly name: string; readonly ask: Approve | undefined } | undefined;
  readonly fence: number;
  readonly tree: EarlierTree;
  readonly answers: GivenAnswers;
};

/** The rules of a runtime whose agents alone have rules: the tree remembers that there were some. */
const NO_RULES: TreeParts["rules"] = { decide: () => undefined };

export type OpenTree = ReturnType<typeof openTree>;

export function openTree(shared: Shared, earlier?: Earlier) {
  const { options, runOptions, host, store, newId, models, perMessage, placed } = shared;
  const { clock, random, cwd } = host;
  const redactor = redactorFor(host);
  const limits = checkLimits(withDefaults(DEFAULT_LIMITS, options.limits, runOptions.limits));
  const { onExhausted = "wrap-up", onLiveChildren = "wait", requireAll = false } = runOptions;
  const rootId = earlier?.tree.rootId ?? reservedId(runOptions.rootId) ?? newId();
  const first = earlier?.tree.first;
  // A child elsewhere is known by its place in the journal alone.
  const requireStore = options.requireStore === true || placed !== undefined;
  const loss = lossOf(store, rootId, earlier?.fence);
  const journal: Journal = createJournal({
    store,
    rootId,
    clock,
    requireStore,
    firstSeq: earlier && earlier.tree.lastSeq + 1,
    fence: earlier?.fence,
    hooks: {
      redactor,
      isAlone: () => tree.book.isOneAtWork,
      // The mark is not needed with a required store: nothing outside happens after the loss, so the journal is as good as after a crash.
      onDegraded: requireStore ? undefined : loss.mark,
      onLost: () => placed?.leave(journal),
    },
  });
  const deadlines = createDeadlines(clock);
  const { from, ...budget } = runOptions.budget ?? {};
  checkShared(from);
  const isPlacedChild = first?.placed !== undefined && first.parentId !== null;
  const rows = placed && budgetRowsOf(store);
  const treeId = first?.placed?.rootId ?? rootId;
  const root =
    shared.openLedger?.(budget) ??
    // The budgets of a placed child are those that it was given: its own share is among them.
    openLedger(isPlacedChild ? {} : budget, {
      slots: new Slots(limits.maxConcurrent, limits.onFull),
      shared:
        rows && first?.placed
          ? chainOf(rows, linksOf(first.placed, rootId), clock)
          : from && sharedChainOf(from, clock),
      stored: rows && { rows, id: treeId, clock },
      onNear: (limit, path) => tellBudgetNear(path, limit, tree.book, journal),
    });
  const profiles = new Profiles({
    resolveModel: (choice) => externalModelFor(choice, options.models?.external) ?? models(choice),
    priceOf: (model, providerTools) => withFees(model, priceFor(model, options.models?.prices), providerTools),
    allowedModels: options.models?.allow ?? [],
    windowOf: (model) => model.contextWindow ?? priceOf(model.id)?.contextWindow,
    limits,
    agents: options.agents ?? [],
    now: clock.monotonic,
  });
  const tree: Tree = new Tree({
    settings: {
      cwd,
      folder: earlier === undefined ? cwd : earlier.tree.root.state.start.cwd,
      trace: () => (host.trace === undefined ? readTraceContext(host.environment) : host.trace()),
      isSampled: host.isSampled,
      redactor,
      conversation: checkConversation(withDefaults(DEFAULT_CONVERSATION, runOptions.conversation)),
      onExhausted,
      onLiveChildren,
      requireAll,
    },
    asking: { clock, random, journal, deadlines, callsAtOnce: options.maxConcurrentCalls },
    profiles: shared.profiles?.(profiles) ?? profiles,
    limits,
    spending: {
      budget,
      sharedBudget: from?.name,
      root,
      children: isPlacedChild ? root : root.openAs("children", withinBudget(limits.children, budget)),
      deadlines,
      childTime: new ChildTime(isPlacedChild ? undefined : limits.children.durationMs, clock, deadlines, {
        onExceeded(reason) {
          for (const live of tree.book.live) if (live.who.depth === 1) live.scope.abort(reason);
        },
        onNear: (limit) => tellBudgetNear(undefined, limit, tree.book, journal),
      }),
      starts: perMessage && limits.children.executions === undefined ? new MessageStarts(perMessage) : undefined,
    },
    approve: earlier?.worker === undefined ? askOf(options.approve) : earlier.worker.ask,
    rules: typeof options.approve === "object" ? options.approve : ruledAgent(options.agents ?? []) && NO_RULES,
    records: {
      rootId: treeId,
      newId,
      store,
      ...readHistory(earlier === undefined ? store : historyStore(earlier.tree, store), rootId),
      endWithLoss: loss.end,
      release: () => store.release(rootId, earlier?.fence ?? FIRST_FENCE),
    },
    fanOut: runOptions.fanOut,
    placed,
    worker: earlier?.worker?.name,
    earlier: earlier?.tree,
    answers: earlier?.answers,
  });
  for (const listener of [options.onEvent ?? [], runOptions.onEvent ?? []].flat()) journal.subscribe(listener);
  // `last`: the end of the latest run of the root, which a follow-up waits for.
  const last: Promise<unknown> = Promise.resolve();
  const rootAgentId = first?.agentId ?? rootId;
  return { tree, journal, deadlines, rootId, rootAgentId, store, runOptions, newId, earlier: earlier?.tree, last };
}

/** Runs of the journal as they were read, and those of other journals from the store. */
function historyStore(tree: EarlierTree, store: Store): Pick<Store, "read" | "run"> {
  const own = tree.reader(store);
  const read: Store["read"] = (id, which) => (id === tree.rootId ? own : store).read(id, which);
  return { read, run: (runId) => store.run(runId) };
}

/** The stored budgets that a placed run draws on. A root opens its own itself. */
function linksOf({ budgets }: PlacedStart, journalId: string): ChainLink[] {
  return budgets
    .filter(({ name }) => name !== journalId)
    .map(({ name, limits }) => ({ name, ...(Object.keys(limits).length > 0 && { limits: fromStored(limits) }) }));
}

function askOf(approve: RuntimeOptions["approve"]): Approve | undefined {
  return typeof approve === "object" ? approve.ask : approve;
}

function reservedId(given: string | undefined): string | undefined {
  if (given !== undefined && !isUlid(given))
    throw new UserError("rootId must be a ULID in capitals that no run has yet");
  return given;
}

/** Marks the loss in a store that cannot keep events but may still keep this: one word, and that no one works on the tree any more. */
function lossOf(store: Store, rootId: string, fence: number = FIRST_FENCE) {
  let lost: string | undefined;
  const mark = async (reason: string): Promise<void> => {
    lost = reason;
    await store.markLost(rootId, reason);
  };
  const end = async (): Promise<void> => {
    // The store may work again: mark the loss before the claim is released, or another process could continue half a history.
    if (lost !== undefined) await mark(lost);
    await store.release(rootId, fence);
  };
  // No one waits for either: a store that failed may never answer.
  return { mark: (reason: string) => void mark(reason).catch(ignore), end: () => void end().catch(ignore) };
}
