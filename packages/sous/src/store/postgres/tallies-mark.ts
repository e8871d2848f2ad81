/** A position in the totals as a text: the snapshots between which lines are read, and the last line that was. */

export type TalliesMark = {
  /** The snapshot of the last complete answer: what was visible in it has been read. */
  readonly from?: string | undefined;
  /** While an answer is read in pages: the snapshot of its first page, */
  readonly upTo?: string | undefined;
  /** and the last line of its last page. */
  readonly last?: { readonly xid: string; readonly position: string } | undefined;
};

export function writeMark({ from = "", upTo = "", last }: TalliesMark): string {
  return [from, upTo, last?.xid, last?.position].join("/");
}

/** Undefined when it is not a mark, or one of a server that is further than this one is `now`. */
export function parseMark(mark: string, now: string): TalliesMark | undefined {
  const [from = "", ...rest] = mark.split("/");
  if (from !== "" && !isSnapshot(from, now)) return undefined;
  if (rest.length === 0) return from === "" ? undefined : { from };
  const [upTo = "", xid = "", position = ""] = rest;
  if (rest.length !== 3 || !isSnapshot(upTo, now) || !isNumber(xid) || !isNumber(position)) return undefined;
  return { from: from === "" ? undefined : from, upTo, last: { xid, position } };
}

/** As Postgres writes one: the first transaction that may run, the first that has not begun, and those between them that run. */
function isSnapshot(text: string, now: string): boolean {
  const [first = "", end = "", running, ...rest] = text.split(":");
  if (running === undefined || rest.length > 0) return false;
  const between = running === "" ? [] : running.split(",");
  if (![first, end, ...between].every(isNumber)) return false;
  const [, latest = "0"] = now.split(":");
  const isOrdered = between.every((xid, index) => BigInt(between[index - 1] ?? first) <= BigInt(xid));
  return isOrdered && BigInt(between.at(-1) ?? first) <= BigInt(end) && BigInt(end) <= BigInt(latest);
}

function isNumber(text: string): boolean {
  return /^[1-9][0-9]{0,17}$/.test(text);
}
