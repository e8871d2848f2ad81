/** Who may write which tree: claims are taken and given back, and renewed while this process lives. */

import type { Clock } from "../core/clock.ts";
import { UserError } from "../core/errors.ts";
import type { Claim } from "../core/store.ts";
import { toColumn } from "./column-text.ts";
import { type Connection, statement } from "./postgres-connection.ts";
import { checkFree, LEASE_END, lockTree, lockTreeStatement, RENEWAL_MS } from "./postgres-trees.ts";

export type Claims = AsyncDisposable & {
  claim(rootId: string): Promise<Claim>;
  release(rootId: string, fence: number): Promise<void>;
  isHeld(rootId: string): boolean;
  /** From now on the lease is renewed. */
  hold(rootId: string, fence: number): void;
  /** The claim with this number is over; a later one of this store stays. */
  drop(rootId: string, fence: number): void;
};

export function createClaims(connection: Connection, schema: string, owner: string, timer: Clock["timer"]): Claims {
  const sql = statements(schema);
  /** The latest claim of this store on each tree it works on. */
  const held = new Map<string, number>();
  /** The trees that were claimed without an answer. */
  const unsure = new Set<string>();
  let renewal: Disposable | undefined;

  function hold(rootId: string, fence: number): void {
    held.set(rootId, fence);
    renewal ??= timer(RENEWAL_MS, renew);
  }

  function drop(rootId: string, fence: number): void {
    if (held.get(rootId) === fence) held.delete(rootId);
    if (held.size === 0) stopRenewal();
  }

  function renew(): void {
    renewal = timer(RENEWAL_MS, renew);
    // One that fails is made up for by the next: a lease outlasts two of them.
    connection.query(sql.renew, [owner, heldIds()]).catch(() => undefined);
  }

  function stopRenewal(): void {
    renewal?.[Symbol.dispose]();
    renewal = undefined;
  }

  const heldIds = () => [...held.keys()].map(toColumn);

  return {
    isHeld: (rootId) => held.has(rootId),
    hold,
    drop,
    async claim(rootId) {
      const fence = await connection.transaction(
        async (query) => {
          const tree = await lockTree(query, sql.lock, rootId);
          if (tree === undefined) throw new UserError(`No run with the id ${rootId}`);
          // An earlier claim of ours may have been kept, with nobody told: it is taken again.
          if (tree.owner !== owner || !unsure.has(rootId)) checkFree(rootId, tree);
          const [row] = await query(sql.claim, [tree.tree, owner]);
          return Number(row?.fence);
        },
        { onUnsure: () => unsure.add(rootId) },
      );
      unsure.delete(rootId);
      hold(rootId, fence);
      return { fence };
    },
    async release(rootId, fence) {
      await connection.query(sql.release, [toColumn(rootId), fence]);
      drop(rootId, fence);
    },
    async [Symbol.asyncDispose]() {
      stopRenewal();
      // A server that is gone cannot be told; there the lease ends by itself.
      if (held.size > 0) await connection.query(sql.releaseAll, [owner, heldIds()]).catch(() => undefined);
      held.clear();
    },
  };
}

function statements(schema: string) {
  const trees = `update ${schema}.trees`;
  return {
    lock: lockTreeStatement(schema),
    claim: statement(
      `${trees} set fence = fence + 1, owner = $2, lease_until = ${LEASE_END} where tree = $1 returning fence`,
    ),
    release: statement(`${trees} set owner = null, lease_until = null where root_id = $1 and fence = $2`),
    renew: statement(`${trees} set lease_until = ${LEASE_END} where owner = $1 and root_id = any($2::text[])`),
    releaseAll: statement(
      `${trees} set owner = null, lease_until = null where owner = $1 and root_id = any($2::text[])`,
    ),
  };
}
