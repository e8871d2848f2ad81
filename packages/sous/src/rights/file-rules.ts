/** The rules of one agent file, for the calls of its agent and of everything below it. */

import type { ApprovalRequest, RuleAnswer } from "../core/approval.ts";
import type { PermissionRule } from "../core/configuration.ts";
import { createPolicy, type Policy, type PolicyOptions } from "./policy.ts";

/** What a file says about calls. */
export type RulesOfFile = {
  readonly rules: readonly PermissionRule[];
  /** A tool that is named here may only make calls that one of its patterns covers. */
  readonly only: readonly PermissionRule[];
  /** Tools that are denied as a whole. */
  readonly deny: readonly string[];
  readonly file: string;
};

export type FileRules = Pick<Policy, "decide" | "remember">;

type Reading = Omit<PolicyOptions, "rules" | "guards" | "allowHosts">;

/** Undefined for a file that says nothing about single calls. */
export function fileRules(given: RulesOfFile, { allowsAll = false, ...reading }: Reading): FileRules | undefined {
  const { only, deny, file } = given;
  // A tool that is denied as a whole is denied to redirections of the terminal, too.
  const denied = deny.map((tool): PermissionRule => ({ effect: "deny", pattern: tool, origin: file }));
  const rules = [...given.rules, ...denied.filter(({ pattern }) => /^(?:write|read)_file$/.test(pattern))];
  if (rules.length === 0 && only.length === 0) return undefined;
  const policy = createPolicy({ rules, allowsAll: allowsAll && rules.length > 0, ...reading });
  const covering = createPolicy({ rules: only, ...reading });
  const limited = new Set(only.map(({ pattern }) => pattern.split("(", 1)[0] ?? ""));
  const isOutside = (asked: ApprovalRequest): boolean =>
    limited.has(asked.toolName) && covering.decide(asked)?.effect !== "allow";
  return {
    decide(request): RuleAnswer | undefined {
      if ([request, ...fileRequests(request, policy)].some(isOutside))
        return { effect: "deny", reason: `not among the calls that the file allows (${only[0]?.origin ?? ""})` };
      return policy.decide(request);
    },
    remember: (rule, line) => policy.remember(rule, line),
  };
}

/** What a command does with files by itself, as calls of the tools that do the same. */
function fileRequests(request: ApprovalRequest, { explain }: Policy): ApprovalRequest[] {
  const used = request.toolName === "terminal" ? (explain(request).reading?.files ?? []) : [];
  return used.flatMap(({ kind, paths }) =>
    paths.map((path) => ({ ...request, toolName: kind === "write" ? "write_file" : "read_file", input: { path } })),
  );
}
