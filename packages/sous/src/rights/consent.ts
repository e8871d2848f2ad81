/** Puts the rules before the person: what they leave open is asked, with the whole action as the rules saw it. */

import type { ActionRequest, ApprovalAnswer, ApprovalRequest, Consent } from "../core/approval.ts";
import type { Policy } from "./policy.ts";

/** Asks the person. Aborting `signal` withdraws the question. */
export type AskPerson = (request: ActionRequest, signal: AbortSignal) => Promise<ApprovalAnswer> | ApprovalAnswer;

// A question follows its decision at once; calls of tools that never ask are not told apart from it and fall out.
const MAX_OPEN = 1000;

/** Without `ask` nobody is there, and what no rule allows is refused. */
export function createConsent(policy: Policy, ask?: AskPerson): Consent {
  if (ask === undefined) return { decide: policy.decide };
  const open = new Map<string, ActionRequest>();
  return {
    decide: (request) => {
      const answer = policy.decide(request);
      if (answer === undefined || answer.effect === "ask") {
        open.set(keyOf(request), request);
        const [oldest] = open.keys();
        if (open.size > MAX_OPEN && oldest !== undefined) open.delete(oldest);
      }
      return answer;
    },
    ask: (request, signal) => {
      const action = open.get(keyOf(request));
      open.delete(keyOf(request));
      if (action === undefined) throw new Error(`nobody has judged the call ${request.callId}`);
      // An answer that was remembered while this question waited in line answers it too.
      const answer = policy.decide(action);
      if (answer?.effect === "deny") return { allow: false, reason: answer.reason };
      return answer?.effect === "allow" ? { allow: true } : ask(action, signal);
    },
  };
}

function keyOf({ runId, callId }: ApprovalRequest): string {
  return `${runId} ${callId}`;
}
