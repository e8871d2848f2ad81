/** Deletes trees: their events, their runs, and the long texts that nothing else refers to. */

import { type Connection, type Query, statement } from "./connection.ts";
import { releaseBlobs } from "./run-rows.ts";
import { TREE_BITS } from "./schema.ts";
import { addInterruptedStatement } from "./tallies.ts";
import { checkFree, goneOwners, isAtWork, lockTree, lockTreeStatement, ownersStatement } from "./trees.ts";

type Deletion = {
  delete(rootId: string): Promise<boolean>;
  prune(before: number): Promise<number>;
};

const TREES_AT_ONCE = 100;
const MAX_DELETION_MS = 10 * 60_000;

export function createDeletion(connection: Connection, schema: string): Deletion {
  const sql = statements(schema);

  async function deleteTrees(query: Query, trees: readonly number[]): Promise<void> {
    await query(sql.interrupted, [trees]);
    const jsons: string[] = [];
    for (const tree of trees) {
      for (const { json } of await query(sql.withBlobs, [tree])) jsons.push(String(json));
      await query(sql.events, [tree]);
    }
    if (jsons.length > 0) await releaseBlobs(query, schema, jsons);
    await query(sql.runs, [trees]);
    await query(sql.trees, [trees]);
  }

  return {
    delete: (rootId) =>
      connection.transaction(
        async (query) => {
          const tree = await lockTree(query, sql.lock, rootId);
          if (tree === undefined) return false;
          checkFree(rootId, tree);
          await deleteTrees(query, [tree.tree]);
          return true;
        },
        { longestMs: MAX_DELETION_MS },
      ),
    async prune(before) {
      let pruned = 0;
      // A few at a time, so that other processes do not wait long for the locks.
      for (let found = TREES_AT_ONCE; found === TREES_AT_ONCE; pruned += found) {
        found = await connection.transaction(
          async (query) => {
            const rows = await query(sql.old, [before, await goneOwners(query, sql.owners), TREES_AT_ONCE]);
            await deleteTrees(
              query,
              rows.map(({ tree }) => Number(tree)),
            );
            return rows.length;
          },
          { longestMs: MAX_DELETION_MS },
        );
      }
      return pruned;
    },
  };
}

function statements(schema: string) {
  const ofTree = `key between $1::bigint << ${TREE_BITS} and (($1::bigint + 1) << ${TREE_BITS}) - 1`;
  return {
    lock: lockTreeStatement(schema),
    owners: ownersStatement(schema),
    interrupted: addInterruptedStatement(schema),
    withBlobs: statement(`select json from ${schema}.events where ${ofTree} and json like '[%'`),
    events: statement(`delete from ${schema}.events where ${ofTree}`),
    runs: statement(`delete from ${schema}.runs where tree = any($1::bigint[])`),
    trees: statement(`delete from ${schema}.trees where tree = any($1::bigint[])`),
    old: statement(
      `select t.tree from ${schema}.trees t where t.started_at < $1 and not ${isAtWork(2)}
       order by t.started_at limit $3 for update skip locked`,
    ),
  };
}
