/** The rules that decide about tool calls of a command: of the configuration, the command line, agent files, and the defaults. */

import { isAbsolute, relative } from "node:path";
import type { AgentFile } from "../../config/agents/file.ts";
import { type ApprovalRequest, type RuleAnswer, stricter } from "../../core/approval.ts";
import type { Configuration, PermissionRule } from "../../core/configuration.ts";
import type { GuardPaths } from "../../core/guarded-files.ts";
import { fileRules } from "../../rights/file-rules.ts";
import { createPolicy, type Policy, type PolicyOptions } from "../../rights/policy.ts";
import { checkPattern } from "../../rights/rule-pattern.ts";
import { usageError } from "../exit-codes.ts";
import type { ProcessContext } from "../files/paths.ts";
import type { RunFlags } from "../table/run-flags.ts";
import { inertLine } from "../terminal/text.ts";
import { defaultServer } from "./outside.ts";

/** The rules of a project whose trust was lost, the files that are guarded, and the agents that were read. */
type Bounds = {
  heldRules: readonly PermissionRule[];
  guards: GuardPaths;
  agents: readonly Pick<AgentFile, "name" | "file">[];
};

/** The rules of the configuration and of the command line, and the default ones. */
export function policyFor(
  { flags: { rights }, env }: PolicyRequest,
  configuration: Configuration,
  { heldRules, guards, agents }: Bounds,
): Policy {
  const { permissions, tools } = configuration;
  for (const { pattern } of rights.rules) {
    const problem = checkPattern(pattern);
    if (problem !== undefined) throw usageError(`--allow ${inertLine(pattern, 80)}: ${problem}`);
  }
  return createPolicy({
    rules: [...permissions, ...heldRules, ...rights.rules, ...agents.map(callRule)],
    guards,
    allowsAll: rights.allowsAll,
    allowHosts: tools.fetch.allowHosts,
    ...commandReading({ env }, configuration, guards),
  });
}

/**
 * By default an agent of the user, or of a trusted project, is called without a question, by whichever tool: what it does asks
 * for itself, and one with `model: external/NAME` asks as subagent_delegate(NAME) when it is about to start. A rule that asks
 * or denies goes before.
 */
function callRule({ name, file }: Bounds["agents"][number]): PermissionRule {
  return { effect: "allow", pattern: `subagent(${name})`, origin: `default for the agent ${file}` };
}

/** What commands of the terminal mean here, and delegations that name no server. */
export function commandReading(
  { env }: Pick<ProcessContext, "env">,
  { tools, agentServers }: Configuration,
  guards: GuardPaths,
): Reading {
  return {
    home: knownHome(env.HOME, guards),
    variables: tools.terminal.inertVariables,
    defaultServer: defaultServer(agentServers),
  };
}

type Reading = Pick<PolicyOptions, "home" | "variables" | "defaultServer">;

/** Programs get another home folder when it lies in the project; then ~ is not known. */
function knownHome(home: string | undefined, { top }: GuardPaths): string | undefined {
  if (home === undefined || !isAbsolute(home)) return undefined;
  const way = relative(top, home);
  return way.startsWith("..") || isAbsolute(way) ? home : undefined;
}

type PolicyRequest = Pick<ProcessContext, "env"> & { readonly flags: Pick<RunFlags, "rights"> };

/**
 * The rules of a file hold for the calls of its agent and of everything below it. The strictest answer counts, the user's among
 * them; what a file allows, it allows to its own agent only. An answer that is remembered holds for agents of the same name
 * below the same agents.
 */
export function withAgentRules(
  policy: Policy,
  files: readonly AgentFile[],
  { allowsAll, ...reading }: Reading & { allowsAll: boolean },
): Policy {
  const rulesOf = new Map(files.map((file) => [file.name, fileRules(file, { allowsAll, ...reading })] as const));
  const decide = (given: ApprovalRequest): RuleAnswer | undefined => {
    const request = { ...given, agent: lineOf(given) };
    let answer = policy.decide(request);
    for (const [index, name] of [given.agent, ...given.above].entries()) {
      const own = rulesOf.get(name)?.decide(request);
      if (index === 0 || own?.effect !== "allow") answer = stricter(answer, own);
    }
    return answer;
  };
  return {
    ...policy,
    decide,
    remember: (rule, line) => {
      policy.remember(rule, line);
      for (const name of new Set(line.split("/"))) rulesOf.get(name)?.remember(rule, line);
    },
  };
}

/** The asking agent for remembered answers: the names from the root down. No name has a slash. */
export function lineOf({ above, agent }: Pick<ApprovalRequest, "above" | "agent">): string {
  return [...above, agent].join("/");
}
