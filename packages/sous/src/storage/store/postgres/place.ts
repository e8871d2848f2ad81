/** Begins the journals of placed runs, as many in one transaction as are given. */

import { setTimeout } from "node:timers/promises";
import type { EventOf } from "../../../core/event.ts";
import { beginRunRecord } from "../../../core/store.ts";
import { encodeEvent, fromColumn, toColumn } from "../event-row.ts";
import { checkAbove, checkPlaced, rootElsewhere, runAbove } from "../placed-start.ts";
import type { Connection, Query } from "./connection.ts";
import { isLost } from "./errors.ts";
import { placingStatements } from "./placing-statements.ts";
import { placedValues, storeBlobs } from "./run-rows.ts";

type Start = EventOf<"run-start">;

/** A run that was placed already is passed over, so an attempt of which it is unknown whether it was stored is made again. */
export async function placeIn(
  connection: Connection,
  schema: string,
  given: readonly Start[],
  patienceMs: number,
): Promise<void> {
  for (const start of given) checkPlaced(start);
  const starts = [...new Map(given.map((start) => [start.runId, start])).values()];
  if (starts.length === 0) return;
  const latest = performance.now() + patienceMs;
  for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 2, 500)) {
    try {
      return await connection.transaction((query) => placeAll(query, schema, starts), { patienceMs });
    } catch (error) {
      if (!isLost(error) || performance.now() + pauseMs > latest) throw error;
    }
    await setTimeout(pauseMs);
  }
}

async function placeAll(query: Query, schema: string, given: readonly Start[]): Promise<void> {
  const sql = placingStatements(schema);
  const begun = new Set((await query(sql.begun, [idsOf(given)])).map(({ root_id }) => root_id));
  const rest = given.filter(({ runId }) => !begun.has(toColumn(runId)));
  if (rest.length === 0) return;
  await checkAllAbove(query, schema, rest);
  const rows = await query(sql.place, [
    idsOf(rest),
    rest.map(({ time }) => time),
    rest.map((start) => {
      const rootId = rootElsewhere(start.runId, start);
      return rootId === undefined ? null : toColumn(rootId);
    }),
    rest.map(({ agent }) => toColumn(agent)),
  ]);
  // Another process may have placed some of them meanwhile.
  const trees = new Map(rows.map(({ root_id, tree }) => [root_id, Number(tree)]));
  const placed = rest.flatMap((start) => {
    const tree = trees.get(toColumn(start.runId));
    return tree === undefined ? [] : [{ tree, start, encoded: encodeEvent(start) }];
  });
  await storeBlobs(
    query,
    schema,
    placed.flatMap(({ encoded }) => encoded.blobs),
  );
  await query(sql.write, [
    placed.map(({ tree }) => tree),
    placed.map(({ encoded }) => encoded.json),
    ...placedValues(
      placed.map(({ tree, start }) => {
        return { tree, record: beginRunRecord(start.runId, start), seq: start.seq, endSeq: undefined };
      }),
    ),
  ]);
  const [first] = placed;
  if (first !== undefined && placed.length === 1) await query(sql.tellPlaced, [toColumn(first.start.runId)]);
  else await query(sql.tellAllPlaced);
}

/** Each must be below a run of its tree that is in the store. */
export async function checkAllAbove(query: Query, schema: string, starts: readonly Start[]): Promise<void> {
  const above = new Set(starts.map(runAbove).filter((runId) => runId !== undefined));
  if (above.size === 0) return;
  const rows = await query(placingStatements(schema).above, [[...above].map(toColumn)]);
  const treeOf = new Map(rows.map(({ id, root }) => [fromColumn(String(id)), fromColumn(String(root))]));
  for (const start of starts) {
    const runId = runAbove(start);
    if (runId !== undefined) checkAbove(start, treeOf.get(runId));
  }
}

function idsOf(starts: readonly Start[]): string[] {
  return starts.map(({ runId }) => toColumn(runId));
}
