/** The rules that decide about tool calls of a command: of the configuration, the command line, agent files, and the defaults. */

import { isAbsolute } from "node:path";
import type { ApprovalRequest } from "../../../core/approval.ts";
import type { PermissionRule } from "../../../core/configuration.ts";
import type { GuardPaths } from "../../../core/guarded-files.ts";
import { isSubagentToolName } from "../../../core/spawn.ts";
import type { Tool } from "../../../core/tool.ts";
import { DELEGATE_TOOL } from "../../../core/words/tools.ts";
import { createPolicy, type FileRules, fileRules, type Policy } from "../../../runtime/rights/policy.ts";
import { checkPattern } from "../../../runtime/rights/rule-pattern.ts";
import type { AgentFile } from "../../config/agents/file.ts";
import type { Configuration } from "../../config/configuration.ts";
import { usageError } from "../exit-codes.ts";
import { isInside, type ProcessContext } from "../files/paths.ts";
import type { RunFlags } from "../table/run-flags.ts";
import { inertLine } from "../terminal/text.ts";

type RulesRequest = Pick<ProcessContext, "env"> & {
  readonly flags: Pick<RunFlags, "rights">;
  /** The mode of a session at this moment; without it `--yes` decides whether everything is allowed. */
  readonly mode?: (() => RightsMode) | undefined;
};

type Bounds = {
  /** The rules of a project whose trust was lost. */
  readonly heldRules: readonly PermissionRule[];
  readonly guards: GuardPaths;
  readonly files: readonly AgentFile[];
  readonly tools: readonly Tool[];
};

export type CommandRules = {
  /** Decide about every call of the command: those of the configuration and of the command line, and the default ones. */
  readonly rules: Policy;
  /** The rules of each agent, by its name. In its definition they hold for its calls and for those of everything below it. */
  readonly rulesOfFiles: ReadonlyMap<string, FileRules | undefined>;
};

/** All of them share the answers that the person wants remembered. */
export function commandRules(
  { flags: { rights }, env, mode }: RulesRequest,
  { permissions, tools: settings, agentServers }: Configuration,
  { heldRules, guards, files, tools }: Bounds,
): CommandRules {
  for (const { pattern } of rights.rules) {
    const problem = checkPattern(pattern);
    if (problem !== undefined) throw usageError(`--allow ${inertLine(pattern, 80)}: ${problem}`);
  }
  const shared = {
    allowsAll: mode === undefined ? rights.allowsAll : () => mode() === "allow",
    remembered: new Map(),
    home: knownHome(env.HOME, guards),
    variables: settings.terminal.inertVariables,
    defaultServer: Object.keys(agentServers)[0],
  };
  const policy = createPolicy({
    rules: [...permissions, ...heldRules, ...rights.rules, ...files.map(callRule)],
    guards,
    allowHosts: settings.fetch.allowHosts,
    ...shared,
  });
  return {
    rules: mode === undefined ? policy : rulesByMode(policy, mode, tools),
    rulesOfFiles: new Map(files.map((file) => [file.name, fileRules(file, shared)])),
  };
}

/**
 * By default an agent of the user, or of a trusted project, is called without a question, by whichever tool: what it does asks
 * for itself, and one with `model: external/NAME` asks as subagent_delegate(NAME) when it is about to start. A rule that asks
 * or denies goes before.
 */
function callRule({ name, file }: AgentFile): PermissionRule {
  return { effect: "allow", pattern: `subagent(${name})`, origin: `default for the agent ${file}` };
}

/** Programs get another home folder when it lies in the project; then ~ is not known. */
function knownHome(home: string | undefined, { top }: GuardPaths): string | undefined {
  return home === undefined || !isAbsolute(home) || isInside(top, home) ? undefined : home;
}

export const RIGHTS_MODES = ["ask", "read-only", "allow"] as const;
export type RightsMode = (typeof RIGHTS_MODES)[number];

/** The same rules; while the session is read-only they deny what does more than read. An external agent acts by itself. */
function rulesByMode(rules: Policy, mode: () => RightsMode, tools: readonly Tool[]): Policy {
  const reading = new Set(tools.filter(({ effect }) => effect === "read").map(({ name }) => name));
  const isRefused = ({ toolName }: ApprovalRequest): boolean =>
    mode() === "read-only" && !reading.has(toolName) && (!isSubagentToolName(toolName) || toolName === DELEGATE_TOOL);
  return {
    ...rules,
    decide: (request) => (isRefused(request) ? READ_ONLY : rules.decide(request)),
    explain: (request) =>
      isRefused(request) ? { answer: READ_ONLY, by: "the mode of the session" } : rules.explain(request),
  };
}

const READ_ONLY = { effect: "deny", reason: "the session is read-only" } as const;
