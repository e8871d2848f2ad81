/** `sous replay --list`: the runs of a database, newest first, three lines each. */

import type { OpenQuestion } from "../../../core/approval.ts";
import { readWholeTree } from "../../../core/read-tree.ts";
import type { ReplayRequest } from "../commands/replay.ts";
import { shortFolder, thisFolder } from "../files/paths.ts";
import { damageSentence } from "../stored/damage.ts";
import { type DatabaseFlags, isThere, noDatabase, openRuns } from "../stored/database.ts";
import {
  alone,
  type ConversationQuery,
  type ListedConversation,
  listConversations,
} from "../stored/list-conversations.ts";
import { conversationJson, runJson } from "../stored/run-json.ts";
import { type Output, printJson, tell } from "../terminal/output.ts";
import { colourOf, shownStatus, statusWords } from "../terminal/style.ts";
import {
  breakLine,
  cost,
  cutStart,
  cutToWidth,
  displayWidth,
  duration,
  inertLine,
  joinToWidth,
  localTime,
  plural,
  tokens,
} from "../terminal/text.ts";

export async function replayList(replay: ReplayRequest): Promise<number> {
  const { values, file, flags, output } = replay;
  const { limit, offset, since } = values;
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
    output.print(listLines(entries, output, here, flags));
    if (isMore) output.print([output.style.paint("dim", `There are more: --offset ${offset + limit}`)]);
  }
  if (entries.length === 0) tell(nothingFound(replay));
  return 0;
}

async function list({ values, file }: ReplayRequest, query: ConversationQuery): Promise<ListedConversation[]> {
  await using store = await openRuns(file, "read");
  const found = values.roots ? await listConversations(store, query) : (await store.list(query)).map(alone);
  // Runs of one tree are listed side by side: it is read once.
  const waiting = new Set(found.filter(({ last }) => last.status === "waiting").map(({ last }) => last.rootId));
  if (waiting.size === 0) return found;
  const { openQuestions } = await import("../../../runtime/rights/open-questions.ts");
  const open = new Map<string, readonly OpenQuestion[]>();
  const damages = new Map<string, string>();
  for (const rootId of waiting) {
    const onDamage = ({ message }: Error): void => void damages.set(rootId, damages.get(rootId) ?? message);
    open.set(rootId, openQuestions(await readWholeTree(store, rootId, { onDamage })));
  }
  return found.map((entry) => {
    const { status, rootId, path, parentId } = entry.last;
    if (status !== "waiting") return entry;
    const damage = entry.first.damage ?? damages.get(rootId);
    if (damage !== undefined) return { ...entry, first: { ...entry.first, damage } };
    const asked = (open.get(rootId) ?? []).filter((each) => parentId === null || each.path === path);
    return { ...entry, questions: asked.length };
  });
}

function nothingFound({ values, file }: ReplayRequest): string {
  if (!isThere(file)) return noDatabase(file);
  const isFiltered = values.status !== undefined || values.since !== undefined || values.offset > 0 || values.here;
  return isFiltered
    ? "No run matches; sous replay --list shows the newest."
    : "There are no runs yet. sous demo makes one.";
}

/** Runs of the folder `here` do not name their folder. `flags` find the same database. */
export function listLines(
  entries: readonly ListedConversation[],
  sheet: Sheet,
  here: string | undefined,
  flags?: DatabaseFlags,
): string[] {
  return entries.flatMap((entry) => entryLines(entry, sheet, { here, flags }));
}

type Sheet = Pick<Output, "columns" | "style">;
type ListedFrom = { readonly here: string | undefined; readonly flags: DatabaseFlags | undefined };

function entryLines(entry: ListedConversation, { columns, style }: Sheet, { here, flags }: ListedFrom): string[] {
  const { first, last, messages, durationMs, questions = 0, ...sums } = entry;
  const { glyphs, paint } = style;
  const { stopReason, startedAt } = last;
  const record = { ...first, ...sums, stopReason, status: last.status };
  const status = shownStatus(record);
  const damage = damageSentence(record, flags);
  const { cwd } = record;
  const isRoot = record.parentId === null;
  const colour = colourOf(status);
  const id = inertLine(record.id, 60);
  const path = cutStart(inertLine(record.path, 200), columns - displayWidth(id) - 4, glyphs.more);
  const ending = statusWords({ status, stopReason });
  // Figures that cannot be read are not claimed.
  const figures = [
    plural(record.turns, "turn"),
    tokens(record.usage.totalTokens, record.usage.estimated),
    cost(record.costUsd),
    durationMs === undefined ? "" : duration(durationMs),
  ];
  const metrics = [
    ending,
    messages === 1 ? "" : plural(messages, "message"),
    record.lost === undefined ? "" : "not stored to its end",
    questions === 0 ? "" : `${plural(questions, "open question")}`,
    ...(damage === undefined && status !== "queued" ? figures : []),
    damage !== undefined && startedAt === 0 ? "" : localTime(startedAt),
  ].filter((metric) => metric !== "");
  const [firstMetrics = "", ...moreMetrics] = joinToWidth(metrics, glyphs.dot, columns - 2);
  const position = isRoot ? ["root"] : [`depth ${record.depth}`, `parent ${inertLine(record.parentId ?? "", 60)}`];
  if (cwd !== undefined && cwd !== here) position.push(shortFolder(cwd));
  const task = inertLine(record.task);
  const about = columns >= WIDE ? [[...position, task].join(glyphs.dot)] : [...position, task];
  return [
    `${paint(colour, glyphs.status[status])} ${paint(isRoot ? "bold" : "dim", id)}  ${path}`.trimEnd(),
    // The first metric is the ending.
    `  ${paint(colour, ending)}${firstMetrics.slice(ending.length)}`,
    ...moreMetrics.map((line) => `  ${line}`),
    ...(damage === undefined ? [] : breakLine(damage, columns - 2).map((line) => `  ${line}`)),
    ...about.map((line) => paint("dim", `  ${cutToWidth(line, columns - 2, glyphs.more)}`)),
  ];
}

/** The width below which the task has a line of its own. */
const WIDE = 76;
