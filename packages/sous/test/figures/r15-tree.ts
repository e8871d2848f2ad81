/** One tree of R15: its ledger, its runs and what becomes of them. */

import { type Amount, NO_AMOUNT, toNanoUsd, toUsd } from "../../src/core/amount.ts";
import { BudgetExceeded } from "../../src/core/errors.ts";
import type { Account, Budget, Ledger, OnExhausted, Started } from "../../src/core/limits.ts";
import { Scope } from "../../src/core/scope.ts";
import { openLedger as openRealLedger } from "../../src/runtime/budget/ledger.ts";
import { Slots as RealSlots } from "../../src/runtime/budget/run-slots.ts";
import { type SharedChain, sharedChainOf } from "../../src/runtime/budget/shared-budget-client.ts";
import { MemoryBudgets } from "../../src/storage/store/memory-budgets.ts";
import { openSharedBudget } from "../../src/storage/store/shared-budget.ts";
import { VirtualClock } from "../../src/testing/world.ts";
import { Judge } from "./r15-judge.ts";
import { callNeed, enoughFor, estimate, needsOf } from "./r15-needs.ts";
import { type Ending, Run } from "./r15-run.ts";
import type { RunSpec } from "./r15-specs.ts";
import { VirtualTime } from "./r15-time.ts";

/** The parts under test; a planted fault changes them. */
export type LedgerModules = { readonly openLedger: typeof openRealLedger; readonly Slots: typeof RealSlots };

export const REAL_LEDGER: LedgerModules = { openLedger: openRealLedger, Slots: RealSlots };

export type TreeOptions = {
  readonly budget: Budget;
  readonly onExhausted: OnExhausted;
  /** How many runs are at work at once. */
  readonly atOnce: number;
  /** One run with children below it, or children without a parent: a fan-out. */
  readonly root?: RunSpec | undefined;
  readonly fanOut?: readonly RunSpec[] | undefined;
  readonly modules?: LedgerModules | undefined;
  /** The limits are those of a shared budget, on which nobody else draws. */
  readonly isShared?: boolean | undefined;
};

export type TreeResult = {
  /** Of all runs that ended. */
  readonly endings: Readonly<Record<Ending, number>>;
  /** Runs that never ended. */
  readonly hangs: number;
  readonly lowered: number;
  readonly waited: number;
  readonly events: number;
  readonly broken: readonly string[];
};

/** Runs the tree to its end in virtual time. */
export async function runTree(options: TreeOptions): Promise<TreeResult> {
  const { isShared, budget } = options;
  if (isShared !== true) return await new Tree(options).run(options);
  const shared = await openSharedBudget(new MemoryBudgets().rowsFor("one"), "all", budget);
  // Its clock stands still: a run that waits is woken by what happens here, or never.
  const chain = sharedChainOf(shared, new VirtualClock(0));
  return await new Tree({ ...options, budget: {} }, chain).run(options);
}

/** Who started a child, and the call that waits for it. */
type ChildOf = {
  readonly above?: Run;
  readonly callId?: string;
  /** Told before what the child holds is given back, or when it is refused. */
  readonly onEnd?: () => void;
};

type Child = {
  readonly path: string;
  readonly above: Run | undefined;
  readonly callId: string | undefined;
  end(): void;
};

export class Tree {
  readonly time = new VirtualTime();
  readonly scope = new Scope();
  readonly account: Ledger;
  readonly onExhausted: OnExhausted;
  readonly judge: Judge;
  /** The runs that have started and not ended. */
  readonly live = new Set<Run>();
  readonly #slots: RealSlots;
  readonly #atOnce: number;
  readonly #endings = { completed: 0, "wrapped-up": 0, exhausted: 0, cut: 0, refused: 0, cancelled: 0 };
  #begun = 0;
  #ended = 0;
  #started = 0;
  #fault: unknown;

  constructor({ budget, onExhausted, atOnce, modules = REAL_LEDGER }: TreeOptions, shared?: SharedChain) {
    this.#slots = new modules.Slots(atOnce, "queue");
    this.#atOnce = atOnce;
    this.account = modules.openLedger(budget, { slots: this.#slots, shared });
    this.onExhausted = onExhausted;
    this.judge = new Judge(this);
  }

  async run({ root, fanOut = [] }: TreeOptions): Promise<TreeResult> {
    if (root !== undefined) void this.#watch(this.#runRoot(root));
    for (const spec of fanOut) void this.#watch(this.startChild(spec, {}));
    await this.time.run(() => {
      this.judge.afterEvent();
      if (this.#slots.free < 0)
        this.judge.broken.push(`${this.#atOnce - this.#slots.free} of ${this.#atOnce} slots are taken`);
    });
    if (this.#fault !== undefined) throw this.#fault;
    const hangs = this.#begun - this.#ended;
    const { broken, lowered, waited } = this.judge;
    if (hangs === 0) this.judge.atEnd(this.#started);
    if (hangs === 0 && this.#slots.free !== this.#atOnce)
      broken.push(`${this.#slots.free} of ${this.#atOnce} slots are free at the end`);
    return { endings: this.#endings, hangs, lowered, waited, events: this.time.events, broken };
  }

  /** Runs a child to its end. */
  async startChild(spec: RunSpec, { above, callId, onEnd }: ChildOf): Promise<void> {
    this.#begun += 1;
    const path = `${above?.path ?? "fan"}/${this.#begun}`;
    let hasEnded = false;
    const end = () => {
      if (!hasEnded) onEnd?.();
      hasEnded = true;
    };
    const ending = await this.#tryChild(spec, { path, above, callId, end });
    end();
    this.#count(ending);
  }

  keptBy(path: string): Amount {
    const kept = this.account.holdings().find((holding) => holding.path === path)?.kept;
    return kept === undefined ? NO_AMOUNT : { tokens: kept.tokens, nanoUsd: toNanoUsd(kept.costUsd) };
  }

  async #tryChild(spec: RunSpec, child: Child): Promise<Ending> {
    const { path, above, callId, end } = child;
    const scope = above?.scope ?? this.scope;
    const parent = above?.account ?? this.account;
    let account: Account;
    let started: Started;
    const share = shareOf(spec);
    try {
      parent.startExecution();
    } catch (error) {
      if (!(error instanceof BudgetExceeded)) throw error;
      return "refused";
    }
    try {
      account = parent.open(share, { path, above: above?.holding });
    } catch (error) {
      if (!(error instanceof BudgetExceeded)) throw error;
      parent.undoExecution();
      this.judge.isShareRefused(path, { account: parent, above, share });
      return "refused";
    }
    const need = callNeed(estimate(0, spec.turns[0] ?? { added: 0, slack: 0 }), spec.price);
    const starting = this.judge.starts({
      path,
      account,
      above,
      ask: { need, lastWords: NO_AMOUNT, closing: undefined },
    });
    try {
      const asks = { path, above: above?.holding, callId, need, scope };
      started = await account.start({ ...asks, onWait: () => {}, onRefused: end });
    } catch (error) {
      parent.undoExecution();
      starting.isRefused(error);
      if (scope.aborted) return "cancelled";
      if (!(error instanceof BudgetExceeded)) throw error;
      return "refused";
    }
    parent.useExecution();
    this.#started += 1;
    if (started.first === undefined) this.judge.broken.push(`${path}: started without its first call`);
    starting.isGranted(started.first?.outputCap ?? 0);
    const { holding, slot } = started;
    return await this.#runLive(new Run(this, { path, spec, account, holding, slot, above }), started, end);
  }

  async #runLive(run: Run, started: Pick<Started, "first">, onEnd: () => void): Promise<Ending> {
    this.live.add(run);
    const ending = await run.untilEnding(started.first);
    await run.end();
    this.live.delete(run);
    onEnd();
    run.holding[Symbol.dispose]();
    run.slot?.[Symbol.dispose]();
    if (ending === "wrapped-up" && run.answers === 0) this.judge.broken.push(`${run.path}: its first turn wrapped up`);
    return ending;
  }

  async #runRoot(spec: RunSpec): Promise<void> {
    this.#begun += 1;
    const { account } = this;
    const run = new Run(this, {
      path: "root",
      spec,
      account,
      holding: account.enter("root"),
      slot: undefined,
      above: undefined,
    });
    this.#count(await this.#runLive(run, { first: undefined }, () => {}));
  }

  #count(ending: Ending): void {
    this.#ended += 1;
    this.#endings[ending] += 1;
  }

  async #watch(running: Promise<void>): Promise<void> {
    try {
      await running;
    } catch (error) {
      this.#fault ??= error;
    }
  }
}

function shareOf(spec: RunSpec): Budget {
  if (spec.share === undefined) return {};
  const { tokens, nanoUsd } = enoughFor(needsOf(spec));
  if (spec.price === undefined) return { tokens: Math.ceil(tokens * spec.share) };
  return { costUsd: toUsd(Math.ceil(nanoUsd * spec.share)) };
}
