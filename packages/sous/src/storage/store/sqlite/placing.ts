/** Placed runs in a database: workers of this machine take them, and look a few times a second whether there is something new. */

import type { Clock } from "../../../core/clock.ts";
import type { JournalState, News, Placing, TakenJournal, WorkerFacts } from "../../../core/engine.ts";
import { StoreError } from "../../../core/errors.ts";
import type { EventOf } from "../../../core/event.ts";
import { NO_OWNER } from "../../../core/store.ts";
import { fromColumn, toColumn } from "../event-row.ts";
import type { LostMarks } from "../lost-marks.ts";
import { newsListeners } from "../news.ts";
import { describeOwner, isGone, LEASE_MS } from "../owner.ts";
import type { SqliteClaims } from "./claims.ts";
import type { SqliteConnection } from "./connection.ts";
import { eventsIn } from "./events.ts";
import { sqliteMail } from "./mail.ts";
import { lastSeqOf } from "./reader.ts";
import { sqliteWorkers } from "./workers.ts";
import type { SqliteWriter } from "./writer.ts";

type SqlitePlacingOptions = {
  readonly connection: SqliteConnection;
  readonly claims: SqliteClaims;
  readonly writer: SqliteWriter;
  /** Journals that are marked beside the database are not taken. */
  readonly marks: LostMarks;
  readonly clock: Pick<Clock, "now" | "timer">;
};

type SqlitePlacing = Placing & Disposable & { readonly tell: (news: News) => void };

/** Two of them are the longest time without a call. */
const TICK_MS = 250;

export function sqlitePlacing({ connection, claims, writer, marks, clock }: SqlitePlacingOptions): SqlitePlacing {
  const { owner } = claims;
  let seenVersion: unknown;
  let ticks = 0;
  const news = newsListeners({
    timer: clock.timer,
    tickMs: TICK_MS,
    look() {
      ticks += 1;
      const version = versionOf(connection);
      const isNew = version !== seenVersion;
      seenVersion = version;
      return isNew || ticks % 2 === 0;
    },
  });
  /** In a microtask: those who listen may want to ask the store themselves. */
  const tell = (each: News): void => queueMicrotask(() => news.tell(each));

  /** The journals that may be taken; part of a transaction that is open. */
  function find({ agents, folder }: WorkerFacts, limit: number) {
    const owners = connection.prepare(FIND_OWNERS).all(owner);
    const dead = owners.map((row) => String(row.owner)).filter(isGone);
    const lists = [agents.map(toColumn), marks.rootIds().map(toColumn), dead].map((list) => JSON.stringify(list));
    const only = folder === undefined ? null : toColumn(folder);
    return connection.prepare(FIND_FREE).all(...lists, owner, clock.now(), limit, only);
  }

  function take({ number, id, fence, claims: before }: Record<string, unknown>): TakenJournal & { number: number } {
    const taken = { number: Number(number), fence: Number(fence) + 1, claims: Number(before) + 1 };
    connection.prepare(TAKE).run(taken.fence, owner, clock.now() + LEASE_MS, taken.claims, taken.number);
    return { ...taken, journalId: fromColumn(String(id)) };
  }

  return {
    tell,
    listen: news.listen,
    ...sqliteWorkers({ connection, owner, clock }),
    ...sqliteMail(connection, tell),
    async place(starts) {
      const begun = writer.place(starts);
      const [journalId] = begun;
      if (journalId !== undefined) tell({ kind: "placed", ...(begun.length === 1 && { journalId }) });
    },
    async take(worker, limit) {
      const most = Math.trunc(Math.min(limit, Number.MAX_SAFE_INTEGER));
      // A look waits for no one; most of the time there is nothing to take.
      if (!(most >= 1) || connection.read(() => find(worker, 1)).length === 0) return [];
      const taken = connection.write(() => find(worker, most).map(take));
      return taken.map(({ number, journalId, fence, claims: count }) => {
        writer.release(journalId);
        claims.hold(number);
        return { journalId, fence, claims: count };
      });
    },
    async ends(journalIds) {
      return connection.read(() => journalIds.flatMap((journalId) => endOf(connection, journalId)));
    },
    async journals(rootId) {
      return connection.read(() =>
        connection
          .prepare(FIND_JOURNALS)
          .all(toColumn(rootId))
          .map((row): JournalState => {
            const { number, id, owner: now, worker, claims: count } = row;
            const last = now ?? worker;
            return {
              journalId: fromColumn(String(id)),
              lastSeq: lastSeqOf(connection, Number(number)),
              state: stateOf(row, claims),
              where: typeof last === "string" ? describeOwner(last) : undefined,
              claims: Number(count),
            };
          }),
      );
    },
    [Symbol.dispose]: () => news[Symbol.dispose](),
  };
}

/** Changes when another connection has written. A file that cannot be read may have changed. */
function versionOf(connection: SqliteConnection): unknown {
  try {
    return connection.read(() => connection.prepare("PRAGMA data_version").get()?.data_version);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return undefined;
  }
}

function endOf(connection: SqliteConnection, journalId: string): EventOf<"run-end">[] {
  const { number, last_seq: seq } = connection.prepare(FIND_END).get(toColumn(journalId)) ?? {};
  if (seq === undefined || seq === null) return [];
  const range = { tree: Number(number), from: Number(seq), to: Number(seq) };
  return [...eventsIn(connection, range)].filter((event): event is EventOf<"run-end"> => event.type === "run-end");
}

function stateOf(row: Record<string, unknown>, claims: SqliteClaims): JournalState["state"] {
  if (row.status !== "running") return "ended";
  if (claims.isTreeAtWork(Number(row.number))) return "held";
  if (row.is_open === 1 && row.fence === NO_OWNER) return "queued";
  return row.is_asked === 1 ? "parked" : "dead";
}

const FIND_OWNERS = "SELECT DISTINCT owner FROM runs WHERE owner IS NOT NULL AND owner <> ?";
/** ?1 are agents, ?2 journals that are not to be taken, and ?3 owners that are dead. With ?7 only those of this folder. */
const FIND_FREE = `SELECT number, id, ifnull(fence, 0) AS fence, ifnull(claims, 0) AS claims FROM runs t
WHERE is_open = 1 AND lost IS NULL AND agent IN (SELECT value FROM json_each(?1))
  AND id NOT IN (SELECT value FROM json_each(?2)) AND root = number AND (?7 IS NULL OR cwd = ?7) AND CASE
    WHEN owner IS NULL THEN questions IS NULL OR EXISTS (SELECT 1 FROM mail m
      WHERE m.run = t.number AND m.id > ifnull(t.mail_seen, 0)
      AND (m.kind = 'stop' OR m.kind = 'answer' AND instr(t.questions, m.question) > 0))
    WHEN owner = ?4 THEN 0
    ELSE leased_until <= ?5 OR owner IN (SELECT value FROM json_each(?3)) END
ORDER BY number LIMIT ?6`;
const TAKE = `UPDATE runs SET fence = ?, owner = ?2, worker = ?2, leased_until = ?3, claims = ?4,
  mail_seen = max(ifnull(mail_seen, 0), ifnull((SELECT max(id) FROM mail WHERE run = runs.number), 0)) WHERE number = ?5`;
const FIND_END = "SELECT number, last_seq FROM runs WHERE id = ? AND root = number AND status <> 'running'";
const FIND_JOURNALS = `SELECT number, id, owner, worker, status, is_open, ifnull(fence, 0) AS fence, ifnull(claims, 0) AS claims,
  questions IS NOT NULL AS is_asked FROM runs WHERE of_root = ? AND of_root IS NOT NULL ORDER BY number`;
