/** Puts the rules before the person: what they leave open is asked. */

import type { Approve, Consent } from "../core/approval.ts";
import type { Policy } from "./policy.ts";

/** Without `ask` nobody is there, and what no rule allows is refused. */
export function createConsent({ decide }: Pick<Policy, "decide">, ask?: Approve): Consent {
  if (ask === undefined) return { decide };
  return {
    decide,
    ask: (request, signal) => {
      // An answer that was remembered while this question waited in line answers it too.
      const answer = decide(request);
      if (answer?.effect === "deny") return { allow: false, reason: answer.reason };
      return answer?.effect === "allow" ? { allow: true } : ask(request, signal);
    },
  };
}
