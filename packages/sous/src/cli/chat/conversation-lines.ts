/** Stored conversations as a person sees them: a list to choose from, and where one stands that continues. */

import type { StoredEvent } from "../../core/event.ts";
import { textOf } from "../../core/message.ts";
import { localTime } from "../replay/list-lines.ts";
import { cost, plural } from "../terminal/figures.ts";
import { inertLine } from "../terminal/inert.ts";
import type { Style } from "../terminal/style.ts";
import { cutToWidth, joinToWidth } from "../terminal/width.ts";
import { statusWords } from "../view/run-tree.ts";
import { MarkdownStream } from "./markdown.ts";
import { echoLines } from "./prompt-line.ts";
import type { ListedChat, StoredConversation } from "./stored-conversation.ts";

/** Two lines each: its number and first message, then what it came to. `current` is the root of the one that is open. */
export function conversationLines(
  list: readonly ListedChat[],
  current: string | undefined,
  columns: number,
  { glyphs, paint }: Style,
): string[] {
  return list.flatMap(({ rootId, title, messages, last, costUsd }, index) => {
    const figures = [
      ...(rootId === current ? ["this conversation"] : last.status === "completed" ? [] : [statusWords(last)]),
      plural(messages, "message"),
      cost(costUsd),
      localTime(last.startedAt),
      inertLine(rootId, 60),
    ].filter((figure) => figure !== "");
    const head = `${String(index + 1).padStart(2)}  ${inertLine(title)}`;
    const below = joinToWidth(figures, glyphs.dot, columns - 4);
    return [cutToWidth(head, columns, glyphs.more), ...below.map((line) => paint("dim", `    ${line}`))];
  });
}

/** Of an answer the end is shown: it is what the next message is about. */
const MAX_ANSWER_LINES = 20;

/** The last message that was answered, and the one that was not, each with what was said to it. */
export function earlierLines({ events, last, messages }: StoredConversation, columns: number, style: Style): string[] {
  const { glyphs, paint } = style;
  const dim = (text: string): string => paint("dim", cutToWidth(text, columns, glyphs.more));
  const isInterrupted = last.status === "interrupted";
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
