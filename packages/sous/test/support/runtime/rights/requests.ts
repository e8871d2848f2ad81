/** Calls for tests of rules: who asks is always the same, what would run is the test's. */

import type { ApprovalRequest, RuleAnswer } from "../../../../src/core/approval.ts";
import type { PermissionEffect, PermissionRule } from "../../../../src/core/configuration.ts";
import { createPolicy, type PolicyOptions } from "../../../../src/runtime/rights/policy.ts";

export function requestFor(toolName: string, input: unknown, more: Partial<ApprovalRequest> = {}): ApprovalRequest {
  return {
    runId: "run",
    path: "lead/scout",
    callId: "call",
    agent: "scout",
    above: ["lead"],
    cwd: "/workspace",
    toolName,
    input,
    ...more,
  };
}

/** `deny terminal(rm*)` and so on. */
export function rulesFrom(...lines: string[]): PermissionRule[] {
  return lines.map((line) => {
    const [effect = "", ...pattern] = line.split(" ");
    return { effect: effect as PermissionEffect, pattern: pattern.join(" "), origin: "test" };
  });
}

type Options = Omit<PolicyOptions, "rules">;

/** A file system where nothing is a link. */
export const noLinks = (path: string): string => path;

export function decideOn(rules: readonly string[], toolName: string, input: unknown, options: Options = {}): Effect {
  const policy = createPolicy({ rules: rulesFrom(...rules), realPath: noLinks, ...options });
  return policy.decide(requestFor(toolName, input))?.effect;
}

export type Effect = RuleAnswer["effect"] | undefined;
