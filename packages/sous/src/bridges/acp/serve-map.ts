/** The events of a tree as updates of a session: a fold, the same for a live run and for one that is read from a store. */

import type { PlanEntry, SessionUpdate, ToolCallStatus } from "@agentclientprotocol/sdk";
import type { EventOf, RunIdentity, SousEvent } from "../../core/event.ts";
import { type Message, textOf } from "../../core/message.ts";
import { isSuccess } from "../../core/outcome.ts";
import { askedLabels, isSubagentToolName } from "../../core/spawn.ts";
import { addCost, addUsage, noUsage, type Usage } from "../../core/usage.ts";
import { oneLine } from "./one-line.ts";
import {
  callTitle,
  diffOf,
  kindOf,
  knownKind,
  locationsOf,
  resultContent,
  textContent,
  titleOf,
} from "./serve-calls.ts";

/** `costUsd` is null when a price is unknown. */
export type Bill = { readonly usage: Usage; costUsd: number | null };

function noBill(): Bill {
  return { usage: noUsage(), costUsd: 0 };
}

export class UpdateMap {
  readonly #cwd: string;
  readonly #plan = new Plan();
  /** True once such pieces of the root's current answer have come. */
  #hasText = false;
  #hasThoughts = false;
  /** Tokens that the model of the root can take, where that is known. */
  #contextWindow: number | undefined;
  /** The cost of everything that the session has done; null when a price is unknown. */
  #costUsd: number | null = 0;
  #bill: Bill = noBill();

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  /** The updates that one event makes. With `isReplay` the messages of the person are among them. */
  updates(event: SousEvent, isReplay = false): SessionUpdate[] {
    if (event.type === "message-end") this.#count(event.usage, event.costUsd);
    else if (event.type === "retry") this.#count(event.spent, event.costUsd);
    const plan = this.#plan.apply(event);
    const planned: SessionUpdate[] = plan === undefined ? [] : [{ sessionUpdate: "plan", entries: plan }];
    return [
      ...(event.depth === 0 ? this.#ofRoot(event, isReplay) : ofChild(event)),
      ...this.#ofCall(event),
      ...planned,
    ];
  }

  /** The tokens and cost of the whole tree since this was called last. */
  takeBill(): Bill {
    const bill = this.#bill;
    this.#bill = noBill();
    return bill;
  }

  #count(usage: Usage, costUsd: number | null): void {
    addUsage(this.#bill.usage, usage);
    this.#bill.costUsd = addCost(this.#bill.costUsd, costUsd);
    this.#costUsd = addCost(this.#costUsd, costUsd);
  }

  #ofRoot(event: SousEvent, isReplay: boolean): SessionUpdate[] {
    switch (event.type) {
      case "run-start":
        this.#contextWindow = event.contextWindow;
        return isReplay ? saidBefore(event) : [];
      case "turn-start":
        this.#hasText = false;
        this.#hasThoughts = false;
        return [];
      case "text-delta":
        this.#hasText = true;
        return [chunk("agent_message_chunk", event.text)];
      case "reasoning-delta":
        this.#hasThoughts = true;
        return [chunk("agent_thought_chunk", event.text)];
      case "message-end":
        return [...this.#wholeAnswer(event), ...this.#fullness(event)];
      default:
        return [];
    }
  }

  /** The text that no piece has shown: a stored answer, or one of a model that does not stream. */
  #wholeAnswer({ message }: EventOf<"message-end">): SessionUpdate[] {
    const thoughts = message.content.flatMap((part) => (part.type === "reasoning" ? [part.text] : [])).join("");
    const text = textOf(message);
    return [
      ...(this.#hasThoughts || thoughts === "" ? [] : [chunk("agent_thought_chunk", thoughts)]),
      ...(this.#hasText || text === "" ? [] : [chunk("agent_message_chunk", text)]),
    ];
  }

  /** `used` is how full the context is; the cost is that of the whole session. Without a known window neither can be said. */
  #fullness({ usage }: EventOf<"message-end">): SessionUpdate[] {
    if (this.#contextWindow === undefined) return [];
    const costUsd = this.#costUsd;
    const cost = costUsd === null ? {} : { cost: { amount: costUsd, currency: "USD" } };
    const used = usage.inputTokens + usage.outputTokens;
    return [{ sessionUpdate: "usage_update", used, size: this.#contextWindow, ...cost }];
  }

  #ofCall(event: SousEvent): SessionUpdate[] {
    switch (event.type) {
      case "tool-call-start":
        return [this.#callStart(event)];
      case "approval-request":
        return [{ sessionUpdate: "tool_call_update", toolCallId: callIdOf(event), status: "pending" }];
      case "approval-end":
        return event.allowed
          ? [{ sessionUpdate: "tool_call_update", toolCallId: callIdOf(event), status: "in_progress" }]
          : [];
      case "tool-progress":
        return isShownOtherwise(event.toolName) ? [] : [progress(event)];
      case "tool-call-end":
        return [ending(event, event.isError || !isShownOtherwise(event.toolName) ? event.output : "")];
      case "outside-call":
        return [externalCall(event)];
      default:
        return [];
    }
  }

  #callStart(event: EventOf<"tool-call-start">): SessionUpdate {
    const { toolName, input } = event;
    const diff = diffOf(toolName, input, this.#cwd);
    return {
      sessionUpdate: "tool_call",
      toolCallId: callIdOf(event),
      title: callTitle(event, toolName, input),
      kind: kindOf(toolName),
      status: "in_progress",
      locations: locationsOf(input, this.#cwd),
      ...(diff === undefined ? {} : { content: [diff] }),
    };
  }
}

/** Unique in the session: ids of calls are unique within a run. */
export function callIdOf({ runId, callId }: Pick<RunIdentity, "runId"> & { readonly callId: string }): string {
  return `${runId}:${callId}`;
}

function chunk(sessionUpdate: "agent_message_chunk" | "agent_thought_chunk" | "user_message_chunk", text: string) {
  return { sessionUpdate, content: { type: "text", text } } satisfies SessionUpdate;
}

/** The person's message, behind what a copied conversation begins with. */
function saidBefore({ origin, task, summarizes }: EventOf<"run-start">): SessionUpdate[] {
  const history = origin?.kind === "branch" ? origin.history : [];
  const messages: readonly Message[] = summarizes === true ? history : [...history, task];
  return messages.flatMap((message) => {
    const text = message.role === "tool" ? "" : textOf(message);
    if (text === "") return [];
    return [chunk(message.role === "user" ? "user_message_chunk" : "agent_message_chunk", text)];
  });
}

/** A child is shown as a call of its own, whatever call has made it. */
function ofChild(event: SousEvent): SessionUpdate[] {
  const { runId: toolCallId } = event;
  switch (event.type) {
    case "run-start":
      return [
        {
          sessionUpdate: "tool_call",
          toolCallId,
          title: titleOf(event, textOf(event.task)),
          kind: "think",
          status: "in_progress",
        },
      ];
    case "message-end": {
      const content = textContent(textOf(event.message));
      return content.length === 0 ? [] : [{ sessionUpdate: "tool_call_update", toolCallId, content }];
    }
    case "run-end": {
      const isWhole = isSuccess(event);
      const why = event.fault === undefined ? "" : `${event.status}: ${event.fault.message}`;
      const content = textContent([event.text, isWhole ? "" : why].filter((text) => text !== "").join("\n\n"));
      const status: ToolCallStatus = isWhole ? "completed" : "failed";
      return [{ sessionUpdate: "tool_call_update", toolCallId, status, content }];
    }
    default:
      return [];
  }
}

/** The change that a call made stays in sight, and a child is shown by itself. */
function isShownOtherwise(toolName: string): boolean {
  return kindOf(toolName) === "edit" || isSubagentToolName(toolName);
}

/** Replaced by the next one, and at last by the result. */
function progress(event: EventOf<"tool-progress">): SessionUpdate {
  const { text, done, total } = event;
  const count = done === undefined ? "" : `${done}${total === undefined ? "" : `/${total}`}`;
  return {
    sessionUpdate: "tool_call_update",
    toolCallId: callIdOf(event),
    status: "in_progress",
    content: resultContent(`${count} ${text}`.trim()),
  };
}

function ending(event: RunIdentity & { callId: string; isError?: boolean | undefined }, output: string): SessionUpdate {
  const content = resultContent(output);
  return {
    sessionUpdate: "tool_call_update",
    toolCallId: callIdOf(event),
    status: event.isError === true ? "failed" : "completed",
    ...(content.length === 0 ? {} : { content }),
  };
}

function externalCall(event: EventOf<"outside-call">): SessionUpdate {
  if (event.phase === "end") return ending(event, event.output ?? "");
  return {
    sessionUpdate: "tool_call",
    toolCallId: callIdOf(event),
    title: titleOf(event, event.title),
    kind: knownKind(event.kind),
    status: "in_progress",
  };
}

const MAX_ENTRY = 200;

type Task = { content: string; status: PlanEntry["status"] };

/** The plan of a root: the tasks it has handed to several children at once. */
class Plan {
  #callId: string | undefined;
  #tasks: Task[] = [];
  /** The task that each child works on, by its index. */
  readonly #indexes = new Map<string, number>();

  /** The whole plan, when this event has changed it. */
  apply(event: SousEvent): PlanEntry[] | undefined {
    switch (event.type) {
      case "tool-call-start": {
        const labels =
          event.depth === 0 && event.toolName === "parallel_subagent" ? askedLabels(event.toolName, event.input) : [];
        if (labels.length < 2) return undefined;
        this.#callId = event.callId;
        this.#tasks = labels.map((label) => ({ content: oneLine(label, MAX_ENTRY), status: "pending" }));
        this.#indexes.clear();
        return this.#entries();
      }
      case "run-start": {
        const { call, depth, runId } = event;
        if (depth !== 1 || call === undefined || call.callId !== this.#callId) return undefined;
        this.#indexes.set(runId, call.index);
        return this.#mark(call.index, "in_progress");
      }
      case "run-end": {
        const index = this.#indexes.get(event.runId);
        return index === undefined ? undefined : this.#mark(index, "completed");
      }
      default:
        return undefined;
    }
  }

  #mark(index: number, status: Task["status"]): PlanEntry[] | undefined {
    const task = this.#tasks[index];
    if (task === undefined) return undefined;
    task.status = status;
    return this.#entries();
  }

  #entries(): PlanEntry[] {
    return this.#tasks.map((task) => ({ ...task, priority: "medium" }));
  }
}
