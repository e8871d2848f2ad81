/** Whoever was asked for consent then gives the same answers now. */

import type { Approve } from "../core/approval.ts";
import type { Playback } from "./playback.ts";

/** What the loop says before the words of a question that failed (`loop/ask-consent.ts`). */
const FAILED = "the question failed: ";

/** Undefined when nobody was there then: nobody is there now. */
export function recordedApprove(playback: Playback): Approve | undefined {
  const { recording, conductor, ids } = playback;
  const wasThere = [...recording.runs.values()].some(({ asked, consents }) =>
    [...asked].some((callId) => {
      const consent = consents.get(callId);
      return consent?.by !== "nobody" || consent.reason?.startsWith(FAILED) === true;
    }),
  );
  if (!wasThere) return undefined;
  return async (request, signal) => {
    const run = playback.runOf(request.runId);
    const callId = ids.toRecorded(request.callId);
    if (run?.asked.has(callId) !== true) return { allow: false, reason: "no one was asked then" };
    const consent = run.consents.get(callId);
    await conductor.turn(consent?.by === "cancelled" ? undefined : consent, signal);
    if (consent?.by === "nobody") throw new Error(consent.reason?.slice(FAILED.length));
    return consent?.allowed === true ? { allow: true } : { allow: false, reason: consent?.reason };
  };
}
