/** Long texts by their hash: each is kept once, and counted as often as events refer to it. */

import { type Blob, blobsOf } from "./event-row.ts";
import { type Query, statement } from "./postgres-connection.ts";

export async function keepBlobs(query: Query, schema: string, blobs: readonly Blob[]): Promise<void> {
  const uses = countedHashes(blobs.map(({ hash }) => hash));
  const texts = new Map(blobs.map(({ hash, text }) => [hash, text]));
  for (const [hash, count] of uses) {
    // A text that is there already need not be sent again.
    const known = await query(statement(`update ${schema}.blobs set uses = uses + $2 where hash = $1 returning uses`), [
      hash,
      count,
    ]);
    if (known.length > 0) continue;
    await query(
      statement(
        `insert into ${schema}.blobs as b (hash, uses, content) values ($1, $2, $3)
         on conflict (hash) do update set uses = b.uses + excluded.uses`,
      ),
      [hash, count, Buffer.from(texts.get(hash) ?? "")],
    );
  }
}

/** Gives back what these rows of events refer to, and forgets what nobody refers to any more. */
export async function dropBlobs(query: Query, schema: string, jsons: readonly string[]): Promise<void> {
  const uses = countedHashes(jsons.flatMap(hashesIn));
  for (const [hash, count] of uses)
    await query(statement(`update ${schema}.blobs set uses = uses - $2 where hash = $1`), [hash, count]);
  await query(statement(`delete from ${schema}.blobs where hash = any($1::text[]) and uses <= 0`), [
    uses.map(([hash]) => hash),
  ]);
}

/** The texts that these rows of events refer to. */
export async function readBlobs(query: Query, schema: string, jsons: readonly string[]): Promise<Map<string, string>> {
  const hashes = [...new Set(jsons.flatMap(hashesIn))];
  if (hashes.length === 0) return new Map();
  const rows = await query(
    statement(`select hash, encode(content, 'base64') as content from ${schema}.blobs where hash = any($1::text[])`),
    [hashes],
  );
  return new Map(rows.map(({ hash, content }) => [String(hash), Buffer.from(String(content), "base64").toString()]));
}

/** Always in the same order, so that two transactions that need the same texts do not wait for each other in a ring. */
function countedHashes(hashes: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const hash of hashes.toSorted()) counts.set(hash, (counts.get(hash) ?? 0) + 1);
  return [...counts];
}

/** A damaged row refers to nothing; whoever reads it is told so then, and it can still be deleted. */
function hashesIn(json: string): string[] {
  try {
    return blobsOf(json);
  } catch {
    return [];
  }
}
