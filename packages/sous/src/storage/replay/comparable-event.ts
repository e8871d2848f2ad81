/** Events as a comparison sees them: without what may differ from run to run. */

import type { EventOf, StoredEvent } from "../core/event.ts";
import type { StoredRights } from "../core/rights.ts";
import { comparableOutput } from "./recorded-prompts.ts";

export type Leniency = {
  /** What is estimated from the size of a prompt may differ. */
  readonly ignoresEstimates?: boolean | undefined;
  /** The run continued after a restart, and counts its attempts from one again. */
  readonly isResumed?: boolean | undefined;
};

/** `recorded` is the event it is compared with: a price that was not known then may be known now. */
export function comparableEvent(
  event: StoredEvent,
  { ignoresEstimates = false, isResumed = false }: Leniency,
  recorded: StoredEvent,
): object {
  const { seq: _seq, time: _time, ...body } = event;
  switch (body.type) {
    case "run-start":
      // A budget that was shared with others is not there to draw on, and a rerun may be in any folder.
      return {
        ...without(body, "cwd", "traceparent", "price", "contextWindow"),
        origin: body.origin && without(body.origin, "traceparent"),
        tools: without(body.tools, "hash", "bytes"),
        rights: comparableRights(body.rights),
        terms: body.terms && without(body.terms, "sharedBudget"),
      };
    case "turn-start":
      return ignoresEstimates ? without(body, "promptTokens", "reserved") : body;
    case "prune":
      return ignoresEstimates ? without(body, "tokensBefore", "tokensAfter") : body;
    case "tool-call-end":
      return {
        ...without(body, "durationMs", "stack"),
        output: comparableOutput(body.toolName, body.output, ignoresEstimates),
        metadata: body.metadata && comparableReport(body.metadata, ignoresEstimates),
        files: body.files?.length === 0 ? undefined : body.files,
      };
    case "retry":
      return withKnownCost(
        // A run that continues after a restart counts from one again.
        without(body, "delayMs", ...(ignoresEstimates ? ["spent", "costUsd"] : []), ...(isResumed ? ["attempt"] : [])),
        recorded,
      );
    case "message-end":
      return withKnownCost(body, recorded);
    case "run-end":
      return withKnownCost(
        comparableEnd(body, ignoresEstimates && recorded.type === "run-end" && recorded.usage.estimated),
        recorded,
      );
    case "approval-request":
      // A rerun has the name of the tool, and not its server.
      return without(body, "origin");
    case "tool-call-start":
    case "outside-session":
    case "outside-call":
    case "approval-end":
    case "budget-warning":
    case "truncation":
    case "spawn-refused":
    case "stalled":
    case "cancel":
    case "steer":
    case "notice":
    case "report":
    case "resume":
      return body;
    default:
      return body satisfies never;
  }
}

function comparableReport(metadata: Readonly<Record<string, unknown>>, ignoresEstimates: boolean): object {
  return without(metadata, "duration_ms", ...(ignoresEstimates ? TOKENS : []));
}

function comparableEnd(end: Omit<EventOf<"run-end">, "seq" | "time">, isGuessed: boolean): object {
  const { fault, status, ...body } = end;
  const guessed = isGuessed ? ["usage", "costUsd"] : [];
  const rest = without(body, "durationMs", ...guessed);
  return { status, ...rest, fault: fault && without(fault, "stack") };
}

/** What a report says of tokens, part of which may have been estimated. */
const TOKENS = ["tokens_consumed", "tree_tokens", "prompt_tokens", "completion_tokens"];

/** Sets, whatever order they are written in. */
function comparableRights({ use, delegate, deny, spawn }: StoredRights): StoredRights {
  return { use: use.toSorted(), delegate: delegate.toSorted(), deny: deny.toSorted(), spawn };
}

function withKnownCost(body: object, recorded: StoredEvent): object {
  return "costUsd" in recorded && recorded.costUsd === null ? without(body, "costUsd") : body;
}

function without(body: object, ...keys: readonly string[]): object {
  return Object.fromEntries(Object.entries(body).filter(([key]) => !keys.includes(key)));
}
