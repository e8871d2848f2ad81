/** `sous replay --list`: the runs of a database, newest first. */

import { thisFolder } from "../files/paths.ts";
import { isThere, noDatabase, openRuns } from "../stored/database.ts";
import {
  alone,
  type ConversationQuery,
  type ListedConversation,
  listConversations,
} from "../stored/list-conversations.ts";
import { conversationJson, runJson } from "../stored/run-json.ts";
import { readMoment, readWhole } from "../table/options.ts";
import { printJson, tell } from "../terminal/output.ts";
import { listLines } from "./list-lines.ts";
import type { Replay } from "./request.ts";

export async function replayList(replay: Replay): Promise<number> {
  const { values, file, output } = replay;
  const limit = readWhole("limit", values.limit, 1);
  const offset = readWhole("offset", values.offset, 0);
  const since = values.since === undefined ? undefined : readMoment("since", values.since, Date.now());
  const here = thisFolder();
  // One more than is shown tells whether there are more.
  const query = { limit: limit + 1, offset, status: values.status, since, cwd: values.here ? here : undefined };
  const found = isThere(file) ? await list(replay, query) : [];
  const entries = found.slice(0, limit);
  const isMore = found.length > limit;
  if (values.json) {
    const runs = entries.map((entry) => (values.roots ? conversationJson(entry) : runJson(entry.first)));
    printJson({ schema: "sous.runs.v1", runs, limit, offset, has_more: isMore });
  } else if (entries.length > 0) {
    output.print(listLines(entries, output.columns, output.style, here));
    if (isMore) output.print([output.style.paint("dim", `There are more: --offset ${offset + limit}`)]);
  }
  if (entries.length === 0) tell(nothingFound(replay));
  return 0;
}

async function list({ values, file }: Replay, query: ConversationQuery): Promise<ListedConversation[]> {
  await using store = await openRuns(file, "read");
  return values.roots ? await listConversations(store, query) : (await store.list(query)).map(alone);
}

function nothingFound({ values, file }: Replay): string {
  if (!isThere(file)) return noDatabase(file);
  const isFiltered = values.status !== undefined || values.since !== undefined || values.offset !== "0" || values.here;
  return isFiltered
    ? "No run is like that; sous replay --list shows the newest."
    : "There are no runs yet. sous demo makes one.";
}
