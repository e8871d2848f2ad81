/** The rules of the user: what runs without a question, what is asked about, and what never runs. */

import { isAbsolute } from "node:path";
import type { ApprovalRequest, CallTarget, RuleAnswer } from "../../core/approval.ts";
import type { PermissionRule } from "../../core/configuration.ts";
import { UserError } from "../../core/errors.ts";
import type { GuardPaths } from "../../core/guarded-files.ts";
import {
  type Action,
  type ActionOptions,
  type FileAction,
  fileActions,
  fileTool,
  kindOf,
  readAction,
  seenFrom,
} from "./action.ts";
import { type ActionText, describeAction } from "./action-text.ts";
import type { CommandReading } from "./command-reading.ts";
import { isSameTarget, lookUpTarget } from "./question.ts";
import { compilePattern, countParts, type RulePattern } from "./rule-pattern.ts";
import { type WriteGuard, writeGuard } from "./target.ts";

export type PolicyOptions = ActionOptions & {
  readonly rules: readonly PermissionRule[];
  /** Allows what no rule denies (`--yes`); a function where that can change. */
  readonly allowsAll?: boolean | (() => boolean) | undefined;
  /** The answers of the person, where several policies share them. */
  readonly remembered?: RememberedAnswers | undefined;
  /** Hosts that fetch may reach without a question. */
  readonly allowHosts?: readonly string[] | undefined;
  /** The files whose writes are asked about, whatever is allowed; none when unset. */
  readonly guards?: GuardPaths | undefined;
};

export type Policy = {
  /** Undefined leaves the call to the tier of its tool. */
  decide(request: ApprovalRequest): RuleAnswer | undefined;
  /** The same, with the rule that decided and the reason in words. */
  explain(request: ApprovalRequest): Judgement;
  /** Holds for agents of the same name below the same agents, until the command ends. Beats a rule that asks, never one that denies. */
  remember(rule: PermissionRule, asked: Asked): void;
  /** The exact action for the question, and the rule that "always for this agent" would remember. */
  describe(request: ApprovalRequest, width?: number): ActionText;
};

export type Judgement = {
  readonly answer: RuleAnswer | undefined;
  /** The reason of the decision: a rule with its origin, `--yes`, or no approver. */
  readonly by: string;
  /** The reading of a command. */
  readonly reading?: CommandReading | undefined;
};

type ReadyRule = PermissionRule & { readonly matcher: RulePattern };

/** An answer for always; one to a command counts only while the command leads where it led when the person was asked. */
type Remembered = ReadyRule & { readonly target?: CallTarget | undefined };

/** Answers by the line of the agent that asked; they live as long as the command, and are not written anywhere. */
type RememberedAnswers = Map<string, Remembered[]>;

type Asking = Pick<ApprovalRequest, "above" | "agent">;
/** The asking agent, or the whole of what it asked. */
type Asked = Asking | ApprovalRequest;

/** The asking agent for remembered answers: the names from the root down. No name has a slash. */
function lineOf({ above, agent }: Asking): string {
  return [...above, agent].join("/");
}

/** Deny wins over ask, and ask over allow, wherever the rules stand. Throws for a rule that cannot be understood. */
export function createPolicy(options: PolicyOptions): Policy {
  const { rules, allowsAll = false, allowHosts = [], guards, remembered = new Map(), ...reading } = options;
  const hostRules = allowHosts.map((host): PermissionRule => {
    return { effect: "allow", pattern: `fetch(${host})`, origin: "tools.fetch.allow_hosts" };
  });
  const ready = [...rules, ...hostRules].map((rule) => readyRule(rule, reading.home));
  const explain = (request: ApprovalRequest): Judgement => {
    const action = readAction(request, reading);
    const files = action.kind === "command" ? fileActions(action.reading, request, reading) : [];
    const guard =
      guards &&
      writeGuard(action, files, {
        cwd: request.cwd,
        root: request.real?.cwd,
        home: reading.home,
        paths: guards,
        realPath: reading.realPath,
        isExternal: request.isExternal === true,
      });
    const given: readonly Remembered[] = remembered.get(lineOf(request)) ?? [];
    const answers = given.filter(
      ({ matcher, target }) =>
        target === undefined || (matcher.covers(action, 0) && isSameTarget(target, lookUpTarget(request, reading))),
    );
    const isYes = typeof allowsAll === "function" ? allowsAll() : allowsAll;
    const judgement = judge({ action, files, guard, rules: ready, answers, allowsAll: isYes });
    return action.kind === "command" ? { ...judgement, reading: action.reading } : judgement;
  };
  return {
    decide: (request) => explain(request).answer,
    explain,
    remember(rule, asked) {
      const line = lineOf(asked);
      const ready = readyRule(rule, reading.home);
      const target = "toolName" in asked && isExact(ready) ? targetOf(asked, reading) : undefined;
      remembered.set(line, [...(remembered.get(line) ?? []), { ...ready, target }]);
    },
    describe: (request, width) => {
      const { realPath, defaultServer } = reading;
      return describeAction(request, { realPath, defaultServer, width });
    },
  };
}

/** Undefined for what is bound by its own text: a path is remembered as where it leads. */
function targetOf(asked: ApprovalRequest, { realPath }: ActionOptions): CallTarget | undefined {
  return kindOf(asked.toolName) === "command" ? (asked.target ?? lookUpTarget(asked, { realPath })) : undefined;
}

type Case = {
  readonly action: Action;
  /** The accesses of a command to files. */
  readonly files: readonly FileAction[];
  /** The guard that refuses or asks whatever the rules allow. */
  readonly guard: WriteGuard | undefined;
  readonly rules: readonly ReadyRule[];
  /** Earlier answers of the person. */
  readonly answers: readonly ReadyRule[];
  readonly allowsAll: boolean;
};

function judge({ action, files, guard, rules, answers, allowsAll }: Case): Judgement {
  const all = [action, ...files];
  const denying = [...rules, ...answers].find((rule) => rule.effect === "deny" && touchesAny(rule, all));
  if (denying !== undefined) return { answer: { effect: "deny", reason: named(denying) }, by: named(denying) };
  if (guard?.effect === "refuse") return { answer: { effect: "deny", reason: guard.reason }, by: GUARD };
  const unclear = notUnderstood(action, rules);
  const isExactly = isAllowed(action, [...rules, ...answers].filter(isExact));
  if (unclear !== undefined && !isExactly) {
    const { reason, by } = unclear;
    const denied = { effect: "deny", reason: `${reason}. ${INSTEAD}` } as const;
    return { answer: allowsAll ? denied : { effect: "ask", reason, advice: INSTEAD }, by };
  }
  const isAnswered = isAllowed(action, answers);
  const isSettled = isAnswered || (guard?.isUnsure === true && isExactly);
  if (guard !== undefined && !isSettled) return { answer: { effect: "ask", reason: guard.reason }, by: GUARD };
  if (allowsAll) return { answer: { effect: "allow" }, by: "--yes" };
  if (isAnswered) return { answer: { effect: "allow" }, by: "an earlier answer" };
  const asking = rules.find((rule) => rule.effect === "ask" && touchesAny(rule, all));
  if (asking !== undefined) return { answer: { effect: "ask" }, by: named(asking) };
  const allowing = action.kind === "follow-up" ? [] : allowingRules(action, files, rules);
  if (allowing === undefined) return { answer: undefined, by: "no rule" };
  return { answer: { effect: "allow" }, by: [...new Set(allowing.map(named))].join(", ") };
}

const GUARD = "the files that sous guards";

/** A command that is not understood always needs an answer while a rule denies or asks about single commands. */
function notUnderstood(action: Action, rules: readonly ReadyRule[]): { reason: string; by: string } | undefined {
  if (action.kind !== "command" || action.reading.problem === undefined) return undefined;
  // An unknown file may be one that must not be written.
  const tools = action.reading.hasUnknownFile ? [action.toolName, "write_file", "read_file"] : [action.toolName];
  const binding = rules.find(({ effect, matcher }) => effect !== "allow" && tools.some((name) => matcher.isFor(name)));
  if (binding === undefined) return undefined;
  const by = named(binding);
  return { by, reason: `${by} holds, and this command is not understood: ${action.reading.problem}` };
}

const INSTEAD =
  "Write simple commands: plain words and quotes, joined by ; && || | or line ends, without variables, substitutions and code for other programs";

/** The rules that together allow every part; undefined when a part is not allowed. */
function allowingRules(
  action: Action,
  files: readonly FileAction[],
  rules: readonly ReadyRule[],
): ReadyRule[] | undefined {
  const allowing = rules.filter(({ effect }) => effect === "allow");
  const found: ReadyRule[] = [];
  const parts = countParts(action);
  for (let part = 0; part < parts; part++) {
    const rule = allowing.find(({ matcher }) => matcher.covers(action, part));
    if (rule === undefined) return undefined;
    found.push(rule);
  }
  if (parts === 0) return undefined;
  // A rule for single commands says nothing about the files behind `>` and `<`.
  if (found.every(({ matcher }) => matcher.scope !== "pattern")) return found;
  const mayUse = (file: FileAction): boolean =>
    isInside(file) &&
    (file.toolName === "read_file" || (file.isSure && allowing.some(({ matcher }) => matcher.covers(file, 0))));
  return files.every(mayUse) ? found : undefined;
}

function isAllowed(action: Action, rules: readonly ReadyRule[]): boolean {
  return allowingRules(action, [], rules) !== undefined;
}

/** A file outside of the workspace is always asked about. */
function isInside(file: Action): boolean {
  return file.kind === "path" && !isAbsolute(file.path);
}

function isExact({ matcher }: ReadyRule): boolean {
  return matcher.scope === "exact";
}

function touchesAny({ matcher }: ReadyRule, actions: readonly Action[]): boolean {
  return actions.some((action) => matcher.touches(action));
}

function named({ effect, pattern, origin }: PermissionRule): string {
  return `${effect} ${pattern} (${origin})`;
}

function readyRule(rule: PermissionRule, home: string | undefined): ReadyRule {
  const matcher = compilePattern(rule.pattern, home);
  // A rule that cannot be read must not be dropped silently.
  if (typeof matcher === "string") throw new UserError(`${matcher} (${rule.effect} in ${rule.origin})`);
  return { ...rule, matcher: rule.root === undefined ? matcher : relativeTo(rule.root, matcher) };
}

/** The paths of a project's rule begin at the top of the project, whichever folder of it is the workspace. */
function relativeTo(root: string, matcher: RulePattern): RulePattern {
  return {
    ...matcher,
    covers: (action, part) => matcher.covers(seenFrom(root, action), part),
    touches: (action) => matcher.touches(seenFrom(root, action)),
  };
}

/** The rules of a file about calls. */
type RulesOfFile = {
  readonly rules: readonly PermissionRule[];
  /** A tool that is named here may only make calls that one of its patterns covers. */
  readonly only: readonly PermissionRule[];
  /** Tools that are denied as a whole. */
  readonly deny: readonly string[];
  readonly file: string;
};

export type FileRules = Pick<Policy, "decide">;

type Reading = Omit<PolicyOptions, "rules" | "guards" | "allowHosts">;

/** Undefined for a file that says nothing about single calls. */
export function fileRules(given: RulesOfFile, { allowsAll, remembered, ...reading }: Reading): FileRules | undefined {
  const { only, deny, file } = given;
  // A tool that is denied as a whole is denied to redirections of the terminal, too.
  const denied = deny.map((tool): PermissionRule => ({ effect: "deny", pattern: tool, origin: file }));
  const rules = [...given.rules, ...denied.filter(({ pattern }) => /^(?:write|read)_file$/.test(pattern))];
  if (rules.length === 0 && only.length === 0) return undefined;
  const policy = createPolicy({ rules, allowsAll: rules.length > 0 && allowsAll, remembered, ...reading });
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
  };
}

/** The accesses of a command to files, as calls of the tools that do the same. */
function fileRequests(request: ApprovalRequest, { explain }: Policy): ApprovalRequest[] {
  const used = kindOf(request.toolName) === "command" ? (explain(request).reading?.files ?? []) : [];
  return used.flatMap(({ kind, paths }) =>
    paths.map((path) => ({ ...request, toolName: fileTool(kind), input: { path } })),
  );
}
