/** Shared budgets of one process: what its trees draw on together. */

import type { Purse } from "../core/purse.ts";
import type { PurseTables } from "./shared-budget.ts";

type Listener = { readonly name: string; readonly onNews: (from: string | undefined) => void };

/** The process that draws here lives as long as the tables do, so nothing ever lapses. */
export function memoryPurses(now: () => number = Date.now): PurseTables {
  const purses = new Map<string, Purse>();
  const listeners = new Set<Listener>();
  let ids = 0;

  /** Not at once: those who listen may want to change the books themselves. */
  function tell(name: string, from: string): void {
    for (const listener of listeners) {
      if (listener.name !== name) continue;
      queueMicrotask(() => {
        if (listeners.has(listener)) listener.onNews(from);
      });
    }
  }

  return {
    owner: "this process",
    now,
    newId: () => String(++ids),
    update(name, change) {
      const { purse, result, newsFrom } = change(purses.get(name));
      if (purse !== undefined) purses.set(name, purse);
      if (newsFrom !== undefined) tell(name, newsFrom);
      return result;
    },
    listen(name, onNews) {
      const listener = { name, onNews };
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
}
