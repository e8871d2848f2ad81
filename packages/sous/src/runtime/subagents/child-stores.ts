/** Stores for one child: they receive copies of what the journal holds, if the caller gives factories for them. */

import type { Hooks } from "../../core/approval.ts";
import type { SousEvent, StoredEvent } from "../../core/event.ts";
import type { Message } from "../../core/message.ts";

/** The counts of a child, written to its state store. */
export type ChildState = { status: string; turns: number; toolCount: number; totalTokens: number };

/** Each factory is called once per run, with its id. A store that throws does not affect the run. */
export type ChildStores = {
  messages?(runId: string): { add(message: Message): void };
  state?(runId: string): { set(state: ChildState): void };
  events?(runId: string): { add(event: StoredEvent): void };
};

/** Hooks that write to the stores and then call the definition's own hooks. */
export function storingHooks(stores: ChildStores, own: Hooks | undefined): Hooks {
  const open = new Map<string, (event: StoredEvent) => void>();
  return {
    ...own,
    onEvent(event) {
      if (event.seq === undefined) return own?.onEvent?.(event);
      const feed = open.get(event.runId) ?? openStores(stores, event.runId);
      open.set(event.runId, feed);
      feed(structuredClone(event));
      if (event.type === "run-end") open.delete(event.runId);
      return own?.onEvent?.(event);
    },
  };
}

/** Opens the stores of one run; the result takes each of its events. */
function openStores(stores: ChildStores, runId: string): (event: StoredEvent) => void {
  const messages = ignoringFaults(() => stores.messages?.(runId));
  const state = ignoringFaults(() => stores.state?.(runId));
  const events = ignoringFaults(() => stores.events?.(runId));
  const progress: ChildState = { status: "running", turns: 0, toolCount: 0, totalTokens: 0 };
  return (event) => {
    ignoringFaults(() => events?.add(event));
    for (const message of messagesOf(event)) ignoringFaults(() => messages?.add(message));
    if (advance(progress, event)) ignoringFaults(() => state?.set({ ...progress }));
  };
}

/** A store that throws or rejects does not affect the others. */
function ignoringFaults<T>(work: () => T): T | undefined {
  try {
    const value = work();
    if (value instanceof Promise) value.catch(() => {});
    return value;
  } catch {
    return undefined;
  }
}

function messagesOf(event: SousEvent): Message[] {
  switch (event.type) {
    case "run-start":
      return [event.task];
    case "message-end":
      return [event.message];
    case "tool-call-end": {
      const { callId, toolName, output, isError } = event;
      return [{ role: "tool", content: [{ type: "tool-result", callId, toolName, output, isError }] }];
    }
    case "steer":
    case "notice":
    case "report":
      return [{ role: "user", content: [{ type: "text", text: event.text }] }];
    default:
      return [];
  }
}

/** True when the event changed the state. */
function advance(progress: ChildState, event: StoredEvent): boolean {
  switch (event.type) {
    case "run-start":
      return true;
    case "message-end":
      progress.turns = event.turn;
      progress.totalTokens += event.usage.totalTokens;
      return true;
    case "tool-call-end":
      progress.toolCount += 1;
      return true;
    case "run-end":
      progress.status = event.status;
      progress.totalTokens = event.usage.totalTokens;
      return true;
    default:
      return false;
  }
}
