/** The rows of a shared budget as the runs of this process draw on them: what is theirs, and what is known of all others. */

import { type Amount, type AmountUnit, amountAt } from "../../core/amount.ts";
import { BudgetExceeded } from "../../core/errors.ts";
import type { LimitState } from "../../core/limits.ts";
import {
  type BudgetFigures,
  type BudgetLine,
  type BudgetRow,
  type BudgetRowUnit,
  type ChainLink,
  type MadeBudget,
  NO_FIGURES,
  toRowLimits,
} from "../../core/shared-budget.ts";
import { Funds, isNear, LimitMeter, type Wanted } from "./funds.ts";
import type { BudgetQueue } from "./queue.ts";

/** One limit that is a row of a store. */
export class RowMeter<Unit extends BudgetRowUnit = AmountUnit> extends LimitMeter<Unit> {
  readonly row: SharedRow;
  /** The figures of other processes, as last read. */
  others: BudgetFigures = NO_FIGURES;
  /** The figures of this process that the row has. */
  written: BudgetFigures = NO_FIGURES;
  /** On its way to the row, for calls that were not granted yet. */
  asked: BudgetFigures = NO_FIGURES;

  constructor(row: SharedRow, unit: Unit, limit: number, of: string) {
    super(unit, limit, of);
    this.row = row;
  }

  override get free(): number {
    return super.free - total(this.others) - total(this.asked);
  }

  override get unspent(): number {
    return super.unspent - this.others.spent;
  }

  /** As far as is known; what follows from it is decided on fresh figures only. */
  override get isQuiet(): boolean {
    return super.isQuiet && this.others.inFlight + this.asked.inFlight === 0; // guard: wait-for-other-processes
  }

  /** Every tree that draws on the row is notified, when it is read. */
  override comesNear(): boolean {
    return false;
  }

  override state(): LimitState {
    const { spent, inFlight, kept } = this.others;
    return this.stateWith(this.spent + spent, this.inFlight + this.kept + inFlight + kept);
  }

  /** The figures of this process now. */
  get own(): BudgetFigures {
    const { spent, inFlight, kept } = this;
    return { spent, inFlight, kept };
  }

  ask(more: BudgetFigures): void {
    this.asked = sumOf(this.asked, more, 1);
    this.row.changed();
  }

  learn({ limit = Number.POSITIVE_INFINITY, ...figures }: BudgetRow): void {
    this.limit = limit;
    const { spent, inFlight, kept } = sumOf(figures, this.written, -1);
    // A process that was taken for dead holds less than it has written.
    this.others = { spent, inFlight: Math.max(0, inFlight), kept: Math.max(0, kept) };
  }
}

/** One budget on which trees of this process draw. */
export class SharedRow {
  link: ChainLink;
  /** The tree that opened it; unset where it was opened elsewhere, or is for all. */
  tree: BudgetQueue | undefined;
  readonly tokens: RowMeter;
  readonly money: RowMeter;
  readonly executions: RowMeter<"executions">;
  /** It has been read at least once. */
  isKnown = false;
  /** It was read in this step. */
  isFresh = false;
  /** The next step makes it where it is missing, or sets its limits. */
  mustMake: boolean;
  /** It was deleted. */
  isMissing = false;
  /** The limits are those of this process, which replace others. */
  #replaces: boolean;
  readonly #onChange: (row: SharedRow) => void;

  constructor(link: ChainLink, replaces: boolean, onChange: (row: SharedRow) => void) {
    const { name, limits = {} } = link;
    const of =
      link.limits === undefined ? `shared budget ${name}` : name.slice(name.indexOf("/") + 1 || name.length) || "tree";
    const { tokens, nanoUsd, executions } = toRowLimits(limits);
    this.link = link;
    this.mustMake = link.limits !== undefined;
    this.tokens = new RowMeter(this, "tokens", tokens ?? Number.POSITIVE_INFINITY, of);
    this.money = new RowMeter(this, "nanoUsd", nanoUsd ?? Number.POSITIVE_INFINITY, of);
    this.executions = new RowMeter(this, "executions", executions ?? Number.POSITIVE_INFINITY, of);
    this.#replaces = replaces;
    this.#onChange = onChange;
  }

  /** The tree was opened again, maybe with other limits. */
  renew(link: ChainLink): void {
    const limits = toRowLimits(link.limits ?? {});
    this.link = link;
    this.#replaces = true;
    this.mustMake = true;
    for (const meter of this.all) meter.limit = limits[meter.unit] ?? Number.POSITIVE_INFINITY;
  }

  learn(found: BudgetRow): void {
    this.isKnown = true;
    const meter = this.all.find(({ unit }) => unit === found.unit);
    meter?.learn(found);
  }

  get all(): readonly [RowMeter, RowMeter, RowMeter<"executions">] {
    return [this.tokens, this.money, this.executions];
  }

  /** The limits on calls: of a budget with a name of its own both, which may be limited at any time. */
  get ofCalls(): readonly RowMeter[] {
    const isNamed = this.link.limits === undefined;
    return [this.tokens, this.money].filter(({ limit }) => isNamed || limit !== Number.POSITIVE_INFINITY);
  }

  /** Budgets of trees are made by the first step on them. The root of a tree sets its limits then. */
  get toMake(): MadeBudget | undefined {
    const { name, limits } = this.link;
    if (limits === undefined || !this.mustMake) return undefined;
    const spent = {
      tokens: this.tokens.others.spent,
      nanoUsd: this.money.others.spent,
      executions: this.executions.others.spent,
    };
    return { name, limits: toRowLimits(limits), spent, replaces: this.#replaces };
  }

  /** Counts what the tree had spent before a restart: a row that is there knows it already. */
  charge(more: Partial<Record<BudgetRowUnit, number>>): void {
    if (this.isKnown || this.link.limits === undefined) return;
    for (const meter of this.all)
      meter.others = sumOf(meter.others, { ...NO_FIGURES, spent: more[meter.unit] ?? 0 }, 1);
  }

  changed(): void {
    this.#onChange(this);
  }

  /** The limits as people see them. */
  limits(): LimitState[] {
    return this.all.filter(({ limit }) => limit !== Number.POSITIVE_INFINITY).map((meter) => meter.state());
  }

  nearLimits(): LimitState[] {
    return this.limits().filter(isNear);
  }
}

/** The rows of a chain that limit calls. */
export class RowFunds extends Funds {
  readonly rows: readonly SharedRow[];
  declare readonly meters: readonly RowMeter[];

  constructor(rows: readonly SharedRow[]) {
    super(rows.flatMap(({ ofCalls }) => ofCalls));
    this.rows = rows;
  }

  changed(): void {
    for (const row of this.rows) row.changed();
  }

  /** Asks the rows for a call. */
  ask({ need, grow, instead }: Wanted, output: number): void {
    const amount: Amount = amountAt(need, output);
    for (const meter of this.meters) {
      const { unit } = meter;
      meter.ask({ spent: 0, inFlight: amount[unit], kept: grow[unit] - instead[unit] });
    }
  }
}

/** The lines of a step: what has changed since the last one, or what is asked for. */
export function linesOf(
  rows: Iterable<SharedRow>,
  figures: (meter: RowMeter<BudgetRowUnit>) => BudgetFigures,
): BudgetLine[] {
  const lines: BudgetLine[] = [];
  for (const { link, all } of rows) {
    for (const meter of all as readonly RowMeter<BudgetRowUnit>[]) {
      const { spent, inFlight, kept } = figures(meter);
      if (spent !== 0 || inFlight !== 0 || kept !== 0)
        lines.push({ name: link.name, unit: meter.unit, spent, inFlight, kept });
    }
  }
  return lines;
}

export function sumOf(one: BudgetFigures, other: BudgetFigures, sign: 1 | -1): BudgetFigures {
  return {
    spent: one.spent + sign * other.spent,
    inFlight: one.inFlight + sign * other.inFlight,
    kept: one.kept + sign * other.kept,
  };
}

export function noneLeft({ limit, unspent }: RowMeter<"executions">): BudgetExceeded {
  return new BudgetExceeded("executions", limit - unspent, limit);
}

function total({ spent, inFlight, kept }: BudgetFigures): number {
  return spent + inFlight + kept;
}
