/** The name of an event for a person who compares two runs. */

import type { StoredEvent } from "../core/event.ts";

/** `turn` is the turn the run was in. */
export function describeStep(event: StoredEvent, turn: number): string {
  const name = nameOf(event);
  return turn === 0 || event.type === "turn-start" || event.type === "run-start" ? name : `turn ${turn}, ${name}`;
}

function nameOf(event: StoredEvent): string {
  switch (event.type) {
    case "run-start":
      return "the start";
    case "turn-start":
      return `turn ${event.turn}`;
    case "message-end":
      return "the answer";
    case "tool-call-start":
      return `the call of ${event.toolName}`;
    case "tool-call-end":
      return `the result of ${event.toolName}`;
    case "outside-session":
      return `the session with ${event.server}`;
    case "outside-call":
      return event.phase === "start" ? `the start of its own ${event.name}` : `the end of its own ${event.name}`;
    case "approval-request":
      return `the question about ${event.toolName}`;
    case "approval-end":
      return "the answer about consent";
    case "budget-warning":
      return "the warning about its budget";
    case "retry":
      return "the failed attempt";
    case "prune":
      return "the pruning";
    case "truncation":
      return event.subject === "report" ? "the cut of its report" : "the cut of a result";
    case "spawn-refused":
      return `the refusal of ${event.label}`;
    case "stalled":
      return "the silence";
    case "steer":
      return "what was said to it";
    case "notice":
      return `the notice (${event.reason})`;
    case "report":
      return "the report of a child";
    case "cancel":
      return `the cancel (${event.mode})`;
    case "resume":
      return "the restart";
    case "run-end":
      return "the end";
    default:
      return event satisfies never;
  }
}
