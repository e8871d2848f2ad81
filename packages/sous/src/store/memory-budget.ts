/** Shared budgets of one process: what its trees draw on together. */

import { nowOrLater } from "../core/now-or-later.ts";
import type { Purse } from "../core/purse.ts";
import type { LeaseRow, PurseTables } from "./shared-budget.ts";

/** Whoever reserves here lives as long as the tables do, so nothing ever lapses. */
export function memoryPurses(now: () => number = Date.now): PurseTables {
  const purses = new Map<string, Purse>();
  const leases = new Map<string, LeaseRow>();
  let ids = 0;
  return {
    owner: "this process",
    now,
    newId: () => String(++ids),
    // Nothing in here waits, so nobody comes in between, and the rules throw before they change anything.
    transact: (name, steps) =>
      nowOrLater(
        steps({
          load() {
            const purse = purses.get(name);
            return purse === undefined ? undefined : { ...purse };
          },
          save: (purse) => void purses.set(name, { ...purse }),
          lease: (id) => leases.get(id),
          abandoned: () => [],
          putLease: (lease) => void leases.set(lease.id, lease),
          deleteLease: (id) => void leases.delete(id),
        }),
      ),
  };
}
