/** The answers of rules and of the person, as they were recorded. */

import type { ApprovalPolicy, Approve } from "../core/approval.ts";
import type { Playback } from "./playback.ts";

/** What the loop says before the words of a question that failed (`loop/ask-consent.ts`). */
const FAILED = "the question failed: ";

/** Asks where it was asked then: by the rules, if there were any, else by the tiers of the tools. */
export function recordedConsent(playback: Playback): Approve | ApprovalPolicy | undefined {
  const ask = recordedApprove(playback);
  if (playback.root.start.terms?.hasRules !== true) return ask;
  return {
    ask,
    decide({ runId, callId }) {
      const run = playback.runOf(runId);
      const recorded = playback.ids.toRecorded(callId);
      if (run?.calls.has(recorded) !== true) return undefined;
      return { effect: run.asked.has(recorded) ? "ask" : "allow" };
    },
  };
}

/** Undefined when no one could be asked then. */
function recordedApprove(playback: Playback): Approve | undefined {
  const { recording, conductor, ids } = playback;
  const wasThere = [...recording.runs.values()].some(({ asked, consents }) =>
    [...asked.keys()].some((callId) => {
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
