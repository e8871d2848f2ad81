/** Damages of one tree of a database, drawn by chance: its events, their types and numbers, its rows, its long texts. */

import { DatabaseSync } from "node:sqlite";
import type { Random } from "../../../../src/core/clock.ts";
import { STORED_TYPES } from "../../../../src/core/words/event-rows.ts";
import { blobsOf } from "../../../../src/storage/store/event-row.ts";
import { between, chance, pick } from "../../../../src/testing/world.ts";
import { FIELDS, pathsOf, VALUES } from "./crafted-values.ts";

export type Damage = { readonly name: string; readonly sql: string };

/** The SQL of a damage that the database takes. Nothing of another tree is touched. */
export function drawDamage(file: string, rootId: string, random: Random): Damage {
  using database = new DatabaseSync(file);
  for (;;) {
    const damage = pick(random, KINDS)(treeOf(database, rootId), random);
    if (isTaken(database, damage.sql)) return damage;
  }
}

type EventRow = { readonly key: number; readonly json: string };
type Tree = {
  readonly events: readonly [EventRow, ...EventRow[]];
  readonly runs: readonly [number, ...number[]];
  readonly columns: readonly [string, ...string[]];
  readonly blobs: readonly [string, ...string[]];
};

function treeOf(database: DatabaseSync, rootId: string): Tree {
  const all = (sql: string, ...values: (string | number)[]) => database.prepare(sql).all(...values);
  const runs = all("SELECT number FROM runs WHERE root = (SELECT number FROM runs WHERE id = ?)", rootId);
  const numbers = runs.map(({ number }) => Number(number));
  const tree = Math.min(...numbers);
  const events = all("SELECT key, json FROM events WHERE key >= ?1 << 28 AND key < (?1 + 1) << 28 ORDER BY key", tree);
  const rows = events.map(({ key, json }) => ({ key: Number(key), json: String(json) }));
  const columns = all("PRAGMA table_info(runs)").map(({ name }) => String(name));
  const blobs = rows.flatMap(({ json }) => blobsOf(json));
  return { events: some(rows), runs: some(numbers), columns: some(columns), blobs: some(blobs) };
}

function some<Value>(values: readonly Value[]): readonly [Value, ...Value[]] {
  const [first, ...rest] = values;
  if (first === undefined) throw new Error("The tree has too little to be damaged");
  return [first, ...rest];
}

type Kind = (tree: Tree, random: Random) => Damage;

const KINDS: readonly [Kind, ...Kind[]] = [field, json, type, seq, owner, column, blob];

function field({ events }: Tree, random: Random): Damage {
  const { key, json } = pick(random, events);
  const path = pick(random, some(pathsOf(JSON.parse(json))));
  const value = pick(random, FIELDS);
  const sql = `UPDATE events SET json = json_set(json, '${path}', json('${value}')) WHERE key = ${key}`;
  return { name: `field ${path} of event ${seqOf(key)} = ${value}`, sql };
}

function json({ events }: Tree, random: Random): Damage {
  const { key, json: text } = pick(random, events);
  const at = between(random, 1, text.length);
  const cut = `substr(json, 1, ${at})`;
  const flipped = `${cut} || char(${between(random, 1, 126)}) || substr(json, ${at + 2})`;
  const value = pick(random, [cut, flipped, flipped, pick(random, VALUES)]);
  return { name: `event ${seqOf(key)} = ${value}`, sql: `UPDATE events SET json = ${value} WHERE key = ${key}` };
}

function type({ events }: Tree, random: Random): Damage {
  const { key } = pick(random, events);
  const value = chance(random, 0.5) ? pick(random, VALUES) : `'${pick(random, some(STORED_TYPES))}'`;
  return {
    name: `type of event ${seqOf(key)} = ${value}`,
    sql: `UPDATE events SET type = ${value} WHERE key = ${key}`,
  };
}

function seq({ events }: Tree, random: Random): Damage {
  const { key } = pick(random, events);
  if (chance(random, 0.3)) return { name: `no event ${seqOf(key)}`, sql: `DELETE FROM events WHERE key = ${key}` };
  const other = pick(random, events).key;
  if (chance(random, 0.4) || other === key) {
    const behind = (events.at(-1)?.key ?? 0) + between(random, 1, 5);
    return { name: `event ${seqOf(key)} comes last`, sql: `UPDATE events SET key = ${behind} WHERE key = ${key}` };
  }
  const moves = [
    `SET key = -1 WHERE key = ${key}`,
    `SET key = ${key} WHERE key = ${other}`,
    `SET key = ${other} WHERE key = -1`,
  ];
  const sql = moves.map((move) => `UPDATE events ${move}`).join("; ");
  return { name: `events ${seqOf(key)} and ${seqOf(other)} change places`, sql };
}

function owner({ events, runs }: Tree, random: Random): Damage {
  const { key } = pick(random, events);
  const value = chance(random, 0.5) ? pick(random, VALUES) : String(pick(random, runs));
  return { name: `run of event ${seqOf(key)} = ${value}`, sql: `UPDATE events SET run = ${value} WHERE key = ${key}` };
}

function column({ runs, columns }: Tree, random: Random): Damage {
  const [name, value, run] = [pick(random, columns), pick(random, VALUES), pick(random, runs)];
  return { name: `${name} of run ${run} = ${value}`, sql: `UPDATE runs SET ${name} = ${value} WHERE number = ${run}` };
}

function blob({ blobs }: Tree, random: Random): Damage {
  const hash = pick(random, blobs);
  const flipped = "CAST(substr(data, 1, 99) || x'21' || substr(data, 101) AS BLOB)";
  const change = pick(random, [`data = ${flipped}`, "data = x'00'", "data = substr(data, 9)", "hash = x'00ff'"]);
  if (chance(random, 0.2)) return { name: "no text", sql: `DELETE FROM blobs WHERE hash = x'${hash}'` };
  return { name: `text: ${change}`, sql: `UPDATE blobs SET ${change} WHERE hash = x'${hash}'` };
}

function seqOf(key: number): number {
  return key % 2 ** 28;
}

/** What the database itself refuses is no damage that can be met. */
function isTaken(database: DatabaseSync, sql: string): boolean {
  database.exec("BEGIN");
  try {
    database.exec(sql);
    return true;
  } catch {
    return false;
  } finally {
    database.exec("ROLLBACK");
  }
}
