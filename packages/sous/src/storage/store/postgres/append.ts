/** Keeps events: one transaction in which the fence is checked, the runs are counted on and the events are added. */

import { addToQuestions, toQuestion } from "../../../core/approval.ts";
import { isProgress } from "../../../core/engine.ts";
import { StaleOwner, StoreError } from "../../../core/errors.ts";
import type { StoredEvent } from "../../../core/event.ts";
import { addToRunRecord, beginRunRecord, FIRST_FENCE, isFirstRun, NO_OWNER } from "../../../core/store.ts";
import { type EncodedEvent, encodeEvent, toColumn } from "../event-row.ts";
import { checkSeq, LAST_SEQ } from "../event-schema.ts";
import { rootElsewhere } from "../placed-start.ts";
import { parseQuestions, questionsColumn } from "../run-columns.ts";
import { type Connection, type Query, statement } from "./connection.ts";
import { told } from "./listening.ts";
import { checkAllAbove } from "./place.ts";
import {
  COUNTED_COLUMNS,
  INSERT_VALUES,
  insertRuns,
  insertValues,
  type PostgresRunRow,
  recordOf,
  storeBlobs,
  UPDATE_VALUES,
  updateRuns,
  updateValues,
} from "./run-rows.ts";
import { TREE_BITS } from "./schema.ts";
import { addTallies, addTalliesStatement } from "./tallies.ts";
import { LEASE_END, lockTree, type PostgresTreeRow } from "./trees.ts";

type Appended = { readonly event: StoredEvent; readonly encoded: EncodedEvent };

type AppendOptions = {
  connection: Connection;
  schema: string;
  owner: string;
  /** Max milliseconds to wait for a server that is away. */
  patienceMs: number;
  /** True when this store works on the journal. */
  isHeld: (journalId: string) => boolean;
};

export function createAppend({ connection, schema, owner, patienceMs, isHeld }: AppendOptions) {
  const sql = statements(schema);
  /** The journals whose last append may or may not have been kept. */
  const unsure = new Set<string>();

  /** Resolves with whether the journal continues: false after the `run-end` of its first run. */
  return async function append(rootId: string, events: readonly StoredEvent[], fence: number): Promise<boolean> {
    const given = events.map((event) => ({ event, encoded: encodeEvent(event) }));
    const isOpen = fence !== NO_OWNER && isOpenAfter(rootId, events);
    await connection.transaction(
      async (query) => {
        const tree = await beginOrLock(query, rootId, given, fence);
        if (unsure.has(rootId) && (await areKept(query, tree, given))) return;
        checkFence(rootId, tree, fence);
        for (const [index, { seq }] of events.entries()) checkSeq(rootId, events[index - 1]?.seq ?? tree.lastSeq, seq);
        const { begun, goneOn, runOf } = await countOn(query, rootId, tree, events);
        const questions = parseQuestions(tree.questions, rootId);
        for (const event of events)
          addToQuestions(questions, event, (asked) => toQuestion(asked, runOf.get(asked.runId)?.record.model ?? ""));
        const blobs = given.flatMap(({ encoded }) => encoded.blobs);
        await storeBlobs(query, schema, blobs);
        await query(tree.isOpen ? sql.writePlaced : sql.write, [
          tree.tree,
          events.at(-1)?.seq,
          isOpen ? owner : null,
          given.map(({ event }) => event.seq),
          given.map(({ event }) => runOf.get(event.runId)?.seq),
          given.map(({ encoded }) => encoded.type),
          given.map(({ encoded }) => encoded.json),
          questionsColumn(questions),
          ...insertValues(begun),
          ...updateValues(goneOn),
          ...(tree.isOpen ? placedChanges(rootId, events) : []),
        ]);
        if (tree.isOpen && hasEnded(rootId, events)) await query(sql.endPlaced, [tree.tree, toColumn(rootId)]);
        if (fence !== NO_OWNER) await addTallies(query, sql.tally, tree.tree, events, (runId) => runOf.get(runId)?.seq);
      },
      { onUnsure: () => unsure.add(rootId), patienceMs },
    );
    unsure.delete(rootId);
    return isOpen;
  };

  async function beginOrLock(
    query: Query,
    rootId: string,
    given: readonly Appended[],
    fence: number,
  ): Promise<PostgresTreeRow> {
    const tree = await lockTree(query, schema, rootId);
    if (tree !== undefined) return tree;
    if (isHeld(rootId) || (fence !== FIRST_FENCE && fence !== NO_OWNER))
      throw new StaleOwner(`Tree ${rootId} is no longer in the store`);
    const [first] = given;
    if (first?.event.type !== "run-start" || first.event.runId !== rootId)
      throw new StoreError(`Tree ${rootId} does not begin with the start of its root`);
    await checkAllAbove(query, schema, [first.event]);
    const ofRoot = rootElsewhere(rootId, first.event);
    // Another process may do the same right now: then this waits until that one has succeeded or given up.
    const values = [toColumn(rootId), first.event.time, fence, ofRoot === undefined ? null : toColumn(ofRoot)];
    const [row] = await query(sql.begin, values);
    if (row === undefined) return beginOrLock(query, rootId, given, fence);
    const nobody = { owner: undefined, leasedUntil: 0, isOwned: () => false, isOpen: false };
    return { tree: Number(row.tree), id: rootId, ofRoot, fence, lastSeq: 0, ...nobody, questions: undefined };
  }

  /** True when exactly these events are in the tree: an earlier attempt was kept, and only its answer was lost. */
  async function areKept(query: Query, { tree }: PostgresTreeRow, given: readonly Appended[]): Promise<boolean> {
    const kept = await query(sql.kept, [tree, given[0]?.event.seq, given.at(-1)?.event.seq]);
    return (
      kept.length === given.length &&
      given.every(({ event, encoded }, index) => {
        const row = kept[index];
        return row?.seq === event.seq && row.json === encoded.json && row.id === toColumn(event.runId);
      })
    );
  }

  async function countOn(query: Query, rootId: string, { tree }: PostgresTreeRow, events: readonly StoredEvent[]) {
    const runOf = new Map<string, PostgresRunRow>();
    const starting = new Set(events.filter(({ type }) => type === "run-start").map(({ runId }) => runId));
    const earlier = new Set(events.map(({ runId }) => runId).filter((runId) => !starting.has(runId)));
    if (earlier.size > 0) {
      for (const row of await query(sql.count, [tree, [...earlier].map(toColumn)])) {
        const record = recordOf(row, () => true);
        const endSeq = row.end_seq === null ? undefined : Number(row.end_seq);
        runOf.set(record.id, { record, seq: Number(row.seq), endSeq });
      }
    }
    const goneOn = [...runOf.values()];
    const begun: PostgresRunRow[] = [];
    for (const event of events) {
      const row = runOf.get(event.runId);
      if (event.type === "run-start") {
        const started = { record: beginRunRecord(rootId, event), seq: event.seq, endSeq: undefined };
        runOf.set(event.runId, started);
        begun.push(started);
      } else if (row === undefined) {
        throw new StoreError(
          `Event ${event.seq} of tree ${rootId} belongs to run ${event.runId}, which has not started`,
        );
      } else {
        addToRunRecord(row.record, event);
        if (event.type === "run-end") row.endSeq = event.seq;
      }
    }
    return { begun, goneOn, runOf };
  }
}

function statements(schema: string) {
  const firstOfRuns = 9;
  const firstOfPlaced = firstOfRuns + INSERT_VALUES + UPDATE_VALUES;
  /** With the changes of a placed journal, which an append to any other does not pay for. */
  const write = (changes: string) =>
    statement(
      `with tree as (
         update ${schema}.trees set last_seq = $2, owner = $3::text, questions = $8::text,
           lease_until = case when $3::text is not null then ${LEASE_END} end ${changes}
         where tree = $1::bigint),
       begun as (${insertRuns(schema, firstOfRuns)}),
       gone_on as (${updateRuns(schema, firstOfRuns + INSERT_VALUES)})
       insert into ${schema}.events (key, run, type, json)
       select ($1::bigint << ${TREE_BITS}) + seq, run, type, json
       from unnest($4::integer[], $5::integer[], $6::text[], $7::text[]) as rows(seq, run, type, json)`,
    );
  return {
    tally: addTalliesStatement(schema),
    begin: statement(
      `insert into ${schema}.trees (root_id, started_at, last_seq, fence, of_root) values ($1, $2, 0, $3, $4)
       on conflict (root_id) do nothing returning tree`,
    ),
    count: statement(`select ${COUNTED_COLUMNS} from ${schema}.runs where tree = $1 and id = any($2::text[])`),
    kept: statement(
      `select (e.key & ${LAST_SEQ})::integer as seq, r.id, e.json
       from ${schema}.events e join ${schema}.runs r on r.tree = $1 and r.seq = e.run
       where e.key between ($1::bigint << ${TREE_BITS}) + $2::integer and ($1::bigint << ${TREE_BITS}) + $3::integer
       order by e.key`,
    ),
    write: write(""),
    writePlaced: write(
      `, claims = case when $${firstOfPlaced}::boolean then 0 else claims end,
         mail_seen = greatest(mail_seen, $${firstOfPlaced + 1}::bigint), is_open = not $${firstOfPlaced + 2}::boolean`,
    ),
    endPlaced: statement(
      `with read as (delete from ${schema}.mail where tree = $1) select ${told(schema, "ended", "$2::text")}`,
    ),
  };
}

/** True until its first run has ended, and again when a root continues with a follow-up: the owner works on the journal then. */
function isOpenAfter(journalId: string, events: readonly StoredEvent[]): boolean {
  const last = events.findLast(
    (event) => isFirstRun(journalId, event) && (event.type === "run-start" || event.type === "run-end"),
  );
  return last?.type !== "run-end";
}

/** The values of `writePlaced` behind those of `write`. */
function placedChanges(journalId: string, events: readonly StoredEvent[]): unknown[] {
  const mail = events.map((event) => ("mail" in event ? (event.mail ?? 0) : 0));
  return [events.some(isProgress), Math.max(0, ...mail), hasEnded(journalId, events)];
}

function hasEnded(journalId: string, events: readonly StoredEvent[]): boolean {
  return events.some(({ type, runId }) => type === "run-end" && runId === journalId);
}

function checkFence(rootId: string, tree: PostgresTreeRow, fence: number): void {
  if (tree.fence !== fence)
    throw new StaleOwner(`Tree ${rootId} was taken over: claim ${fence} is not the latest, which is ${tree.fence}`);
}
