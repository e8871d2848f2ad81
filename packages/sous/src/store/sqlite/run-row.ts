/** One run as a row of a database: written when it starts and when it ends, and not trusted when it is read. */

import type { SQLInputValue, SQLOutputValue } from "node:sqlite";
import { StoreError } from "../../core/errors.ts";
import type { EventOf, RunIdentity } from "../../core/event.ts";
import { textOf } from "../../core/message.ts";
import { RECORD_STATUSES, type RunRecord } from "../../core/store.ts";
import { noUsage, type Usage } from "../../core/usage.ts";
import { type Blob, fromColumn, hashOf, isForBlobs, toColumn } from "../event-row.ts";
import { checkedRecord, damagedRun } from "../event-schema.ts";
import type { SqliteConnection } from "./connection.ts";
import { MAX_VALUE_BYTES } from "./schema.ts";

export type SqliteRunRow = {
  readonly number: number;
  /** The number of its root, which is the number of its tree. */
  readonly tree: number;
  readonly firstSeq: number;
  /** As it stood when the run began, or after its end; what lies between is in its events. */
  readonly record: RunRecord;
};

/** Where a run stands among the others of a database. */
type RunNumbers = { readonly number: number; readonly tree: number; readonly parent: number | null };

/** Part of a transaction that is open. */
export function insertRun(connection: SqliteConnection, numbers: RunNumbers, start: EventOf<"run-start">): void {
  const column = (text: string): SQLInputValue => {
    if (!isForBlobs(text)) return toColumn(text);
    const hash = hashOf(text);
    storeBlob(connection, { hash, text });
    return Buffer.from(hash, "hex");
  };
  connection
    .prepare(INSERT)
    .run(
      numbers.number,
      toColumn(start.runId),
      numbers.tree,
      numbers.parent,
      toColumn(start.agentId),
      toColumn(start.path),
      start.depth,
      toColumn(start.agent),
      toColumn(start.label),
      toColumn(start.model),
      column(textOf(start.task)),
      start.summaryPrompt === undefined ? null : column(start.summaryPrompt),
      JSON.stringify(start.rights.use),
      start.seq,
      start.time,
      start.cwd === undefined ? null : toColumn(start.cwd),
    );
}

/** Part of a transaction that is open. */
export function endRun(connection: SqliteConnection, number: number, end: EventOf<"run-end">): void {
  connection
    .prepare(END)
    .run(
      end.status,
      end.stopReason ?? null,
      end.seq,
      end.time,
      end.durationMs,
      end.turns,
      end.toolCount,
      JSON.stringify(end.usage),
      end.costUsd,
      number,
    );
}

/** What `parseIdentity` wants to see of the run `r` and its parent; no text may be too long to be one of ours. */
const IDENTITY_COLUMNS = `r.number, r.root, r.parent, r.depth, ${capped("id", "agent_id", "path")}, substr(p.id, 1, 1000) AS parent_id`;

export const SELECT_IDENTITY: string = `SELECT ${IDENTITY_COLUMNS}
FROM runs r LEFT JOIN runs p ON p.number = r.parent WHERE r.number = ? AND r.root = ?`;

/** What `parseRunRow` wants to see. */
export const SELECT_RUNS: string = `SELECT ${IDENTITY_COLUMNS}, r.first_seq, r.started_at, r.ended_at, r.duration_ms, r.turns, r.tool_count,
  r.cost_usd, ${capped("agent", "label", "model", "task", "summary_prompt", "allowed_tools", "status", "stop_reason", "usage", "cwd", "lost")},
  substr(t.id, 1, 1000) AS root_id
FROM runs r LEFT JOIN runs p ON p.number = r.parent LEFT JOIN runs t ON t.number = r.root`;

export function parseIdentity(row: Row): RunIdentity {
  const number = whole(row, "number");
  const tree = whole(row, "root");
  const parent = row.parent === null ? null : whole(row, "parent");
  // A parent comes before its children, so there can be no circle among them.
  if (number < tree || (parent !== null && (parent < tree || parent >= number))) throw damaged(row, "parent");
  return {
    runId: words(row, "id"),
    agentId: words(row, "agent_id"),
    parentId: parent === null ? null : words(row, "parent_id"),
    path: words(row, "path"),
    depth: whole(row, "depth"),
  };
}

/** Whatever the row holds, this returns a run or throws a `StoreError`. */
export function parseRunRow(row: Row, blob: (hash: string) => string | undefined): SqliteRunRow {
  const identity = parseIdentity(row);
  const status = statusOf(row);
  const lost = row.lost === null ? {} : { lost: words(row, "lost") };
  const record: RunRecord = {
    id: identity.runId,
    agentId: identity.agentId,
    parentId: identity.parentId,
    rootId: words(row, "root_id"),
    path: identity.path,
    agent: words(row, "agent"),
    label: words(row, "label"),
    depth: identity.depth,
    status,
    stopReason: row.stop_reason === null ? undefined : text(row, "stop_reason"),
    startedAt: amount(row, "started_at"),
    endedAt: row.ended_at === null ? undefined : amount(row, "ended_at"),
    durationMs: row.duration_ms === null ? undefined : amount(row, "duration_ms"),
    turns: row.turns === null ? 0 : amount(row, "turns"),
    toolCount: row.tool_count === null ? 0 : amount(row, "tool_count"),
    usage: row.usage === null ? noUsage() : usageOf(row),
    costUsd: costOf(row, status),
    model: words(row, "model"),
    task: longText(row, "task", blob),
    summaryPrompt: row.summary_prompt === null ? undefined : longText(row, "summary_prompt", blob),
    allowedTools: toolsOf(row),
    cwd: row.cwd === null ? undefined : words(row, "cwd"),
    ...lost,
  };
  checkedRecord(record);
  return { tree: whole(row, "root"), number: whole(row, "number"), firstSeq: whole(row, "first_seq"), record };
}

function capped(...columns: string[]): string {
  return columns.map((column) => `iif(octet_length(r.${column}) > 1000000, x'', r.${column}) AS ${column}`).join(", ");
}

type Row = Readonly<Record<string, SQLOutputValue>>;

function text(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== "string") throw damaged(row, column);
  return value;
}

/** A text with characters that a column may not be able to hold. */
function words(row: Row, column: string): string {
  return fromColumn(text(row, column));
}

function longText(row: Row, column: string, blob: (hash: string) => string | undefined): string {
  const value = row[column];
  if (!(value instanceof Uint8Array)) return words(row, column);
  const found = blob(Buffer.from(value).toString("hex"));
  if (found === undefined) throw damaged(row, column);
  return found;
}

function amount(row: Row, column: string): number {
  const value = row[column];
  if (typeof value !== "number" || !Number.isFinite(value)) throw damaged(row, column);
  return value;
}

function whole(row: Row, column: string): number {
  const value = amount(row, column);
  if (!Number.isSafeInteger(value) || value < 0) throw damaged(row, column);
  return value;
}

function statusOf(row: Row): RunRecord["status"] {
  const found = STATUSES.find((status) => status === row.status);
  if (found === undefined) throw damaged(row, "status");
  return found;
}

/** Nothing is spent at the start; after the end, null says that a price was unknown. */
function costOf(row: Row, status: RunRecord["status"]): number | null {
  if (status === "running") return 0;
  return row.cost_usd === null ? null : amount(row, "cost_usd");
}

function usageOf(row: Row): Usage {
  const found = json(row, "usage");
  const usage = noUsage();
  if (typeof found !== "object" || found === null) throw damaged(row, "usage");
  for (const [name, value] of Object.entries(found)) {
    if (!Object.hasOwn(usage, name) || typeof value !== typeof usage[name as keyof Usage]) throw damaged(row, "usage");
  }
  return { ...usage, ...found };
}

function toolsOf(row: Row): readonly string[] {
  const found = json(row, "allowed_tools");
  if (!Array.isArray(found) || !found.every((name) => typeof name === "string")) throw damaged(row, "allowed_tools");
  return found;
}

function json(row: Row, column: string): unknown {
  try {
    return JSON.parse(text(row, column));
  } catch (error) {
    if (error instanceof SyntaxError) throw damaged(row, column);
    throw error;
  }
}

function damaged({ id, number }: Row, column: string): StoreError {
  return damagedRun(typeof id === "string" ? id : `number ${number}`, column);
}

/** A run is stored as running, or as it ended; whether it was interrupted is found out when it is read. */
const STATUSES = RECORD_STATUSES.filter((status) => status !== "interrupted");

const INSERT = `INSERT INTO runs (number, id, root, parent, agent_id, path, depth, agent, label, model, task, summary_prompt,
  allowed_tools, first_seq, started_at, cwd, status) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'running')`;
const END = `UPDATE runs SET status = ?, stop_reason = ?, last_seq = ?, ended_at = ?, duration_ms = ?, turns = ?, tool_count = ?, usage = ?,
  cost_usd = ? WHERE number = ?`;

/** Keeps the text, or counts one more use of it; part of a transaction that is open. */
export function storeBlob(connection: SqliteConnection, { hash, text }: Blob): void {
  const bytes = Buffer.from(text);
  if (bytes.length > MAX_VALUE_BYTES)
    throw new StoreError(`A text of more than ${MAX_VALUE_BYTES} bytes cannot be kept`);
  connection.prepare(STORE).run(Buffer.from(hash, "hex"), bytes);
}

/** Counts one use less and deletes the text with the last; part of a transaction that is open. */
export function releaseBlob(connection: SqliteConnection, hash: string): void {
  const key = Buffer.from(hash, "hex");
  connection.prepare(RELEASE).run(key);
  connection.prepare(DELETE_UNUSED).run(key);
}

/** A function that reads texts by hash, each once. */
export function blobReader(connection: SqliteConnection): (hash: string) => string | undefined {
  const texts = new Map<string, string>();
  return (hash) => {
    const known = texts.get(hash);
    if (known !== undefined) return known;
    const data = connection.prepare(READ).get(MAX_VALUE_BYTES, Buffer.from(hash, "hex"))?.data;
    if (!(data instanceof Uint8Array)) return undefined;
    const text = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString();
    texts.set(hash, text);
    return text;
  };
}

const STORE = "INSERT INTO blobs (hash, data, uses) VALUES (?, ?, 1) ON CONFLICT (hash) DO UPDATE SET uses = uses + 1";
const RELEASE = "UPDATE blobs SET uses = uses - 1 WHERE hash = ?";
const DELETE_UNUSED = "DELETE FROM blobs WHERE hash = ? AND uses <= 0";
const READ = "SELECT data FROM blobs WHERE octet_length(data) <= ? AND hash = ?";
