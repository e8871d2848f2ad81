/** Placed runs in Postgres: they are begun many at once, and taken by workers that lock what they look at and pass over what others have locked. */

import type { Clock } from "../../../core/clock.ts";
import type { JournalState, Placing, TakenJournal, WorkerFacts } from "../../../core/engine.ts";
import { ignore } from "../../../core/errors.ts";
import type { EventOf } from "../../../core/event.ts";
import { fromColumn, toColumn } from "../event-row.ts";
import type { LostMarks } from "../lost-marks.ts";
import { describeOwner } from "../owner.ts";
import type { Connection, Row } from "./connection.ts";
import { isLost } from "./errors.ts";
import { createListening } from "./listening.ts";
import { createMail } from "./mail.ts";
import { placeIn } from "./place.ts";
import { placingStatements } from "./placing-statements.ts";
import { toEvents } from "./read.ts";
import { type Claims, livingOwners } from "./trees.ts";
import { createWorkers } from "./workers.ts";

type PlacingOptions = {
  readonly connection: Connection;
  readonly schema: string;
  readonly owner: string;
  readonly claims: Claims;
  /** Journals that are marked beside the store are not taken here. */
  readonly marks: LostMarks;
  readonly timer: Clock["timer"];
  /** Max milliseconds to wait for a server that is away. */
  readonly patienceMs: number;
};

export function createPlacing(options: PlacingOptions): Placing & Disposable {
  const { connection, schema, owner, claims, marks, timer, patienceMs } = options;
  const sql = placingStatements(schema);
  const listening = createListening(connection, schema, timer);
  const workers = createWorkers({ connection, schema, owner, timer, listening });
  let lastTake: Promise<unknown> = Promise.resolve();

  async function take({ agents, folder }: WorkerFacts, limit: number): Promise<TakenJournal[]> {
    const dead = await workers.deadOwners();
    const known = claims.isUnsure ? claims.ids().map(toColumn) : null;
    claims.isUnsure = false;
    const values = [
      owner,
      agents.map(toColumn),
      marks.rootIds().map(toColumn),
      dead,
      known,
      limit,
      folder === undefined ? null : toColumn(folder),
    ];
    const rows = await connection.query(sql.take, values).catch((error: unknown) => {
      if (isLost(error) || known !== null) claims.isUnsure = true;
      throw error;
    });
    const taken = rows
      .map((row) => ({ tree: Number(row.tree), ...toTaken(row) }))
      .sort((one, two) => one.tree - two.tree);
    return taken.map(({ journalId, fence, claims: count }) => {
      claims.hold(journalId, fence);
      return { journalId, fence, claims: count };
    });
  }

  return {
    ...workers,
    ...createMail(connection, schema),
    listen: listening.listen,
    place: (starts) => placeIn(connection, schema, starts, patienceMs),
    async take(worker, limit) {
      if (!(limit >= 1) || worker.agents.length === 0) return [];
      // One at a time: a take must know what the one before it got.
      const taking = lastTake.then(() => take(worker, Math.trunc(Math.min(limit, MAX_TAKEN))));
      lastTake = taking.catch(ignore);
      return taking;
    },
    async ends(journalIds) {
      if (journalIds.length === 0) return [];
      if (journalIds.length === 0) return [];
      const rows = await connection.query(sql.ends, [journalIds.map(toColumn)]);
      const events = await toEvents(connection.query, schema, rows, undefined);
      return events.filter((event): event is EventOf<"run-end"> => event.type === "run-end");
    },
    async journals(rootId) {
      const isAlive = livingOwners();
      return (await connection.query(sql.journals, [toColumn(rootId)])).map((row) => toJournalState(row, isAlive));
    },
    [Symbol.dispose]: () => listening[Symbol.dispose](),
  };
}

const MAX_TAKEN = 100_000;

function toTaken(row: Row): TakenJournal {
  return { journalId: fromColumn(String(row.root_id)), fence: Number(row.fence), claims: Number(row.claims) };
}

function toJournalState(row: Row, isAlive: (row: Row) => boolean): JournalState {
  const { owner, worker } = row;
  const last = typeof owner === "string" ? owner : worker;
  return {
    journalId: fromColumn(String(row.root_id)),
    lastSeq: Number(row.last_seq),
    state: stateOf(row, isAlive),
    where: typeof last === "string" ? describeOwner(last) : undefined,
    claims: Number(row.claims),
  };
}

function stateOf(row: Row, isAlive: (row: Row) => boolean): JournalState["state"] {
  if (row.status !== "running") return "ended";
  if (isAlive(row)) return "held";
  if (row.is_queued === true) return "queued";
  return row.is_asked === true ? "parked" : "dead";
}
