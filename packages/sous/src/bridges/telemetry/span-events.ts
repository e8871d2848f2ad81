/** The facts within a run, a turn or a call, as events of its span. */

import type { EventOf, SousEvent } from "../../core/event.ts";
import { shownLimit } from "../../core/units.ts";
import { type ContentWriter, cutText } from "./span-content.ts";
import type { OpenSpan } from "./traced-run.ts";

/** Events that are neither a span nor a piece of text. */
export type NotedEvent = Exclude<SousEvent, { type: "run-start" | "text-delta" | "reasoning-delta" | "tool-progress" }>;

/** False for pieces of text, which are many and on no span. */
export function isTraced(event: SousEvent): event is NotedEvent | EventOf<"run-start"> {
  return event.type !== "text-delta" && event.type !== "reasoning-delta" && event.type !== "tool-progress";
}

const MAX_MESSAGE_BYTES = 1024;

/** Texts of people and models are written with `content` only. */
export function noteOnSpan(span: OpenSpan | undefined, event: SousEvent, content: ContentWriter | undefined): void {
  if (span === undefined) return;
  const { time } = event;
  switch (event.type) {
    case "approval-request":
      span.event("sous.approval_request", time, { tool: event.toolName });
      break;
    case "approval-end": {
      const { allowed, by, reason } = event;
      const words = reason === undefined || content === undefined ? {} : { reason: content.text(reason) };
      span.event("sous.approval_end", time, { allowed, by, ...words });
      break;
    }
    case "budget-wait":
      span.event("sous.budget_wait", time, shownLimit(event.limit));
      break;
    case "rate-wait":
      span.event("sous.rate_wait", time, { seconds: event.delayMs / 1000 });
      break;
    case "budget-near":
      span.event("sous.budget_near", time, shownLimit(event.limit));
      break;
    case "budget-warning":
      span.event("sous.budget_warning", time, { message: short(event.message) });
      break;
    case "spawn-refused":
      span.event("sous.spawn_refused", time, { error_type: event.errorType, message: short(event.message) });
      break;
    case "stalled":
      span.event("sous.stalled", time, { seconds: event.seconds, waiting_for: short(event.waitingFor) });
      break;
    case "prune": {
      const { dropped, tokensBefore, tokensAfter } = event;
      span.event("sous.prune", time, { dropped, tokens_before: tokensBefore, tokens_after: tokensAfter });
      break;
    }
    case "truncation": {
      const { subject, originalBytes, keptBytes } = event;
      span.event("sous.truncation", time, { subject, original_bytes: originalBytes, kept_bytes: keptBytes });
      break;
    }
    case "cancel":
      span.event("sous.cancel", time, { mode: event.mode });
      break;
    case "steer":
      span.event("sous.steer", time, textOf(event, content));
      break;
    case "notice":
      span.event("sous.notice", time, { reason: event.reason, ...textOf(event, content) });
      break;
    case "report":
      span.event("sous.report", time, { child_run_id: event.childRunId, ...textOf(event, content) });
      break;
    case "outside-session":
      span.event("sous.outside_session", time, { server: event.server, continued: event.continued });
      break;
    case "resume":
      span.event("sous.resume", time, { used_ms: event.usedMs });
      break;
    default:
  }
}

function textOf({ text }: { readonly text: string }, content: ContentWriter | undefined): { text?: string } {
  return content === undefined ? {} : { text: content.text(text) };
}

function short(message: string): string {
  return cutText(message, MAX_MESSAGE_BYTES);
}
