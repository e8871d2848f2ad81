/** The modes of a session: how much may be done without a question. One can be chosen while the session lives. */

import type { ApprovalRequest } from "../../core/approval.ts";
import { isSubagentToolName } from "../../core/spawn.ts";
import type { Tool } from "../../core/tool.ts";
import type { Policy } from "../../rights/policy.ts";

export const RIGHTS_MODES = ["ask", "read-only", "allow"] as const;
export type RightsMode = (typeof RIGHTS_MODES)[number];

type RulesByMode = {
  /** The mode at this moment. */
  readonly mode: () => RightsMode;
  /** With `allowsAll` the rules of `--yes`. */
  readonly rulesFor: (allowsAll: boolean) => Policy;
  readonly tools: readonly Tool[];
};

export function rulesByMode({ mode, rulesFor, tools }: RulesByMode): Policy {
  const [asking, allowing] = [rulesFor(false), rulesFor(true)];
  const reading = new Set(tools.filter(({ effect }) => effect === "read").map(({ name }) => name));
  const rules = (): Policy => (mode() === "allow" ? allowing : asking);
  const isRefused = ({ toolName }: ApprovalRequest): boolean =>
    mode() === "read-only" && !reading.has(toolName) && (!isSubagentToolName(toolName) || toolName === DELEGATE);
  return {
    ...asking,
    decide: (request) => (isRefused(request) ? READ_ONLY : rules().decide(request)),
    explain: (request) =>
      isRefused(request) ? { answer: READ_ONLY, by: "the mode of the session" } : rules().explain(request),
    remember(rule, agentName) {
      asking.remember(rule, agentName);
      allowing.remember(rule, agentName);
    },
  };
}

/** An agent outside acts by itself. */
const DELEGATE = "subagent_delegate";
const READ_ONLY = { effect: "deny", reason: "the session is read-only" } as const;
