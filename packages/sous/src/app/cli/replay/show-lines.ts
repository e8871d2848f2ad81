/** The page of one run: what it was, and its messages, numbered. */

import { systemPrompt } from "../../../core/agent.ts";
import type { EventOf, StoredEvent } from "../../../core/event.ts";
import type { Message } from "../../../core/message.ts";
import { rebuildConversation } from "../../../core/read-history.ts";
import type { RunRecord } from "../../../core/store.ts";
import { shortFolder } from "../files/paths.ts";
import { damageSentence } from "../stored/damage.ts";
import { type DatabaseFlags, sameDatabase } from "../stored/database.ts";
import { Takings } from "../stored/takings.ts";
import { colourOf, type Style, shownStatus, statusWords } from "../terminal/style.ts";
import {
  breakLine,
  cost,
  displayWidth,
  duration,
  inert,
  inertLine,
  localTime,
  plural,
  tokens,
} from "../terminal/text.ts";
import { describeExternalCall } from "../view/plain-lines.ts";

/** A run with its own events; what it began with from an earlier run is left out and named. */
type ShownRun = {
  record: RunRecord;
  events: readonly StoredEvent[];
  messages: readonly Message[];
  /** Says what each message was, or took. */
  notes: readonly string[];
  childCount: number;
  from: ShownFrom;
};

/** The folder and the database from which it is looked at. */
type ShownFrom = {
  /** The folder whose runs need not say where they belong. */
  here?: string;
  /** The options that find the same database. */
  flags?: DatabaseFlags;
};

export function readRun(
  record: RunRecord,
  events: readonly StoredEvent[],
  childCount: number,
  from: ShownFrom = {},
): ShownRun {
  // Pruned messages are shown as well: they were sent.
  const messages = rebuildConversation(
    events.filter((event) => event.type !== "prune"),
    [],
  );
  return { record, events, messages, notes: notesOf(messages, events), childCount, from };
}

export function showLines(shown: ShownRun, view: MessageView): string[] {
  const { record, events, messages, notes } = shown;
  const { paint, glyphs } = view.style;
  const status = shownStatus(record);
  const start = events.find((event) => event.type === "run-start");
  const section = (title: string, text: string | undefined): string[] =>
    text === undefined || text.trim() === "" ? [] : ["", paint("bold", title), ...indented(textLines(text, view), 2)];
  const facts = factsOf(shown, glyphs.dot).map(([name, text]) => factLines(name, text, view));
  return [
    `${paint("bold", inertLine(record.path, 200))}  ${paint(colourOf(status), `${glyphs.status[status]} ${statusWords({ ...record, status })}`)}`,
    ...facts.flat(),
    ...section("Instructions", start && systemPrompt(start)),
    ...section("Task", record.task),
    ...section("Summary prompt", record.summaryPrompt),
    "",
    paint("bold", "Messages"),
    ...messageLines(messages.map(withoutTask), notes, view),
    ...externalLines(events, view),
  ];
}

/** The calls that an external agent made by itself, in their order, each with its result. */
function externalLines(events: readonly StoredEvent[], view: MessageView): string[] {
  const calls = events.filter((event) => event.type === "outside-call");
  if (calls.length === 0) return [];
  const ends = new Map(calls.filter(({ phase }) => phase === "end").map((end) => [end.callId, end]));
  const { paint, glyphs } = view.style;
  const lines = calls.flatMap((call) => {
    if (call.phase === "end") return [];
    const end = ends.get(call.callId);
    const state = end === undefined ? " has no result" : end.isError === true ? " failed" : "";
    const head = `${paint("cyan", `${glyphs.arrow} ${describeExternalCall(call)}`)}${paint("red", state)}`;
    return [head, ...indented(textLines(end?.output ?? "", view, 4), 2)];
  });
  return ["", paint("bold", "Done by itself"), ...indented(lines, 2)];
}

/** The task stands above its messages. */
function withoutTask(message: Message, index: number): Message {
  if (index > 0 || message.role !== "user") return message;
  return { role: "user", content: message.content.filter((part) => part.type !== "text") };
}

function factLines(name: string, text: string, { style, columns }: MessageView): string[] {
  const lines = columns === undefined ? [text] : breakLine(text, Math.max(10, columns - NAME_WIDTH - 2));
  return lines.map((line, index) => `  ${style.paint("dim", (index === 0 ? name : "").padEnd(NAME_WIDTH))}${line}`);
}

const NAME_WIDTH = 9;

function factsOf({ record, events, childCount, from }: ShownRun, dot: string): [string, string][] {
  const start = events.find((event) => event.type === "run-start");
  const end = events.find((event) => event.type === "run-end");
  const { usage, startedAt, durationMs, parentId, lost } = record;
  const root = inertLine(record.rootId, 60);
  const position = parentId === null ? "root" : `depth ${record.depth}, child of ${inertLine(parentId, 60)}`;
  const cached = usage.cachedInputTokens === 0 ? "" : `, ${usage.cachedInputTokens} of them cached`;
  const dropped = events.reduce((sum, event) => sum + (event.type === "prune" ? event.dropped : 0), 0);
  const facts: [string, string | undefined][] = [
    ["id", inertLine(record.id, 60)],
    ["place", `${position}${dot}${plural(childCount, "child", "children")}`],
    ["tree", `sous replay --tree --id ${root}${from.flags === undefined ? "" : sameDatabase(from.flags)}`],
    ["agent", [record.agent, record.model].map((name) => inertLine(name, 80)).join(dot)],
    ["session", sessionText(events, dot)],
    ["worker", workerText(record, events)],
    ["folder", record.cwd === undefined || record.cwd === from.here ? undefined : shortFolder(record.cwd)],
    ["started", localTime(startedAt)],
    ["took", durationMs === undefined ? undefined : duration(durationMs)],
    [
      "turns",
      `${record.turns}${start === undefined ? "" : ` of ${start.maxTurns}`}${dot}${plural(record.toolCount, "tool call")}`,
    ],
    [
      "tokens",
      `${tokens(usage.totalTokens, usage.estimated)}: ${usage.inputTokens} in${cached}, ${usage.outputTokens} out`,
    ],
    ["cost", cost(record.costUsd) || undefined],
    ["tools", toolsText(record, start)],
    ["budget", budgetText(start, dot) || undefined],
    ["begins", originText(start)],
    ["dropped", dropped === 0 ? undefined : `${plural(dropped, "message")} to make room, all shown here`],
    ["fault", end?.fault === undefined ? undefined : inertLine(end.fault.message)],
    ["damaged", damageSentence(record, from.flags)],
    ["lost", lost === undefined ? undefined : `not stored to its end, so it cannot be resumed: ${inertLine(lost)}`],
  ];
  return facts.flatMap(([name, text]) => (text === undefined ? [] : [[name, text]]));
}

function sessionText(events: readonly StoredEvent[], dot: string): string | undefined {
  const session = events.findLast((event) => event.type === "outside-session");
  return session && [session.server, session.sessionId].map((text) => inertLine(text, 80)).join(dot);
}

function workerText({ id }: RunRecord, events: readonly StoredEvent[]): string | undefined {
  const takings = new Takings();
  for (const event of events) takings.add(event);
  return takings.wordsOf(id)?.replace(/^worker /, "");
}

/** The tools that a run may use, and whether it may delegate. */
export function toolsText({ allowedTools }: RunRecord, start: EventOf<"run-start"> | undefined): string {
  const names = allowedTools.map((name) => inertLine(name, 80)).join(", ");
  const mayDelegate = start?.rights.spawn === true ? "; may delegate" : "";
  return `${names === "" ? "none" : names}${mayDelegate}`;
}

function budgetText(start: EventOf<"run-start"> | undefined, dot: string): string {
  const { tokens: max, costUsd, seconds, executions } = start?.budget ?? {};
  return [
    max === undefined ? "" : `${max} tokens`,
    costUsd === undefined ? "" : `$${costUsd}`,
    seconds === undefined ? "" : `${seconds}s`,
    executions === undefined ? "" : plural(executions, "child", "children"),
  ]
    .filter((part) => part !== "")
    .join(dot);
}

function originText(start: EventOf<"run-start"> | undefined): string | undefined {
  const origin = start?.origin;
  if (origin === undefined) return undefined;
  const id = inertLine(origin.runId, 60);
  switch (origin.kind) {
    case "follow-up":
      return `where run ${id} ended`;
    case "fork":
      return `with the first ${plural(origin.messages, "message")} of run ${id}`;
    case "branch":
      return `behind turn ${origin.turn} of run ${id}`;
    default:
      return origin satisfies never;
  }
}

/** Messages follow each other as their events do, role by role. */
function notesOf(messages: readonly Message[], events: readonly StoredEvent[]): string[] {
  const users: string[] = [];
  const answers: string[] = [];
  for (const event of events) {
    if (event.type === "run-start") users.push("the task");
    else if (event.type === "steer") users.push("said from outside");
    else if (event.type === "notice") users.push(`notice: ${event.reason}`);
    else if (event.type === "report") users.push(`report of ${inertLine(event.childRunId, 60)}`);
    else if (event.type === "message-end" && event.message.content.length > 0) {
      const finish = event.finish === "stop" || event.finish === "tool-calls" ? "" : `, ${event.finish}`;
      answers.push(`turn ${event.turn}, ${tokens(event.usage.totalTokens, event.usage.estimated)}${finish}`);
    }
  }
  const next = { user: users.values(), assistant: answers.values() };
  return messages.map(({ role }) => (role === "user" || role === "assistant" ? (next[role].next().value ?? "") : ""));
}

export type MessageView = {
  style: Style;
  /** Lines are broken at this width; undefined leaves them whole, for a pipe. */
  columns: number | undefined;
  /** False cuts long texts and says so. */
  isFull: boolean;
};

/** `notes` says more about a message, by its index: where it came from, what it took. */
export function messageLines(messages: readonly Message[], notes: readonly string[], view: MessageView): string[] {
  const width = String(messages.length).length;
  return messages.flatMap((message, index) => {
    const { paint, glyphs } = view.style;
    const number = String(index + 1).padStart(width);
    const note = notes[index] ?? "";
    const head = `${paint("bold", `${number} ${message.role}`)}${note === "" ? "" : paint("dim", glyphs.dot + note)}`;
    return [head, ...message.content.flatMap((part) => indented(partLines(part, view), width + 1))];
  });
}

/** A text of several lines: made harmless, broken to the width, and cut unless all of it is wanted. */
export function textLines(text: string, { columns, isFull, style }: MessageView, indent = 4): string[] {
  const { kept, cut } = isFull ? { kept: text, cut: 0 } : cutText(text);
  const lines = inert(kept)
    .trimEnd()
    .split("\n")
    .flatMap((line) => (columns === undefined ? [line] : breakLine(line, Math.max(10, columns - indent))));
  if (cut === 0) return lines;
  return [...lines, style.paint("dim", `[${style.glyphs.more} ${cut} more characters: --full]`)];
}

const MAX_LINES = 12;
const MAX_LENGTH = 600;

function cutText(text: string): { kept: string; cut: number } {
  let end = 0;
  for (let line = 0; line < MAX_LINES && end >= 0 && end < MAX_LENGTH; line++) {
    const next = text.indexOf("\n", end);
    end = next < 0 ? text.length : next + 1;
    if (next < 0) break;
  }
  end = Math.min(end, MAX_LENGTH);
  // The note itself takes as much space as a short rest.
  return text.length - end < 80 ? { kept: text, cut: 0 } : { kept: text.slice(0, end), cut: text.length - end };
}

function partLines(part: Message["content"][number], view: MessageView): string[] {
  const { paint, glyphs } = view.style;
  switch (part.type) {
    case "text":
      return textLines(part.text, view);
    case "reasoning":
      return textLines(`(thinks) ${part.text}`, view).map((line) => paint("dim", line));
    case "file":
      return [`[${inertLine(part.mediaType, 80)} ${inertLine(part.filename ?? "", 80)}]`.replace(" ]", "]")];
    case "tool-call": {
      const name = `${glyphs.arrow} ${inertLine(part.toolName, 80)}`;
      const lines = textLines(inputText(part.input), view);
      const [first = ""] = lines;
      const isShort = lines.length === 1 && displayWidth(`${name} ${first}`) <= (view.columns ?? PIPE_COLUMNS) - 4;
      return isShort ? [`${paint("cyan", name)} ${first}`.trimEnd()] : [paint("cyan", name), ...indented(lines, 2)];
    }
    case "tool-result": {
      const isBad = part.isError ? paint("red", " failed") : "";
      const files = (part.files ?? []).flatMap((file) => partLines(file, view));
      const head = `${paint("cyan", `${glyphs.back} ${inertLine(part.toolName, 80)}`)}${isBad}`;
      return [head, ...indented([...textLines(part.output, view, 6), ...files], 2)];
    }
    case "provider": {
      const isBad = part.isError === true ? paint("red", " failed") : "";
      const sign = part.kind === "call" ? glyphs.arrow : glyphs.back;
      const head = `${paint("cyan", `${sign} ${inertLine(part.toolName, 80)}`)} (at the provider)${isBad}`;
      return [head, ...indented(textLines(inputText(part.value), view, 6), 2)];
    }
    default:
      return part satisfies never;
  }
}

function inputText(input: unknown): string {
  const text = typeof input === "string" ? input : (JSON.stringify(input) ?? "");
  return text === "{}" ? "" : text;
}

/** Max columns of a text that stands beside the name of its tool. */
const PIPE_COLUMNS = 100;

export function indented(lines: readonly string[], columns: number): string[] {
  return lines.map((line) => (line === "" ? line : " ".repeat(columns) + line));
}
