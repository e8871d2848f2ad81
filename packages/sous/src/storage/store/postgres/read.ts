/** Answers questions: the events of a tree, and runs as records. */

import type { RunIdentity, StoredEvent } from "../../../core/event.ts";
import {
  checkRunQuery,
  DamageError,
  type ReadOptions,
  type RunQuery,
  type RunRecord,
  type Store,
} from "../../../core/store.ts";
import { isUnended } from "../../../core/words/outcomes.ts";
import { decodeEvent, toColumn } from "../event-row.ts";
import { LAST_SEQ } from "../event-schema.ts";
import { Losses, LostMarks, marksIn } from "../lost-marks.ts";
import { type Connection, plannedStatement, type Query, type Row, statement } from "./connection.ts";
import { IDENTITY_COLUMNS, identityOf, RECORD_COLUMNS, readBlobs, recordOf } from "./run-rows.ts";
import { TREE_BITS } from "./schema.ts";
import { goneOwners, IS_QUEUED, isAtWork, livingOwners } from "./trees.ts";

type Reader = Pick<Store, "read" | "run" | "list" | "children" | "tree">;

export function createReader(connection: Connection, schema: string, losses: Losses): Reader {
  const { query } = connection;
  const select = selectRecords(schema);

  async function records(text: string, values: unknown[]): Promise<RunRecord[]> {
    return toRecords(await query(plannedStatement(text), values), losses);
  }

  return {
    async read(rootId, options = {}) {
      const { onDamage, limit = Number.POSITIVE_INFINITY } = options;
      const events: StoredEvent[] = [];
      for (let after = options.after; ; ) {
        const left = limit - events.length;
        const { text, values } = eventsQuery(schema, rootId, { ...options, after, limit: left });
        const rows = await query(plannedStatement(text), values);
        events.push(...(await toEvents(query, schema, rows, onDamage)));
        // Damaged rows that were left out make room for later ones.
        if (rows.length === 0 || rows.length < left || events.length >= limit) return events;
        after = Number(rows.at(-1)?.seq);
      }
    },
    async run(runId) {
      const [record] = await records(`${select} where r.id = $1`, [toColumn(runId)]);
      return record;
    },
    async list(given = {}) {
      checkRunQuery(given);
      const isAboutOwners = given.status !== undefined && isUnended(given.status);
      const gone = isAboutOwners ? await goneOwners(query, schema) : [];
      const { conditions, values } = listConditions(schema, given, gone);
      const where = conditions.length === 0 ? "" : `where ${conditions.join(" and ")}`;
      const page = `limit $${values.length + 1} offset $${values.length + 2}`;
      return records(`${select} ${where} order by r.started_at desc, r.id desc ${page}`, [
        ...values,
        wholeOr(given.limit, null),
        wholeOr(given.offset, 0),
      ]);
    },
    async children(runId) {
      const isInItsTree = `(r.tree = (select tree from ${schema}.runs where id = $1) or t.of_root is not null)`;
      const where = `where r.parent_id = $1 and ${isInItsTree} order by r.tree, r.seq`;
      return inOrderOfStart(await records(`${select} ${where}`, [toColumn(runId)]));
    },
    tree: (rootId) => records(`${select} where ${isOfTree(schema, "$1")} order by r.tree, r.seq`, [toColumn(rootId)]),
  };
}

/** Runs of one journal stay in the order of its numbers, because a clock may be set back. */
function inOrderOfStart(records: RunRecord[]): RunRecord[] {
  const [first] = records;
  if (records.every(({ journalId }) => journalId === first?.journalId)) return records;
  const latest = new Map<string, number>();
  const timed = records.map((record) => {
    const time = Math.max(record.startedAt, latest.get(record.journalId) ?? 0);
    latest.set(record.journalId, time);
    return { record, time };
  });
  return timed.sort((one, other) => one.time - other.time).map(({ record }) => record);
}

/** Events in the order of their rows. A row is not trusted; without `onDamage` the first that cannot be read throws. */
export async function toEvents(
  query: Query,
  schema: string,
  rows: readonly Row[],
  onDamage: ReadOptions["onDamage"],
): Promise<StoredEvent[]> {
  const blobs = await readBlobs(
    query,
    schema,
    rows.map(({ json }) => String(json)),
  );
  const identities = new Map<Row[string] | undefined, RunIdentity>();
  return rows.flatMap((row): StoredEvent[] => {
    const stored = { seq: Number(row.seq), type: String(row.type), json: String(row.json) };
    try {
      const identity = identities.get(row.id) ?? identityOf(row);
      identities.set(row.id, identity);
      return [decodeEvent(stored, identity, (hash) => blobs.get(hash))];
    } catch (error) {
      if (onDamage === undefined || !(error instanceof DamageError)) throw error;
      onDamage(error);
      return [];
    }
  });
}

/** Selects what `toRecords` reads, of the run `r` and its tree `t`. */
export function selectRecords(schema: string): string {
  return `select ${RECORD_COLUMNS} from ${schema}.runs r join ${schema}.trees t on t.tree = r.tree`;
}

export function toRecords(rows: readonly Row[], losses: Losses): RunRecord[] {
  const isAlive = livingOwners();
  return rows.map((row) => losses.addTo(recordOf(row, isAlive)));
}

/** Everything that is compared with a key is known before the first key is looked at, so that only a range is. */
function eventsQuery(schema: string, rootId: string, options: ReadOptions): { text: string; values: unknown[] } {
  const { after, runId, limit } = options;
  const base = `((select tree from ${schema}.trees where root_id = $1) << ${TREE_BITS})`;
  const values = [toColumn(rootId), Math.min(wholeOr(after, 0), LAST_SEQ), wholeOr(limit, null)];
  let upTo = `${LAST_SEQ}`;
  let ofRun = "";
  if (runId !== undefined) {
    values.push(toColumn(runId));
    const run = (column: string) => `(select ${column} from ${schema}.runs where id = $4)`;
    upTo = `coalesce(${run("end_seq")}, ${LAST_SEQ})`;
    // A conversation that was continued often is read run by run, so each must cost no more than itself.
    ofRun = `and e.run = ${run("seq")} and e.key >= ${base} + ${run("seq")}`;
  }
  const text = `
    select (e.key & ${LAST_SEQ})::integer as seq, e.run, e.type, e.json, ${IDENTITY_COLUMNS}
    from ${schema}.events e
    left join ${schema}.runs r on r.tree = (select tree from ${schema}.trees where root_id = $1) and r.seq = e.run
    where e.key > ${base} + $2::integer and e.key <= ${base} + ${upTo} ${ofRun}
    order by e.key limit $3`;
  return { text, values };
}

function listConditions(
  schema: string,
  query: RunQuery,
  goneOwners: string[],
): { conditions: string[]; values: unknown[] } {
  const { since, status, rootsOnly, idPrefix, rootId, cwd } = query;
  const values: unknown[] = [];
  const parameter = (value: unknown) => values.push(value);
  const conditions: string[] = [];
  if (since !== undefined) conditions.push(`r.started_at >= $${parameter(since)}`);
  if (rootsOnly === true) conditions.push("r.parent_id is null");
  if (rootId !== undefined) conditions.push(isOfTree(schema, `$${parameter(toColumn(rootId))}`));
  // A placed run may say a folder, too.
  if (cwd !== undefined) conditions.push(`r.cwd = $${parameter(toColumn(cwd))}`, "t.of_root is null");
  if (idPrefix !== undefined) conditions.push(`r.id like $${parameter(`${likeText(idPrefix)}%`)}`);
  if (status !== undefined && isUnended(status)) {
    conditions.push("r.status = 'running'", `${status === "running" ? "" : "not "}${isAtWork(parameter(goneOwners))}`);
    if (status === "queued") conditions.push(IS_QUEUED);
    else if (status !== "running")
      conditions.push(`not ${IS_QUEUED}`, `t.questions is ${status === "waiting" ? "not null" : "null"}`);
  } else if (status !== undefined) conditions.push(`r.status = $${parameter(status)}`);
  return { conditions, values };
}

/** Condition on the journal `t`: it is of the tree with this root. */
function isOfTree(schema: string, rootId: string): string {
  return `t.tree = any(array(
    select tree from ${schema}.trees where root_id = ${rootId} and of_root is null
    union all select tree from ${schema}.trees where of_root = ${rootId}))`;
}

function likeText(text: string): string {
  return toColumn(text).replace(/[\\%_]/g, "\\$&");
}

/** A count as Postgres takes it. */
function wholeOr<Other>(count: number | undefined, other: Other): number | Other {
  return count === undefined || !Number.isFinite(count) ? other : Math.max(0, Math.trunc(count));
}

/** Called only once the address of the server is known. */
export function lossesOf(connection: Connection, schema: string, folder: string | undefined): Losses {
  const markLost = statement(
    `update ${schema}.trees set lost = coalesce(lost, $2) where root_id = $1 returning root_id`,
  );
  return new Losses(new LostMarks(marksIn(folder, `${connection.address()} ${schema}`)), async (rootId, reason) => {
    const noted = await connection.query(markLost, [toColumn(rootId), toColumn(reason)]);
    return noted.length > 0;
  });
}
