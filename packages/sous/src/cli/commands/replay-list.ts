/** `sous replay --list`: the runs of a database, newest first. */

import type { RunRecord } from "../../core/store.ts";
import { listLines } from "../list-lines.ts";
import { isThere, noDatabase, openRuns } from "../open-runs.ts";
import { readMoment, readWhole, readWord } from "../options.ts";
import { printJson, tell } from "../output.ts";
import { runJson } from "../run-json.ts";
import type { Replay } from "./replay-parts.ts";

const STATUSES: readonly RunRecord["status"][] = [
  "completed",
  "incomplete",
  "failed",
  "cancelled",
  "timeout",
  "budget_exceeded",
  "refused",
  "interrupted",
  "running",
];

export async function replayList(replay: Replay): Promise<number> {
  const { values, file, output } = replay;
  const limit = readWhole("limit", values.limit, 1);
  const offset = readWhole("offset", values.offset, 0);
  const status = values.status === undefined ? undefined : readWord("status", values.status, STATUSES);
  const since = values.since === undefined ? undefined : readMoment("since", values.since, Date.now());
  // One more than is shown tells whether there are more.
  const found = isThere(file) ? await list(replay, { limit: limit + 1, offset, status, since }) : [];
  const records = found.slice(0, limit);
  const isMore = found.length > limit;
  if (values.json) {
    printJson({ schema: "sous.runs.v1", runs: records.map(runJson), limit, offset, has_more: isMore });
  } else if (records.length > 0) {
    output.print(listLines(records, output.columns, output.style));
    if (isMore) output.print([output.style.paint("dim", `There are more: --offset ${offset + limit}`)]);
  }
  if (records.length === 0) tell(nothingFound(replay));
  return 0;
}

async function list(
  replay: Replay,
  query: Parameters<Awaited<ReturnType<typeof openRuns>>["list"]>[0],
): Promise<RunRecord[]> {
  await using store = await openRuns(replay.file, "read");
  return store.list(query);
}

function nothingFound({ values, file }: Replay): string {
  if (!isThere(file)) return noDatabase(file);
  const isFiltered = values.status !== undefined || values.since !== undefined || values.offset !== "0";
  return isFiltered
    ? "No run is like that; sous replay --list shows the newest."
    : "There are no runs yet. sous demo makes one.";
}
