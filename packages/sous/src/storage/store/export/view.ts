/** A tree as people read it: each run as a row of numbered messages, with calls beside their results and remarks between. */

import type { EventOf, StoredEvent } from "../../../core/event.ts";
import {
  type AssistantMessage,
  type ProviderPart,
  type ToolCallPart,
  textOf,
  toolCallsOf,
} from "../../../core/message.ts";
import type { RunRecord } from "../../../core/store.ts";
import { countInWords, timeInWords } from "./words.ts";

export type RunView = {
  record: RunRecord;
  start: EventOf<"run-start">;
  entries: ViewEntry[];
  end: EventOf<"run-end"> | undefined;
};

export type ViewEntry = MessageEntry | Activity | Remark;

type MessageEntry = {
  kind: "message";
  number: number;
  from: "earlier" | "task" | "model" | "steer" | "notice" | "report";
  time: number;
  parts: readonly Part[];
  calls: readonly CallView[];
};

export type Part = Exclude<EventOf<"message-end">["message"]["content"][number], ToolCallPart | ProviderPart>;

/** An act of an external agent by itself: no part of the conversation. */
type Activity = { kind: "activity"; time: number; call: CallView };

/** Something that happened between messages. */
type Remark = { kind: "remark"; isBad: boolean; time: number; text: string };

export type CallView = {
  call: ToolCallPart;
  /** The person or rule that was asked for approval, and the answer. */
  approval: string | undefined;
  result: CallResult | undefined;
  /** The runs this call has started. */
  children: readonly RunRecord[];
};

/** The result of a call; its duration is known for calls that the run has made itself. */
type CallResult = Pick<EventOf<"tool-call-end">, "output" | "isError" | "files" | "stack"> & {
  readonly durationMs?: number;
};

/** One view per run that has a start: the root first, each run followed by everything below it. */
export function viewRuns(records: readonly RunRecord[], events: readonly StoredEvent[]): RunView[] {
  const ofRun = new Map<string, StoredEvent[]>(records.map(({ id }) => [id, []]));
  for (const event of events) ofRun.get(event.runId)?.push(event);
  const children = Map.groupBy(records, ({ id, parentId }) => {
    const [start] = ofRun.get(id) ?? [];
    return startedBy(parentId, start?.type === "run-start" ? start.call?.callId : undefined);
  });
  return inTreeOrder(records).flatMap((record) => {
    const [start, ...rest] = ofRun.get(record.id) ?? [];
    if (start?.type !== "run-start") return [];
    return [viewRun(record, start, rest, (callId) => children.get(startedBy(record.id, callId)) ?? [])];
  });
}

function startedBy(runId: string | null, callId: string | undefined): string {
  return JSON.stringify([runId, callId]);
}

/** A list instead of recursion, and each run once: a store can be crafted. */
function inTreeOrder(records: readonly RunRecord[]): RunRecord[] {
  const below = Map.groupBy(records, ({ parentId }) => parentId);
  const ordered = new Set<RunRecord>();
  const waiting = (below.get(null) ?? []).toReversed();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (ordered.has(next)) continue;
    ordered.add(next);
    for (const child of (below.get(next.id) ?? []).toReversed()) waiting.push(child);
  }
  for (const record of records) ordered.add(record);
  return [...ordered];
}

function viewRun(
  record: RunRecord,
  start: EventOf<"run-start">,
  events: readonly StoredEvent[],
  childrenOf: (callId: string) => readonly RunRecord[],
): RunView {
  const view: RunView = { record, start, entries: [], end: undefined };
  const calls = new Map<string, CallView>();
  let number = 0;
  const say = (from: MessageEntry["from"], time: number, parts: readonly Part[], made: readonly CallView[] = []) => {
    number += 1;
    view.entries.push({ kind: "message", number, from, time, parts, calls: made });
  };
  const hear = (message: AssistantMessage, time: number) => {
    const made = toolCallsOf(message).map((call): CallView => {
      return { call, approval: undefined, result: undefined, children: childrenOf(call.callId) };
    });
    for (const each of made) calls.set(each.call.callId, each);
    // A provider's own work is an activity.
    const parts = message.content.filter((part) => part.type !== "tool-call" && part.type !== "provider");
    say("model", time, parts, made);
  };
  for (const message of start.origin?.kind === "branch" ? start.origin.history : []) {
    if (message.role === "assistant") hear(message, start.time);
    else if (message.role === "user") say("earlier", start.time, message.content);
    else for (const part of message.content) addResult(calls.get(part.callId), part);
  }
  say("task", start.time, start.task.content);
  for (const event of events) {
    switch (event.type) {
      case "message-end":
        hear(event.message, event.time);
        break;
      case "tool-call-end":
        addResult(calls.get(event.callId), event);
        break;
      case "outside-call":
        if (event.phase === "end") {
          addResult(calls.get(event.callId), { output: event.output ?? "", isError: event.isError === true });
          break;
        }
        view.entries.push({ kind: "activity", time: event.time, call: externalCall(event, calls) });
        break;
      case "approval-request":
      case "approval-end":
        addApproval(calls.get(event.callId), event);
        break;
      case "steer":
      case "notice":
      case "report":
        say(event.type, event.time, [{ type: "text", text: event.text }]);
        break;
      case "run-end":
        view.end = event;
        break;
      default: {
        const remark = remarkOf(event);
        if (remark !== undefined) view.entries.push({ kind: "remark", time: event.time, ...remark });
      }
    }
  }
  return view;
}

/** Shows it like a tool call, named by what the agent says of it; approval and result are added when they come. */
function externalCall(event: EventOf<"outside-call">, calls: Map<string, CallView>): CallView {
  const { callId, name, title, input } = event;
  const toolName = title === name ? name : `${name}: ${title}`;
  const call: ToolCallPart = { type: "tool-call", callId, toolName, input };
  const view: CallView = { call, approval: undefined, result: undefined, children: [] };
  calls.set(callId, view);
  return view;
}

function addResult(call: CallView | undefined, result: CallView["result"]): void {
  if (call !== undefined) call.result = result;
}

function addApproval(call: CallView | undefined, event: EventOf<"approval-request" | "approval-end">): void {
  if (call === undefined) return;
  if (event.type === "approval-request") call.approval = "approval was asked for";
  else if (event.allowed) call.approval = "allowed by a person";
  else call.approval = `not allowed (${event.by})${event.reason === undefined ? "" : `: ${event.reason}`}`;
}

/** Undefined for an event that is not told. */
function remarkOf(event: StoredEvent): { isBad: boolean; text: string } | undefined {
  switch (event.type) {
    case "budget-warning":
      return { isBad: true, text: event.message };
    case "retry":
      return {
        isBad: true,
        text: `Attempt ${event.attempt} failed (${event.kind}): ${event.message}. Asked again after ${timeInWords(event.delayMs)}.`,
      };
    case "prune":
      return {
        isBad: false,
        text: `${countInWords(event.dropped, "message")} left out from here on: ${event.tokensBefore} tokens became ${event.tokensAfter}.`,
      };
    case "truncation":
      return {
        isBad: false,
        text: `${event.subject === "report" ? "The report" : "A result"} was cut to ${event.keptBytes} of ${event.originalBytes} bytes.`,
      };
    case "spawn-refused":
      return { isBad: true, text: `${event.label} was not started (${event.errorType}): ${event.message}` };
    case "stalled":
      return { isBad: true, text: `Nothing had happened for ${event.seconds} s; it waited for ${event.waitingFor}.` };
    case "cancel":
      return { isBad: false, text: `It was told to stop (${event.mode}).` };
    case "outside-session":
      return {
        isBad: false,
        text: `${event.continued ? "Continued" : "Opened"} the session ${event.sessionId} of ${event.server}.`,
      };
    case "resume":
      return { isBad: false, text: `Resumed after an interruption; ${timeInWords(event.usedMs)} had been used.` };
    default:
      return undefined;
  }
}

/** The result of a call in words, its state, and all files it gave back. */
export function resultOf({ result }: CallView) {
  if (result === undefined) return { text: "No result was recorded.", state: "open", files: [] } as const;
  const { output: text, isError, files = [] } = result;
  return { text, state: isError ? "failed" : "done", files } as const;
}

/** The text a run ended with, unless that is what its model said last. */
export function lastWords({ end, entries }: RunView): string {
  const last = entries.findLast((entry) => entry.kind === "message" && entry.from === "model");
  const said = last?.kind === "message" ? textOf({ content: last.parts }) : "";
  return end === undefined || end.text === said ? "" : end.text;
}

/** The speakers of messages, for people. */
export const SPEAKERS: Readonly<Record<MessageEntry["from"], string>> = {
  earlier: "Said before",
  task: "Task",
  model: "Model",
  steer: "Said from outside",
  notice: "Notice of the runtime",
  report: "Report of a child",
};
