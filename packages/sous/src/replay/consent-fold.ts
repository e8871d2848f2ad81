/** Who was asked about the calls of a recorded run, and what they said: the last of each, by call. */

import type { EventOf } from "../core/event.ts";

export class ConsentFold {
  readonly asked = new Map<string, EventOf<"approval-request">>();
  readonly consents = new Map<string, EventOf<"approval-end">>();
  /** What tools asked by themselves, which a call may have besides. */
  readonly toolAsked = new Map<string, EventOf<"approval-request">>();
  readonly toolConsents = new Map<string, EventOf<"approval-end">>();
  readonly #latest = new Map<string, EventOf<"approval-request">>();

  add(event: EventOf<"approval-request" | "approval-end">): void {
    const { callId } = event;
    if (event.type === "approval-end") {
      const isForTool = this.#latest.get(callId)?.toolReason !== undefined;
      (isForTool ? this.toolConsents : this.consents).set(callId, event);
      return;
    }
    this.#latest.set(callId, event);
    (event.toolReason === undefined ? this.asked : this.toolAsked).set(callId, event);
  }
}
