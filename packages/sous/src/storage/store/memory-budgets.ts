/** The rows of shared budgets in memory: what the trees of a process draw on together. */

import type { BudgetRow } from "../../core/shared-budget.ts";
import { systemClock } from "../../machine/host.ts";
import { BudgetBook, type BudgetHold, type BudgetOwner, type BudgetRecords } from "./budget-book.ts";
import type { FateOf } from "./shared-budget.ts";

const keyOf = ({ name, unit }: { readonly name: string; readonly unit: string }) => `${unit} ${name}`;

/** The rows of shared budgets, for any number of processes within this one: a test plays several. */
export class MemoryBudgets {
  readonly #rows = new Map<string, BudgetRow>();
  readonly #holds = new Map<string, Map<string, BudgetHold>>();
  readonly #owners = new Map<string, BudgetOwner>();
  readonly #listeners = new Set<{ readonly owner: string; readonly onNews: () => void }>();

  rowsFor(owner: string, fateOf: FateOf = () => "alive", now: () => number = systemClock.now): BudgetBook {
    return new BudgetBook(this.#records(), {
      ...{ owner, now, fateOf, transaction: (work) => work() },
      tell: (toAll = false) => this.#tell(toAll ? undefined : owner),
      listen: (onNews) => {
        const listener = { owner, onNews };
        this.#listeners.add(listener);
        return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
      },
    });
  }

  /** The rows of a tree. */
  deleteTree(rootId: string): void {
    for (const [key, { name }] of this.#rows)
      if (name === rootId || name.startsWith(`${rootId}/`)) this.#rows.delete(key);
  }

  /** Notifies in a microtask: those who listen may want to change the rows themselves. */
  #tell(except: string | undefined): void {
    for (const listener of this.#listeners) {
      if (listener.owner === except) continue;
      queueMicrotask(() => {
        if (this.#listeners.has(listener)) listener.onNews();
      });
    }
  }

  #records(): BudgetRecords {
    const holdsOf = (owner: string) => this.#holds.get(owner) ?? new Map<string, BudgetHold>();
    return {
      row: (key) => this.#rows.get(keyOf(key)),
      putRow: (row) => void this.#rows.set(keyOf(row), row),
      hold: (owner, key) => this.#holds.get(owner)?.get(keyOf(key)),
      putHold: (hold) => {
        const holds = holdsOf(hold.owner);
        if (hold.inFlight + hold.kept === 0) holds.delete(keyOf(hold));
        else this.#holds.set(hold.owner, holds.set(keyOf(hold), hold));
      },
      holdsOf: (owner) => [...holdsOf(owner).values()],
      owner: (owner) => this.#owners.get(owner),
      owners: () => [...this.#owners.values()],
      putOwner: (owner) => void this.#owners.set(owner.owner, owner),
      removeOwner: (owner) => {
        this.#owners.delete(owner);
        this.#holds.delete(owner);
      },
    };
  }
}
