/** Long texts of a database: each is kept once, and as long as something refers to it. */

import { StoreError } from "../core/errors.ts";
import type { Blob } from "./event-row.ts";
import type { SqliteConnection } from "./sqlite-connection.ts";
import { LARGEST_VALUE_BYTES } from "./sqlite-schema.ts";

/** Keeps the text, or counts one more use of it; part of a transaction that is open. */
export function keepBlob(connection: SqliteConnection, { hash, text }: Blob): void {
  const bytes = Buffer.from(text);
  if (bytes.length > LARGEST_VALUE_BYTES)
    throw new StoreError(`A text of more than ${LARGEST_VALUE_BYTES} bytes cannot be kept`);
  connection.prepare(KEEP).run(Buffer.from(hash, "hex"), bytes);
}

/** Counts one use less and forgets the text with the last; part of a transaction that is open. */
export function dropBlob(connection: SqliteConnection, hash: string): void {
  const key = Buffer.from(hash, "hex");
  connection.prepare(DROP).run(key);
  connection.prepare(FORGET).run(key);
}

/** A function that reads texts by hash, each once. */
export function blobReader(connection: SqliteConnection): (hash: string) => string | undefined {
  const texts = new Map<string, string>();
  return (hash) => {
    const known = texts.get(hash);
    if (known !== undefined) return known;
    const data = connection.prepare(READ).get(LARGEST_VALUE_BYTES, Buffer.from(hash, "hex"))?.data;
    if (!(data instanceof Uint8Array)) return undefined;
    const text = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString();
    texts.set(hash, text);
    return text;
  };
}

const KEEP = "INSERT INTO blobs (hash, data, uses) VALUES (?, ?, 1) ON CONFLICT (hash) DO UPDATE SET uses = uses + 1";
const DROP = "UPDATE blobs SET uses = uses - 1 WHERE hash = ?";
const FORGET = "DELETE FROM blobs WHERE hash = ? AND uses <= 0";
const READ = "SELECT data FROM blobs WHERE octet_length(data) <= ? AND hash = ?";
