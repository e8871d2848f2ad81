/** The rules of the user: what runs without a question, what is asked about, and what never runs. */

import type { ApprovalRequest, RuleAnswer } from "../core/approval.ts";
import type { PermissionRule } from "../core/configuration.ts";
import { UserError } from "../core/errors.ts";
import type { GuardPlaces } from "../core/guarded-files.ts";
import { type Action, type RealPath, readAction } from "./action.ts";
import { type ActionText, describeAction } from "./action-text.ts";
import { guardedWrite } from "./guarded-writes.ts";
import { createRemembered } from "./remembered.ts";
import { compilePattern, countParts, type RulePattern } from "./rule-pattern.ts";

export type PolicyOptions = {
  readonly rules: readonly PermissionRule[];
  /** Allows what no rule denies (`--yes`). */
  readonly allowsAll?: boolean | undefined;
  /** Hosts that fetch may reach without a question. */
  readonly allowHosts?: readonly string[] | undefined;
  /** How links are followed; the file system when unset. */
  readonly realPath?: RealPath | undefined;
  /** Where the files lie that writes are asked about, whatever is allowed; unset asks about none. */
  readonly guards?: GuardPlaces | undefined;
};

export type Policy = {
  /** Undefined leaves the call to the tier of its tool. */
  decide(request: ApprovalRequest): RuleAnswer | undefined;
  /** Holds for the agent of this name, until the command ends. Beats a rule that asks, never one that denies. */
  remember(rule: PermissionRule, agentName: string): void;
  /** The exact action for the question, and the rule that "always for this agent" would remember. */
  describe(request: ApprovalRequest, width?: number): ActionText;
};

export type ReadyRule = PermissionRule & { readonly matcher: RulePattern };

/** Deny wins over ask, and ask over allow, wherever the rules stand. Throws for a rule that cannot be understood. */
export function createPolicy({ rules, allowsAll = false, allowHosts = [], realPath, guards }: PolicyOptions): Policy {
  const hostRules = allowHosts.map((host): PermissionRule => {
    return { effect: "allow", pattern: `fetch(${host})`, origin: "tools.fetch.allow_hosts" };
  });
  const ready = [...rules, ...hostRules].map(readyRule);
  const remembered = createRemembered();
  return {
    decide: (request) => {
      const action = readAction(request, realPath);
      const answers = remembered.of(request.agent);
      const denying = [...ready, ...answers].find((rule) => rule.effect === "deny" && rule.matcher.touches(action));
      if (denying !== undefined) return { effect: "deny", reason: `deny ${denying.pattern} (${denying.origin})` };
      const isAnswered = isAllowed(action, answers);
      const guarded = guards && !isAnswered ? guardedWrite(action, request.cwd, guards, realPath) : undefined;
      if (guarded !== undefined) return { effect: "ask", reason: guarded };
      if (allowsAll || isAnswered) return { effect: "allow" };
      if (ready.some((rule) => rule.effect === "ask" && rule.matcher.touches(action))) return { effect: "ask" };
      return action.kind === "follow-up" || isAllowed(action, ready) ? { effect: "allow" } : undefined;
    },
    remember: (rule, agentName) => remembered.add(readyRule(rule), agentName),
    describe: (request, width) => describeAction(request, { realPath, width }),
  };
}

/** Every part by some rule: a chain of commands is as allowed as the least allowed of them. */
function isAllowed(action: Action, rules: readonly ReadyRule[]): boolean {
  const allowing = rules.filter(({ effect }) => effect === "allow");
  const parts = countParts(action);
  for (let part = 0; part < parts; part++) {
    if (!allowing.some(({ matcher }) => matcher.covers(action, part))) return false;
  }
  return parts > 0;
}

function readyRule(rule: PermissionRule): ReadyRule {
  const matcher = compilePattern(rule.pattern);
  // A rule that is not understood must not become no rule at all.
  if (typeof matcher === "string") throw new UserError(`${matcher} (${rule.effect} in ${rule.origin})`);
  return { ...rule, matcher };
}
