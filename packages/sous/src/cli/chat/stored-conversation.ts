/** Conversations of a store: a conversation is a tree, and each run of its root is one message. */

import type { EventOf, StoredEvent } from "../../core/event.ts";
import type { Budget } from "../../core/limits.ts";
import type { RunRecord, Store } from "../../core/store.ts";
import { addCost } from "../../core/usage.ts";
import { ROOT_NAME } from "../application/root.ts";
import { CommandError } from "../exit-codes.ts";
import { findRun, type SearchPlace } from "../stored/find-run.ts";
import { type ListedConversation, listConversations } from "../stored/list-conversations.ts";
import { inertLine } from "../terminal/inert.ts";

/** What a person said, and the run that answered it. */
export type ConversationMessage = { readonly runId: string; readonly text: string };

/** A conversation that a chat can continue, in a list to choose from. */
export type ListedChat = Pick<ListedConversation, "last" | "messages"> & {
  readonly rootId: string;
  /** Its first message, also when it was copied since. */
  readonly title: string;
  /** Of the whole tree. */
  readonly costUsd: number | null;
};

export type StoredConversation = {
  readonly rootId: string;
  readonly last: RunRecord;
  readonly messages: readonly ConversationMessage[];
  readonly events: readonly StoredEvent[];
  /** What the tree may spend. */
  readonly budget: Budget | undefined;
};

const MAX_LISTED = 10;
/** No conversation was copied from a copy this often; a database may hold one that says so. */
const MAX_COPIES = 20;

/** The newest conversations of a folder, the one with the newest message first. Runs of other agents are none. */
export async function listChats(store: Store, cwd: string): Promise<ListedChat[]> {
  const found = await listConversations(store, { agent: ROOT_NAME, cwd, limit: MAX_LISTED, offset: 0 });
  return Promise.all(
    found.map(async ({ first, last, messages }) => {
      const { rootId } = last;
      const records = await store.tree(rootId);
      const costUsd = records.reduce<number | null>((sum, record) => addCost(sum, record.costUsd), 0);
      return { rootId, title: await titleOf(store, first), messages, last, costUsd };
    }),
  );
}

async function titleOf(store: Store, { rootId, id, task }: RunRecord, copies = 0): Promise<string> {
  const origin = (await startOf(store, rootId, id))?.origin;
  const from = origin?.kind === "branch" && copies < MAX_COPIES ? await store.run(origin.runId) : undefined;
  const first = from && (await store.run(from.rootId));
  return first === undefined ? task : titleOf(store, first, copies + 1);
}

/**
 * The last run of the conversation that is meant: by its number in a list as it was shown, `last`, an id or the beginning of
 * one. Throws a `CommandError` when there is none that a chat could continue.
 */
export async function findConversation(
  store: Store,
  given: string,
  listed: readonly ListedChat[],
  place: SearchPlace,
): Promise<RunRecord> {
  const number = /^\d{1,2}$/.test(given) ? Number(given) : given === "last" ? 1 : undefined;
  const [chosen] = number === undefined ? [] : listed.slice(Math.max(0, number - 1), number);
  if (number === 0 || (number !== undefined && chosen === undefined && given !== "last"))
    throw new CommandError(`There is no conversation ${given} in the list; /resume shows it`);
  const record = chosen?.last ?? (await findRun(store, given, place));
  const { rootId, parentId, agent } = record;
  const [id, root] = [inertLine(record.id, 60), inertLine(rootId, 60)];
  if (parentId !== null) throw new CommandError(`${id} is a child; continue its root: sous chat --resume ${root}`);
  if (agent !== ROOT_NAME)
    throw new CommandError(
      `${id} is a run of the agent ${inertLine(agent, 60)}, not a conversation; sous resume ${id} continues it`,
    );
  const last = lastOf((await store.tree(rootId)).filter((each) => each.parentId === null));
  if (last.status === "running") throw new CommandError(`Another process works on ${inertLine(last.id, 60)}`);
  return last;
}

/** All that is known of the conversation with this run. */
export async function readConversation(store: Store, { rootId }: RunRecord): Promise<StoredConversation> {
  const [events, records] = [await store.read(rootId), await store.tree(rootId)];
  const last = lastOf(records.filter(({ parentId }) => parentId === null));
  const start = events.findLast((event) => event.type === "run-start" && event.parentId === null);
  const budget = start?.type === "run-start" ? start.budget : undefined;
  return { rootId, last, events, budget, messages: await messagesOf(store, rootId) };
}

/** Those of the conversation it was copied from come first. */
async function messagesOf(store: Store, rootId: string, copies = 0): Promise<ConversationMessage[]> {
  const runs = (await store.tree(rootId)).filter(({ parentId }) => parentId === null);
  const messages: ConversationMessage[] = [];
  for (const { id, task } of runs) {
    const start = await startOf(store, rootId, id);
    if (start?.origin?.kind === "branch" && copies < MAX_COPIES)
      messages.push(...(await messagesBefore(store, start.origin.runId, copies + 1)));
    if (start?.summarizes !== true) messages.push({ runId: id, text: task });
  }
  return messages;
}

async function messagesBefore(store: Store, runId: string, copies: number): Promise<ConversationMessage[]> {
  const record = await store.run(runId);
  if (record === undefined) return [];
  const messages = await messagesOf(store, record.rootId, copies);
  const at = messages.findIndex((message) => message.runId === runId);
  return at < 0 ? messages : messages.slice(0, at + 1);
}

async function startOf(store: Store, rootId: string, runId: string): Promise<EventOf<"run-start"> | undefined> {
  const [start] = await store.read(rootId, { runId, limit: 1 });
  return start?.type === "run-start" ? start : undefined;
}

function lastOf(messages: readonly RunRecord[]): RunRecord {
  const last = messages.at(-1);
  if (last === undefined) throw new CommandError("This conversation has no beginning in this database");
  return last;
}
