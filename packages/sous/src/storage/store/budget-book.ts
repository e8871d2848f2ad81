/**
 * The rules of the rows of shared budgets, for stores that this process changes alone while it does: memory, and SQLite in a
 * transaction. Postgres has the same in `postgres/budget-schema.ts`; one contract holds them together.
 */

import {
  BUDGET_ROW_UNITS,
  type BudgetFigures,
  type BudgetLine,
  type BudgetReply,
  type BudgetRow,
  type BudgetRows,
  type BudgetStep,
  type MadeBudget,
  NO_FIGURES,
} from "../../core/shared-budget.ts";
import { explained, type Fate, type FateOf, inWholeUnits, MAX_FIGURE } from "./shared-budget.ts";

/** The part of a row that one process holds. */
export type BudgetHold = Omit<BudgetLine, "spent"> & { readonly owner: string };

/** A process that draws on rows. */
export type BudgetOwner = {
  readonly owner: string;
  /** The number of its last step, and whether its asks were granted: a step that is repeated gets the same answer. */
  readonly step: number;
  readonly isGranted: boolean;
  readonly lapses: number;
  readonly isLapsed: boolean;
  readonly seenAt: number;
};

type Key = Pick<BudgetLine, "name" | "unit">;

/** The records that a store has to keep. */
export type BudgetRecords = {
  row(key: Key): BudgetRow | undefined;
  putRow(row: BudgetRow): void;
  hold(owner: string, key: Key): BudgetHold | undefined;
  /** One that holds nothing is removed. */
  putHold(hold: BudgetHold): void;
  holdsOf(owner: string): readonly BudgetHold[];
  owner(owner: string): BudgetOwner | undefined;
  owners(): readonly BudgetOwner[];
  putOwner(owner: BudgetOwner): void;
  removeOwner(owner: string): void;
};

type BookOptions = {
  readonly owner: string;
  readonly now: () => number;
  readonly fateOf: FateOf;
  /** All of what `work` changes is kept, or nothing. */
  readonly transaction: <T>(work: () => T) => T;
  /** Something came back: processes that wait hear of it, this one only when it is `toAll`. */
  readonly tell?: (toAll?: boolean) => void;
  readonly listen?: BudgetRows["listen"];
};

export class BudgetBook implements BudgetRows {
  readonly #records: BudgetRecords;
  readonly #options: BookOptions;

  readonly listen: BudgetRows["listen"];
  #hasStepped = false;

  constructor(records: BudgetRecords, options: BookOptions) {
    this.#records = records;
    this.#options = options;
    this.listen = options.listen;
  }

  step(step: BudgetStep): BudgetReply {
    this.#hasStepped = true;
    return this.#change(step.names[0], () => {
      const reply = this.#step(step);
      const isShort = reply.isTaken && (!reply.isGranted || step.waits.length > 0);
      // Amounts that a dead process holds never come back, so no run may wait for them.
      return isShort && this.#takeFromDead() ? { ...reply, rows: this.#rowsOf(step.names) } : reply;
    });
  }

  look(name: string): readonly BudgetRow[] {
    return this.#change(name, () => {
      if (BUDGET_ROW_UNITS.every((unit) => this.#records.row({ name, unit }) === undefined)) return [];
      this.#takeFromDead();
      return this.#rowsOf([name]);
    });
  }

  make(budget: MadeBudget): void {
    this.#change(budget.name, () => {
      this.#make(budget);
      this.#options.tell?.(true);
    });
  }

  /** The process ends: what its calls still hold counts as spent, and what it keeps is free. */
  leave(): void {
    const { owner, transaction, tell } = this.#options;
    if (!this.#hasStepped) return;
    transaction(() => this.#lapse(owner, "gone"));
    tell?.();
  }

  #change<T>(name = "", work: () => T): T {
    return explained(name, () => this.#options.transaction(work)) as T;
  }

  #step(step: BudgetStep): BudgetReply {
    const { owner, now, tell } = this.#options;
    // One that is not there any more was taken for dead, for good.
    const lapsesSoFar = step.number === 1 ? 0 : step.lapses + 1;
    const first = { owner, step: 0, isGranted: true, lapses: lapsesSoFar, isLapsed: false, seenAt: now() };
    let own: BudgetOwner = { ...(this.#records.owner(owner) ?? first), seenAt: now() };
    if (own.step < step.number && own.lapses === step.lapses) {
      for (const budget of step.made) this.#make(budget);
      if (own.isLapsed) for (const hold of this.#records.holdsOf(owner)) this.#countAsSpent(hold, -1);
      for (const line of step.gives) this.#move(owner, inWholeUnits(line));
      const asks = step.asks.map(inWholeUnits);
      const isGranted = asks.every((line) => this.#fits(owner, line));
      if (isGranted) for (const line of asks) this.#move(owner, line);
      own = { ...own, step: step.number, isGranted, isLapsed: false };
      if (step.gives.some(({ spent, inFlight, kept }) => Math.min(spent, inFlight, kept) < 0)) tell?.();
    }
    this.#records.putOwner(own);
    const { isGranted, lapses } = own;
    return { isTaken: own.step >= step.number, isGranted, lapses, rows: this.#rowsOf(step.names) };
  }

  #fits(owner: string, line: BudgetLine): boolean {
    const row = this.#records.row(line);
    if (row === undefined) return false;
    const more = total(this.#within(owner, line));
    return more <= 0 || total(row) + more <= (row.limit ?? Number.POSITIVE_INFINITY); // guard: row-within-limit
  }

  #move(owner: string, line: BudgetLine): void {
    const row = this.#records.row(line);
    if (row === undefined) return;
    const { name, unit, spent, inFlight, kept } = this.#within(owner, line);
    const held = this.#records.hold(owner, line) ?? NO_FIGURES;
    this.#records.putRow({
      ...row,
      spent: Math.min(MAX_FIGURE, Math.max(0, row.spent + spent)),
      inFlight: row.inFlight + inFlight,
      kept: row.kept + kept,
    });
    this.#records.putHold({ owner, name, unit, inFlight: held.inFlight + inFlight, kept: held.kept + kept });
  }

  /** No process can give back more than it holds, whatever it says. */
  #within(owner: string, line: BudgetLine): BudgetLine {
    const held = this.#records.hold(owner, line) ?? NO_FIGURES;
    return { ...line, inFlight: Math.max(-held.inFlight, line.inFlight), kept: Math.max(-held.kept, line.kept) };
  }

  #make({ name, limits, spent, replaces }: MadeBudget): void {
    for (const unit of BUDGET_ROW_UNITS) {
      const row = this.#records.row({ name, unit });
      const limit = limits[unit];
      if (row === undefined) this.#records.putRow({ name, unit, limit, ...NO_FIGURES, spent: spent[unit] });
      else if (replaces && row.limit !== limit) this.#records.putRow({ ...row, limit });
    }
  }

  /** True when something was taken from a process. */
  #takeFromDead(): boolean {
    const { owner: self, now, fateOf } = this.#options;
    let isNews = false;
    for (const { owner, seenAt, isLapsed } of this.#records.owners()) {
      const fate = owner === self ? "alive" : fateOf(owner, now() - seenAt);
      if (fate === "alive" || (fate === "late" && isLapsed)) continue;
      this.#lapse(owner, fate);
      isNews = true;
    }
    if (isNews) this.#options.tell?.();
    return isNews;
  }

  #lapse(owner: string, fate: Fate): void {
    const found = this.#records.owner(owner);
    if (found === undefined) return;
    for (const hold of this.#records.holdsOf(owner)) {
      const row = this.#records.row(hold);
      if (row !== undefined) this.#records.putRow({ ...row, kept: row.kept - hold.kept });
      this.#records.putHold({ ...hold, kept: 0 });
      if (!found.isLapsed) this.#countAsSpent(hold, 1);
    }
    if (fate === "gone") this.#records.removeOwner(owner);
    else this.#records.putOwner({ ...found, lapses: found.lapses + 1, isLapsed: true });
  }

  /** Counts what the calls of a process hold as spent, or as in flight again when it comes back. */
  #countAsSpent(hold: BudgetHold, sign: 1 | -1): void {
    const row = this.#records.row(hold);
    if (row === undefined) return;
    const amount = sign * hold.inFlight;
    this.#records.putRow({ ...row, spent: row.spent + amount, inFlight: row.inFlight - amount });
  }

  #rowsOf(names: readonly string[]): BudgetRow[] {
    return names.flatMap((name) => BUDGET_ROW_UNITS.flatMap((unit) => this.#records.row({ name, unit }) ?? []));
  }
}

function total({ spent, inFlight, kept }: BudgetFigures): number {
  return spent + inFlight + kept;
}
