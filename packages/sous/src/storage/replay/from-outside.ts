/** The events that bring something from outside of a tree: answers of models, results of tools, the words of people. */

import type { StoredEvent } from "../../core/event.ts";
import { isExternalModel } from "../../core/model.ts";
import type { RunRecording } from "./recording.ts";

/** `run` is that of the event, where it is known. */
export function isFromOutside(event: StoredEvent, run?: RunRecording): boolean {
  switch (event.type) {
    case "message-end":
    case "retry":
    case "tool-call-end":
    case "approval-end":
    case "outside-session":
      return true;
    case "outside-call":
      // The acts of a provider follow from its answer.
      return event.kind !== "provider";
    case "approval-request":
      // An external agent asks for itself; of a model's call it follows from the answer.
      return run !== undefined && isExternalModel(run.start.model);
    default:
      return false;
  }
}
