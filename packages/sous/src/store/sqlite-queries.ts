/** The questions about the runs of a database, in SQL. Each is answered by an index, however many runs there are. */

import type { SQLInputValue } from "node:sqlite";
import type { RunQuery } from "../core/store.ts";
import { toColumn } from "./column-text.ts";
import { SELECT_RUNS } from "./sqlite-run-row.ts";

export const SELECT_RUN: string = `${SELECT_RUNS} WHERE r.id = ?`;
/** In the order in which they started. */
export const SELECT_CHILDREN: string = `${SELECT_RUNS}
WHERE r.root = (SELECT root FROM runs WHERE id = ?1) AND r.parent = (SELECT number FROM runs WHERE id = ?1) ORDER BY r.number`;
/** In no order: whoever sorts them by number need not hold them twice. */
export const SELECT_TREE: string = `${SELECT_RUNS}
WHERE r.root = (SELECT number FROM runs WHERE id = ? AND root = number)`;

/** The words and values of a list, but for its limit and offset. */
export function listQuery(
  query: RunQuery,
  treesAtWork: () => readonly number[],
): { sql: string; values: SQLInputValue[] } {
  const { status, since, rootsOnly = false, idPrefix = "", rootId, cwd } = query;
  const conditions: string[] = [];
  const values: SQLInputValue[] = [];
  if (rootsOnly) conditions.push("r.parent IS NULL");
  if (status === "running" || status === "interrupted") {
    const isIn = status === "running" ? "IN" : "NOT IN";
    conditions.push(`r.status = 'running' AND ${NOT_COMPLETED} AND r.root ${isIn} (SELECT value FROM json_each(?))`);
    values.push(JSON.stringify(treesAtWork()));
  } else if (status !== undefined) {
    conditions.push(status === "completed" ? "r.status = ?" : `r.status = ? AND ${NOT_COMPLETED}`);
    values.push(status);
  }
  if (rootId !== undefined) {
    conditions.push("r.root = (SELECT number FROM runs WHERE id = ? AND root = number)");
    values.push(toColumn(rootId));
  }
  if (cwd !== undefined) {
    // Few runs have such a status. A folder may have all of them, so its index would be walked for nothing.
    const isFew = (status !== undefined && status !== "completed") || idPrefix !== "" || rootId !== undefined;
    conditions.push(`${isFew ? "+" : ""}r.cwd = ?`);
    values.push(toColumn(cwd));
  }
  if (since !== undefined) {
    conditions.push("r.started_at >= ?");
    values.push(since);
  }
  if (idPrefix !== "") {
    conditions.push("r.id >= ? AND r.id < ?");
    values.push(toColumn(idPrefix), `${toColumn(idPrefix)}\u{10ffff}`);
  }
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
  // Few ids begin alike, and a tree is small: finding these and sorting them beats walking through all runs by their start.
  const order = `ORDER BY ${idPrefix === "" && rootId === undefined ? "" : "+"}r.started_at DESC, r.id DESC`;
  return { sql: `${SELECT_RUNS} ${where} ${order} LIMIT ? OFFSET ?`, values };
}

/** What the index by status says of its runs, so that it can be used. */
const NOT_COMPLETED = "r.status <> 'completed'";
