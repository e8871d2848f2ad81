/** The tables, made and changed by numbered steps that any number of processes may ask for at once. */

import { createHash } from "node:crypto";
import { UserError } from "../../../core/errors.ts";
import { LATEST_TIME } from "../event-schema.ts";
import { withAddedColumns } from "../run-columns.ts";
import { BUDGET_VERSION } from "./budget-schema.ts";
import { type Connection, plannedStatement, type Query, statement } from "./connection.ts";
import { PLACING_TABLES } from "./placing-tables.ts";
import { addColumn } from "./run-rows.ts";

/** Events of a tree are the keys from `tree × 2^28`; a number that both ends of the connection know. */
export const TREE_BITS = 28;

/** The name of a schema, quoted for use in statements. Throws a `UserError` when Postgres could not have one of that name. */
export function quoteSchema(name: string): string {
  if (name === "" || name.includes("\0") || Buffer.byteLength(name) > 63) {
    throw new UserError(`"${name}" cannot be the name of a Postgres schema: it must have 1 to 63 bytes`);
  }
  return `"${name.replaceAll('"', '""')}"`;
}

/** Brings the schema to this version. Throws a `UserError` when it is newer, or holds the tables of another program. */
export async function migrate(connection: Connection, name: string): Promise<void> {
  if ((await currentVersion(connection.query, name)) !== MIGRATIONS.length) await addVersions(connection, name);
  await adoptTallies(connection, name);
}

async function addVersions(connection: Connection, name: string): Promise<void> {
  const schema = quoteSchema(name);
  await connection.transaction(
    async (query) => {
      await query(statement("select pg_advisory_xact_lock($1::bigint)"), [lockNumber(name)]);
      const version = (await currentVersion(query, name)) ?? (await begin(query, name, connection.address()));
      if (version > MIGRATIONS.length) {
        throw new UserError(
          `The schema ${schema} of ${connection.address()} was written by a newer version of sous (schema ${version}; this one knows ${MIGRATIONS.length}): update sous, or choose another schema`,
        );
      }
      const steps = MIGRATIONS.slice(version).flat().join(";\n");
      await query(plannedStatement(steps.replaceAll("SCHEMA", () => schema)));
      await query(statement(`update ${schema}.${VERSION_TABLE} set version = $1`), [MIGRATIONS.length]);
    },
    { longestMs: MAX_MIGRATION_MS },
  );
}

/**
 * A dump that was restored into another server has numbers of transactions that this one has not reached: no snapshot would
 * show them. They get one of this server, once.
 */
async function adoptTallies(connection: Connection, name: string): Promise<void> {
  const tallies = `${quoteSchema(name)}.tallies`;
  const isForeign = "xid >= pg_snapshot_xmax(pg_current_snapshot())";
  const [row] = await connection.query(statement(`select exists (select from ${tallies} where ${isForeign}) as found`));
  if (row?.found !== true) return;
  await connection.transaction(
    async (query) => {
      await query(statement("select pg_advisory_xact_lock($1::bigint)"), [lockNumber(name)]);
      await query(statement(`update ${tallies} set xid = pg_current_xact_id() where ${isForeign}`));
    },
    { longestMs: MAX_MIGRATION_MS },
  );
}

const MAX_MIGRATION_MS = 10 * 60_000;

/** Undefined when the schema has not been used yet. */
async function currentVersion(query: Query, name: string): Promise<number | undefined> {
  if (!(await tablesOf(query, name)).includes(VERSION_TABLE)) return undefined;
  const [row] = await query(statement(`select version from ${quoteSchema(name)}.${VERSION_TABLE}`));
  return Number(row?.version ?? 0);
}

/** Reads the catalogue itself: what answers faster, like `to_regclass`, may not have heard yet what others have made. */
async function tablesOf(query: Query, name: string): Promise<string[]> {
  const rows = await query(
    statement(
      `select c.relname::text as name from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
       where n.nspname = $1`,
    ),
    [name],
  );
  return rows.map((row) => String(row.name));
}

async function begin(query: Query, name: string, address: string): Promise<number> {
  const schema = quoteSchema(name);
  const [row] = await query(
    statement(
      `select current_setting('server_encoding') as encoding,
         exists (select from pg_catalog.pg_namespace where nspname = $1) as found`,
    ),
    [name],
  );
  if (row?.encoding !== "UTF8") {
    throw new UserError(`${address} keeps text as ${row?.encoding}: use a database with the encoding UTF8`);
  }
  if ((await tablesOf(query, name)).some((table) => OUR_TABLES.has(table))) {
    throw new UserError(`The schema ${schema} of ${address} holds tables of another program: choose another schema`);
  }
  // The schema is made only when it is missing: an administrator may have made it for a user who may not.
  if (row.found !== true) await query(plannedStatement(`create schema ${schema}`));
  await query(plannedStatement(`create table ${schema}.${VERSION_TABLE} (version integer not null)`));
  await query(plannedStatement(`insert into ${schema}.${VERSION_TABLE} values (0)`));
  return 0;
}

const VERSION_TABLE = "sous_version";
const OUR_TABLES = new Set(["trees", "runs", "events", "blobs", "purses", "tallies", "workers", "mail", "budgets"]);

function lockNumber(name: string): string {
  return createHash("sha256").update(`sous schema ${name}`).digest().readBigInt64BE().toString();
}

/**
 * Never changed once published, only added to. Texts are compared byte by byte (`collate "C"`), as JavaScript does, and
 * numbers of ours are `double precision`, which is what they are there. Columns that came after version 1 are in `RUN_COLUMNS`.
 */
const VERSIONS: readonly (readonly string[])[] = [
  [
    `create table SCHEMA.trees (
       tree bigint generated always as identity primary key,
       root_id text collate "C" not null unique,
       started_at double precision not null,
       last_seq integer not null,
       fence bigint not null,
       owner text,
       lease_until timestamptz,
       lost text
     )`,
    "create index trees_started_at on SCHEMA.trees (started_at)",
    "create index trees_owner on SCHEMA.trees (owner) where owner is not null",
    `create table SCHEMA.runs (
       tree bigint not null,
       seq integer not null,
       end_seq integer,
       id text collate "C" not null unique,
       agent_id text collate "C" not null,
       parent_id text collate "C",
       path text not null,
       agent text not null,
       label text not null,
       depth double precision not null,
       status text collate "C" not null,
       stop_reason text,
       started_at double precision not null,
       ended_at double precision,
       duration_ms double precision,
       turns double precision not null,
       tool_count double precision not null,
       input_tokens double precision not null,
       output_tokens double precision not null,
       cached_input_tokens double precision not null,
       cache_write_tokens double precision not null,
       total_tokens double precision not null,
       is_estimated boolean not null,
       cost_usd double precision,
       model text not null,
       task text not null,
       summary_prompt text,
       allowed_tools text not null,
       cwd text collate "C",
       primary key (tree, seq)
     )`,
    "create index runs_started_at on SCHEMA.runs (started_at desc, id desc)",
    "create index runs_roots on SCHEMA.runs (started_at desc, id desc) where parent_id is null",
    "create index runs_folder on SCHEMA.runs (cwd, started_at desc, id desc) where cwd is not null",
    "create index runs_status on SCHEMA.runs (status, started_at desc, id desc)",
    "create index runs_parent on SCHEMA.runs (parent_id) where parent_id is not null",
    `create table SCHEMA.events (
       key bigint primary key,
       run integer not null,
       type text not null,
       json text not null
     )`,
    `create table SCHEMA.blobs (
       hash text collate "C" primary key,
       uses bigint not null,
       content bytea not null
     )`,
    `create table SCHEMA.purses (
       name text collate "C" primary key,
       limit_tokens bigint,
       limit_nano_usd bigint,
       limit_executions bigint,
       books text not null,
       version bigint not null
     )`,
  ],
  [
    // `xid` says which transaction added the row, because transactions commit in another order than they number rows.
    `create table SCHEMA.tallies (
       xid xid8 not null default pg_current_xact_id(),
       position bigint generated always as identity,
       started_at double precision not null,
       depth double precision not null,
       status text,
       error_type text,
       agent text,
       model text,
       project text,
       duration_ms double precision,
       turns double precision,
       input_tokens double precision,
       output_tokens double precision,
       cached_input_tokens double precision,
       cache_write_tokens double precision,
       total_tokens double precision,
       is_estimated boolean,
       cost_usd double precision,
       primary key (xid, position)
     )`,
    // Runs that have ended, and refused children. Trees with the fence 0 were imported. Texts may hold what is no jsonb.
    `insert into SCHEMA.tallies (started_at, depth, status, error_type, agent, model, project, duration_ms, turns, input_tokens,
       output_tokens, cached_input_tokens, cache_write_tokens, total_tokens, is_estimated, cost_usd)
     select ${amount("started_at", LATEST_TIME)}, depth, status,
       case when status in ('completed', 'incomplete') then null
         when error_type in ('depth_limit', 'invalid_input', 'quota', 'timeout', 'cancelled', 'refused', 'consent', 'model', 'tool',
           'crash', 'store') then error_type
         when status = 'budget_exceeded' then 'quota'
         when status in ('timeout', 'cancelled', 'refused') then status
         when status is null then 'refused'
         else 'crash' end,
       agent, model, project, ${amount("duration_ms")}, trunc(${amount("turns")}), ${amount("input_tokens")},
       ${amount("output_tokens")}, ${amount("cached_input_tokens")}, ${amount("cache_write_tokens")}, ${amount("total_tokens")},
       is_estimated, case when cost_usd between 0 and ${Number.MAX_SAFE_INTEGER} then cost_usd end
     from (
       select r.started_at, r.depth, r.status, substring(e.json from '"fault":\\{"type":"([a-z_]+)"') as error_type,
         r.agent, r.model, root.cwd as project, r.duration_ms, r.turns, r.input_tokens, r.output_tokens, r.cached_input_tokens,
         r.cache_write_tokens, r.total_tokens, r.is_estimated, r.cost_usd, r.ended_at as time
       from SCHEMA.runs r join SCHEMA.trees t on t.tree = r.tree join SCHEMA.runs root on root.id = t.root_id
       left join SCHEMA.events e on e.key = (r.tree << 28) + r.end_seq
       where r.status <> 'running' and t.fence > 0
       union all
       select substring(e.json from '"time":([0-9.]+)')::double precision, r.depth + 1, null,
         substring(e.json from '"errorType":"([a-z_]+)"'), null, null, root.cwd, null, null, null, null, null, null, null, null,
         null, substring(e.json from '"time":([0-9.]+)')::double precision
       from SCHEMA.events e join SCHEMA.runs r on r.tree = e.key >> 28 and r.seq = e.run
       join SCHEMA.trees t on t.tree = r.tree join SCHEMA.runs root on root.id = t.root_id
       where e.type = 'spawn-refused' and t.fence > 0 and e.json ~ '"time":[0-9.]'
     ) as ended order by time`,
  ],
  [
    "alter table SCHEMA.trees add column questions text",
    // A question is open when its run and those above it have not ended since, and no answer or result of its call came later.
    `update SCHEMA.trees t set questions = found.questions from (
       select tree, json_agg(json_build_object('runId', id, 'path', path, 'callId', call))::text as questions
       from (
         select distinct r.tree, r.id, r.path, asked.call
         from SCHEMA.runs r join lateral (
           select e.key, ${callIdOf("e")} as call from SCHEMA.events e
           where e.key between (r.tree << 28) + r.seq and ((r.tree + 1) << 28) - 1 and e.run = r.seq and e.type = 'approval-request'
         ) as asked on asked.call is not null
         where r.status = 'running' and r.model || '/' not like 'external/%'
           and not exists (select from SCHEMA.events later
             where later.key > asked.key and later.key < (r.tree + 1) << 28 and later.run = r.seq
               and (later.type in ('approval-end', 'tool-call-end') and ${callIdOf("later")} = asked.call
                 or later.type = 'tool-call-end' and starts_with(asked.call, ${callIdOf("later")} || '/')))
           and not exists (select from SCHEMA.runs above
             where above.tree = r.tree and (r.tree << 28) + above.end_seq > asked.key and starts_with(r.path, above.path || '/'))
       ) as open group by tree
     ) as found where found.tree = t.tree`,
  ],
  // Runs that started since a time are found without a look at what came before.
  ["create index tallies_by_start on SCHEMA.tallies (started_at)"],
  PLACING_TABLES,
  BUDGET_VERSION,
];

const MIGRATIONS = withAddedColumns("postgres", VERSIONS, addColumn);

/** The id as JSON writes it. Not read as JSON, which cannot hold every text that an event has. */
function callIdOf(event: string): string {
  return `substring(${event}.json from '"callId":"((?:[^"\\\\]|\\\\.)*)"')`;
}

/** The amount as a line of the totals can hold it, which stays for ever. */
function amount(column: string, most: number = Number.MAX_SAFE_INTEGER): string {
  return `case when ${column} > 0 and ${column} < 'infinity' then least(${column}, ${most}) else 0 end`;
}
