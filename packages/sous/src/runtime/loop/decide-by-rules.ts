/** Decides about a call by rules: those of the runtime, of the agent that makes it, and of every agent above it. */

import { type ApprovalRequest, type RuleAnswer, stricter } from "../../core/approval.ts";
import type { Run } from "../../core/run.ts";

/** True when any rules bind the run. */
export function hasRules(run: Run): boolean {
  if (run.tree.rules !== undefined) return true;
  for (let each: Run | undefined = run; each !== undefined; each = each.parent) {
    if (each.profile.rules !== undefined) return true;
  }
  return false;
}

/** The strictest answer; what an agent above allows, it allows to itself only. Undefined when no rule decides. */
export function decideByRules(request: ApprovalRequest, run: Run): RuleAnswer | undefined {
  let answer = stricter(run.tree.rules?.decide(request), run.profile.rules?.decide(request));
  for (let above = run.parent; above !== undefined; above = above.parent) {
    const theirs = above.profile.rules?.decide(request);
    if (theirs?.effect !== "allow") answer = stricter(answer, theirs);
  }
  return answer;
}
