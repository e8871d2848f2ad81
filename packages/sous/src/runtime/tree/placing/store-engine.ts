/** The engine that needs nothing but the store: workers take the placed runs that none of them has. */

import type { Engine, Placing } from "../../../core/engine.ts";
import { UserError } from "../../../core/errors.ts";
import { hasFunctions } from "../../../core/option-kinds.ts";
import type { Store } from "../../../core/store.ts";
import { endWatchOf } from "./end-watch.ts";

/** The options of the engine of a store. */
export type StoreEngineOptions = Pick<Engine, "sharesWorkspace">;

/** The engine of a store that workers share: `createRuntime({ store, engine: storeEngine(store) })`. */
export function storeEngine(store: Store, { sharesWorkspace = false }: StoreEngineOptions = {}): Engine {
  const placing = placingOf(store);
  return {
    sharesWorkspace,
    isStore: true,
    // Beginning the run has told the workers, and they look twice a second.
    async continueRun(runId) {
      using wait = endWatchOf(placing).wait(runId);
      await wait.ended;
    },
  };
}

/** Undefined for a store that only keeps events. */
export function placingIn(store: Store): Placing | undefined {
  const { placing } = store as { placing?: unknown };
  return hasFunctions(placing, ["place", "take", "listen"]) ? (placing as Placing) : undefined;
}

/** Throws a `UserError` for a store that only keeps events. */
export function placingOf(store: Store): Placing {
  const placing = placingIn(store);
  if (placing !== undefined) return placing;
  throw new UserError(
    "An engine needs a store that several processes can share: openPostgresStore() or openSqliteStore()",
  );
}
