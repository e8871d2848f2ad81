/**
 * Events as the memory store holds them. The kinds that every turn has refer to the start of their run instead of repeating
 * its identity, and count their time from the first event of the tree: a live child takes 1.0 KB less of 20 KB.
 */

import type { EventOf, RunIdentity, StoredEvent } from "../../core/event.ts";

type Frequent = "turn-start" | "message-end" | "tool-call-start" | "tool-call-end";

type Brief<Type extends Frequent> = Type extends unknown
  ? Omit<EventOf<Type>, keyof RunIdentity | "time"> & {
      readonly start: EventOf<"run-start">;
      /** Milliseconds. A whole number as small as this is not an object of its own. */
      readonly since: number;
    }
  : never;

export type KeptEvent = StoredEvent | Brief<Frequent>;

/** The event itself when it is of another kind or has unusual fields. */
export function toBrief(event: StoredEvent, start: EventOf<"run-start">, epoch: number): KeptEvent {
  // The bit operation makes it such a number; it changes fractions, and what is longer than 24 days.
  const since = (event.time - epoch) | 0;
  if (epoch + since !== event.time || !isSameRun(event, start)) return event;
  const { seq } = event;
  switch (event.type) {
    case "turn-start": {
      if ("reservedUsd" in event) return event;
      const { type, turn, promptTokens, reserved } = event;
      return { seq, start, since, type, turn, promptTokens, reserved } satisfies Required<
        Omit<Brief<"turn-start">, "reservedUsd">
      >;
    }
    case "message-end": {
      if ("providerCalls" in event) return event;
      const { type, turn, message, finish, usage, costUsd } = event;
      return { seq, start, since, type, turn, message, finish, usage, costUsd } satisfies Required<
        Omit<Brief<"message-end">, "providerCalls">
      >;
    }
    case "tool-call-start": {
      const { type, callId, toolName, input } = event;
      return { seq, start, since, type, callId, toolName, input } satisfies Required<Brief<"tool-call-start">>;
    }
    case "tool-call-end": {
      if ("files" in event || "stack" in event || "metadata" in event) return event;
      const { type, callId, toolName, output, isError, durationMs } = event;
      return { seq, start, since, type, callId, toolName, output, isError, durationMs } satisfies Required<
        Omit<Brief<"tool-call-end">, "files" | "stack" | "metadata">
      >;
    }
    default:
      return event;
  }
}

/** True when two events of a run agree on the rest of its identity, so that one can be restored from the other. */
export function isSameRun(one: RunIdentity, other: RunIdentity): boolean {
  return (
    one.path === other.path &&
    one.agentId === other.agentId &&
    one.parentId === other.parentId &&
    one.depth === other.depth
  );
}

export function toStoredEvent(kept: KeptEvent, epoch: number): StoredEvent {
  if (!("since" in kept)) return kept;
  const { seq, since, start, ...body } = kept;
  const { runId, agentId, parentId, path, depth } = start;
  return { seq, time: epoch + since, runId, agentId, parentId, path, depth, ...body };
}

export function runIdOf(kept: KeptEvent): string {
  return "since" in kept ? kept.start.runId : kept.runId;
}
