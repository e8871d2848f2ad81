/** The conversations of a store as a list. */

import { type RunQuery, type RunRecord, type Store, sumOfRuns } from "../../../core/store.ts";
import type { Usage } from "../../../core/usage.ts";

export type ListedConversation = {
  /** The first message: its id and its task are those of the conversation. */
  readonly first: RunRecord;
  /** The latest message: how the conversation stands. */
  readonly last: RunRecord;
  /** The number of messages to the root. */
  readonly messages: number;
  /** The sums over all messages, without children, like those of a run. */
  readonly turns: number;
  readonly toolCount: number;
  readonly usage: Usage;
  readonly costUsd: number | null;
  /** The time at work; undefined while it works. */
  readonly durationMs: number | undefined;
  /** The number of its questions without an answer, where that was looked up. */
  readonly questions?: number | undefined;
};

export type ConversationQuery = Pick<RunQuery, "status" | "since" | "cwd"> & {
  /** Only conversations with this agent. */
  agent?: string | undefined;
  limit: number;
  offset: number;
};

/** `status` and `since` ask about the latest message. */
export async function listConversations(
  store: Pick<Store, "list">,
  { limit, offset, status, agent, ...query }: ConversationQuery,
): Promise<ListedConversation[]> {
  const seen = new Set<string>();
  const found: RunRecord[] = [];
  for (let at = 0; found.length < offset + limit; at += PAGE) {
    const page = await store.list({ ...query, rootsOnly: true, limit: PAGE, offset: at });
    for (const record of page) {
      if (seen.has(record.rootId)) continue;
      seen.add(record.rootId);
      const isMeant = (agent ?? record.agent) === record.agent && (status ?? record.status) === record.status;
      if (isMeant) found.push(record);
    }
    if (page.length < PAGE) break;
  }
  return Promise.all(found.slice(offset, offset + limit).map((last) => conversationOf(store, last)));
}

const PAGE = 200;

async function conversationOf(store: Pick<Store, "list">, last: RunRecord): Promise<ListedConversation> {
  const runs = await store.list({ rootId: last.rootId, rootsOnly: true });
  return sumOf(runs.at(-1) ?? last, runs.length === 0 ? [last] : runs, last);
}

/** Any run as an entry of its own. */
export function alone(run: RunRecord): ListedConversation {
  return sumOf(run, [run], run);
}

/** Damaged with any of its messages. */
function sumOf({ ...first }: RunRecord, runs: readonly RunRecord[], last: RunRecord): ListedConversation {
  const durationMs = runs.reduce((sum, run) => sum + (run.durationMs ?? 0), 0);
  const isOver = last.endedAt !== undefined;
  const messages = runs.length;
  const damage = runs.find((run) => run.damage !== undefined)?.damage;
  if (damage !== undefined) first.damage = damage;
  return { first, last, messages, ...sumOfRuns(runs), durationMs: isOver ? durationMs : undefined };
}
