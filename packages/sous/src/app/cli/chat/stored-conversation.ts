/** Conversations of a store: listed, found, read and shown. A conversation is a tree, and each run of its root is one message. */

import type { EventOf, StoredEvent } from "../../../core/event.ts";
import type { Budget } from "../../../core/limits.ts";
import { textOf } from "../../../core/message.ts";
import type { RunRecord, Store } from "../../../core/store.ts";
import { fromStored } from "../../../core/units.ts";
import { addCost } from "../../../core/usage.ts";
import { canResume } from "../../../core/words/outcomes.ts";
import { EarlierTree } from "../../../runtime/tree/restore/earlier-tree.ts";
import { refuseChild } from "../../../runtime/tree/restore/refusals.ts";
import { ROOT_NAME } from "../application/root.ts";
import { CommandError } from "../exit-codes.ts";
import { findRun, type RunSearch } from "../stored/find-run.ts";
import { type ListedConversation, listConversations } from "../stored/list-conversations.ts";
import { type Style, statusWords } from "../terminal/style.ts";
import { cost, cutToWidth, inertLine, joinToWidth, localTime, plural } from "../terminal/text.ts";
import { MarkdownStream } from "./markdown.ts";
import { echoLines } from "./prompt-line.ts";

/** A person's message, and the run that answered it. */
export type ConversationMessage = { readonly runId: string; readonly text: string };

/** A conversation that a chat can continue, in a list to choose from. */
export type ListedChat = Pick<ListedConversation, "last" | "messages"> & {
  readonly rootId: string;
  /** The first message, also when it was copied since. */
  readonly title: string;
  /** The cost of the whole tree. */
  readonly costUsd: number | null;
};

export type StoredChat = {
  readonly rootId: string;
  readonly last: RunRecord;
  readonly messages: readonly ConversationMessage[];
  readonly events: readonly StoredEvent[];
  /** The budget of the tree. */
  readonly budget: Budget | undefined;
  /** The tree as it was read, to be resumed from once. */
  earlier(): EarlierTree;
};

const MAX_LISTED = 10;
/** Bounds copies of copies; a damaged database may claim more. */
const MAX_COPIES = 20;

/** The newest conversations of a folder with this agent, the one with the newest message first. */
export async function listChats(store: Store, cwd: string, agent = ROOT_NAME): Promise<ListedChat[]> {
  const found = await listConversations(store, { agent, cwd, limit: MAX_LISTED, offset: 0 });
  return Promise.all(
    found.map(async ({ first, last, messages }) => {
      const { rootId } = last;
      const records = await store.tree(rootId);
      const costUsd = records.reduce<number | null>((sum, record) => addCost(sum, record.costUsd), 0);
      return { rootId, title: await titleOf(store, first), messages, last, costUsd };
    }),
  );
}

async function titleOf(store: Store, record: RunRecord, copies = 0): Promise<string> {
  const origin = (await storedStart(store, record))?.origin;
  const from = origin?.kind === "branch" && copies < MAX_COPIES ? await store.run(origin.runId) : undefined;
  const first = from && (await store.run(from.rootId));
  return first === undefined ? record.task : titleOf(store, first, copies + 1);
}

/**
 * The last run of the conversation that is meant: by its number in a list as it was shown, `last`, an id or the beginning of
 * one. Throws a `CommandError` when no such conversation can be continued.
 */
export async function findConversation(
  store: Store,
  given: string,
  listed: readonly ListedChat[],
  { agent: expected = ROOT_NAME, ...search }: RunSearch & { readonly agent?: string },
): Promise<RunRecord> {
  const number = /^\d{1,2}$/.test(given) ? Number(given) : given === "last" ? 1 : undefined;
  const chosen = number === undefined ? undefined : listed[number - 1];
  if (number !== undefined && chosen === undefined && given !== "last")
    throw new CommandError(`Unknown conversation ${given}; /resume shows the list`);
  const record = chosen?.last ?? (await findRun(store, given, search));
  const { rootId, agent } = record;
  const [id, root] = [inertLine(record.id, 60), inertLine(rootId, 60)];
  refuseChild({ ...record, id, rootId: root }, `sous chat --resume ${root}`);
  if (agent !== expected) {
    const other = inertLine(agent, 60);
    const chat = agent === ROOT_NAME ? "sous chat" : `sous chat --agent ${other}`;
    throw new CommandError(
      `${id} is a run of the agent ${other}, and not of ${inertLine(expected, 60)}; sous resume ${id} continues it, or ${chat} --resume ${id}`,
    );
  }
  const last = lastOf((await store.tree(rootId)).filter((each) => each.parentId === null));
  if (last.status === "running") throw new CommandError(`Another process works on ${inertLine(last.id, 60)}`);
  return last;
}

/** All that is known of the conversation with this run. */
export async function readConversation(store: Store, { rootId }: RunRecord): Promise<StoredChat> {
  const [events, records] = [await store.read(rootId), await store.tree(rootId)];
  const last = lastOf(records.filter(({ parentId }) => parentId === null));
  const start = events.findLast((event) => event.type === "run-start" && event.parentId === null);
  const budget = start?.type === "run-start" && start.budget !== undefined ? fromStored(start.budget) : undefined;
  const earlier = () => new EarlierTree(rootId, events);
  const starts = new Map(events.flatMap((event) => (event.type === "run-start" ? [[event.runId, event]] : [])));
  const messages = await messagesOf(store, records, async ({ id }) => starts.get(id));
  return { rootId, last, events, budget, messages, earlier };
}

/** Puts the messages of the conversation it was copied from first. `records` are those of its tree. */
async function messagesOf(
  store: Store,
  records: readonly RunRecord[],
  startOf: (record: RunRecord) => Promise<EventOf<"run-start"> | undefined>,
  copies = 0,
): Promise<ConversationMessage[]> {
  const messages: ConversationMessage[] = [];
  for (const record of records.filter(({ parentId }) => parentId === null)) {
    const start = await startOf(record);
    if (start?.origin?.kind === "branch" && copies < MAX_COPIES)
      messages.push(...(await messagesBefore(store, start.origin.runId, copies + 1)));
    if (start?.summarizes !== true) messages.push({ runId: record.id, text: record.task });
  }
  return messages;
}

async function messagesBefore(store: Store, runId: string, copies: number): Promise<ConversationMessage[]> {
  const record = await store.run(runId);
  if (record === undefined) return [];
  const records = await store.tree(record.rootId);
  const messages = await messagesOf(store, records, (each) => storedStart(store, each), copies);
  const at = messages.findIndex((message) => message.runId === runId);
  return at < 0 ? messages : messages.slice(0, at + 1);
}

async function storedStart(store: Store, { rootId, id }: RunRecord): Promise<EventOf<"run-start"> | undefined> {
  // A damaged conversation hides no other.
  const [start] = await store.read(rootId, { runId: id, limit: 1, onDamage: () => {} });
  return start?.type === "run-start" ? start : undefined;
}

function lastOf(messages: readonly RunRecord[]): RunRecord {
  const last = messages.at(-1);
  if (last === undefined) throw new CommandError("This conversation has no beginning in this database");
  return last;
}

/** Two lines each: its number and first message, then what it came to. `current` is the root of the one that is open. */
export function conversationLines(
  list: readonly ListedChat[],
  current: string | undefined,
  columns: number,
  { glyphs, paint }: Style,
): string[] {
  return list.flatMap(({ rootId, title, messages, last, costUsd }, index) => {
    const metrics = [
      ...(rootId === current ? ["this conversation"] : last.status === "completed" ? [] : [statusWords(last)]),
      plural(messages, "message"),
      cost(costUsd),
      localTime(last.startedAt),
      inertLine(rootId, 60),
    ].filter((metric) => metric !== "");
    const head = `${String(index + 1).padStart(2)}  ${inertLine(title)}`;
    const below = joinToWidth(metrics, glyphs.dot, columns - 4);
    return [cutToWidth(head, columns, glyphs.more), ...below.map((line) => paint("dim", `    ${line}`))];
  });
}

/** Max lines of an answer. Its end is shown, which the next message is about. */
const MAX_ANSWER_LINES = 20;

/** The last message that was answered, and the one that was not, each with what was said to it. */
export function earlierLines({ events, last, messages }: StoredChat, columns: number, style: Style): string[] {
  const { glyphs, paint } = style;
  const dim = (text: string): string => paint("dim", cutToWidth(text, columns, glyphs.more));
  const isInterrupted = canResume(last.status);
  const shown = messages.slice(isInterrupted ? -2 : -1);
  const before = messages.length - shown.length;
  const lines = before > 0 ? [dim(`${glyphs.more} ${plural(before, "earlier message")}`)] : [];
  for (const { runId, text } of shown)
    lines.push("", ...echoLines(text), ...answerLines(events, runId, columns, style));
  const isSummedUp = messages.at(-1)?.runId !== last.id;
  if (isSummedUp && !isInterrupted) lines.push("", dim("It was summed up, and continues from the summary."));
  return lines;
}

function answerLines(events: readonly StoredEvent[], runId: string, columns: number, style: Style): string[] {
  const { glyphs, paint } = style;
  const markdown = new MarkdownStream(style);
  const lines: string[] = [];
  for (const event of events) {
    if (event.runId !== runId) continue;
    if (event.type === "message-end")
      lines.push(...markdown.push(textOf(event.message), columns), ...markdown.end(columns));
    if (event.type === "run-end" && event.status !== "completed")
      lines.push(cutToWidth(`${glyphs.status[event.status]} ${statusWords(event)}`, columns, glyphs.more));
  }
  const more = lines.length - MAX_ANSWER_LINES;
  return more <= 0 ? lines : [paint("dim", `${glyphs.more} ${plural(more, "earlier line")}`), ...lines.slice(more)];
}
