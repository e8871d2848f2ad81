/** Agent files and trust for the commands: found, read, and made into agents with the rules that hold for them. */

import { join } from "node:path";
import type { AgentFile } from "../../config/agents/file.ts";
import { type LoadedAgents, loadAgentFiles } from "../../config/agents/load.ts";
import { type ProjectTrust, trustOf, writeTrusted } from "../../config/trust/trust.ts";
import { type AgentDefinition, agent } from "../../core/agent.ts";
import type { ApprovalRequest, RuleAnswer } from "../../core/approval.ts";
import type { Configuration, PermissionRule } from "../../core/configuration.ts";
import type { GuardPlaces } from "../../core/guarded-files.ts";
import { providerOf, whyNotNamed } from "../../core/model.ts";
import type { Tool } from "../../core/tool.ts";
import { guardOfFile } from "../../rights/guarded-writes.ts";
import { createPolicy, type Policy, type PolicyOptions } from "../../rights/policy.ts";
import { checkPattern } from "../../rights/rule-pattern.ts";
import type { AroundWrite } from "../../tools/write-file.ts";
import { userFolder, userFolderIfAny } from "../files/paths.ts";
import { inertLine } from "../terminal/inert.ts";

type Place = { readonly cwd: string; readonly env: Readonly<Record<string, string | undefined>> };

/** Opens no file of a project that is not trusted. */
export async function findTrust({ cwd, env }: Place): Promise<ProjectTrust> {
  const stateFolder = userFolderIfAny("state", env);
  if (stateFolder === undefined) {
    return { root: cwd, state: "unknown", present: [], problem: undefined, files: [], changes: [], heldRules: [] };
  }
  return trustOf({ cwd, stateFolder });
}

/** The one line about a project whose files are not read; undefined when there is nothing to say. */
export function trustWarning({ root, state, present, problem, changes }: ProjectTrust): string | undefined {
  if (state === "changed") {
    const what = problem ?? (changes.join(", ") || "it was trusted by an older version of sous");
    return `the project ${root} has changed since it was trusted (${what}), so its files are not read, and what it denied or asked about stays so; sous trust shows them and asks`;
  }
  if (problem !== undefined) return `no file of the project ${root} is read, because ${problem}`;
  if (state === "trusted" || present.length === 0) return undefined;
  return `the files of the project ${root} are not read (${present.join(", ")}), because it is not trusted; sous trust shows them and asks`;
}

/** The user's agents, and the project's when it is trusted. */
export async function loadAgents(place: Place, trust: Pick<ProjectTrust, "files">): Promise<LoadedAgents> {
  return loadAgentFiles({
    userFolders: userFolderIfAny("config", place.env) === undefined ? [] : [userAgents(place)],
    projectFiles: trust.files,
    checkRule: checkPattern,
  });
}

export function userAgents({ env }: Pick<Place, "env">): string {
  return join(userFolder("config", env), "agents");
}

/** For the tools that write. Rules let a guarded file be written only when a person has said yes to it. */
export function writeInProject({ cwd, env }: Place, guards: GuardPlaces): AroundWrite | undefined {
  const stateFolder = userFolderIfAny("state", env);
  if (stateFolder === undefined) return undefined;
  return async (file, content, write) => {
    if (guardOfFile(file, guards) === undefined) return write();
    return writeTrusted({ cwd, stateFolder }, { file, content }, write);
  };
}

/**
 * A project was trusted to be read, not to choose whose server gets a task and which key pays for it: an agent of it that
 * names another provider runs on the model of its caller, unless the user's configuration lists that model.
 */
export function onProviderOf(
  files: readonly AgentFile[],
  { model, models }: Pick<Configuration, "model" | "models">,
  warn: (line: string) => void,
): AgentFile[] {
  const own = model === undefined ? undefined : providerOf(model);
  return files.map((file) => {
    if (file.scope !== "project" || file.model === undefined || file.model === "inherit") return file;
    if (whyNotNamed(file.model, own, models.allow) === undefined) return file;
    const where = `${file.file}:${file.origins.fields.model?.line ?? 1}`;
    const why = "a project may only choose a model of your provider, or one that models.allow lists";
    warn(inertLine(`${where}: the model ${file.model} is ignored: ${why}`, 300));
    return { ...file, model: undefined };
  });
}

/** What the root has and may pass on, and what agents read besides their instructions. */
type Passed = {
  readonly tools: readonly Tool[];
  readonly delegates: boolean;
  readonly notes: { readonly facts: string; readonly whole: string };
};

/** Agents of files as definitions. */
export function toDefinitions(files: readonly AgentFile[], { tools, delegates, notes }: Passed): AgentDefinition[] {
  return files.map((file) =>
    agent({
      name: file.name,
      nickname: file.nickname,
      description: file.description,
      instructions: file.instructions === "" ? undefined : file.instructions,
      notes: file.notes ? notes.whole : notes.facts,
      model: file.model === "inherit" ? undefined : file.model,
      tools: file.tools === undefined ? undefined : tools.filter(({ name }) => file.tools?.includes(name)),
      deny: file.deny,
      delegate: file.delegate && delegates,
      maxTurns: file.maxTurns,
      timeoutMs: file.timeoutMs,
      maxOutputTokens: file.maxOutputTokens,
      outputSchema: file.outputSchema,
    }),
  );
}

/**
 * The rules of a file hold for the calls of its agent and of everything below it. The strictest answer counts, the user's among
 * them; what a file allows, it allows to its own agent only. An answer that is remembered holds for agents of the same name
 * below the same agents.
 */
export function withAgentRules(
  policy: Policy,
  files: readonly AgentFile[],
  { allowsAll, ...reading }: Pick<PolicyOptions, "home" | "variables"> & { allowsAll: boolean },
): Policy {
  const rulesOf = new Map(
    files.map(({ name, rules: given, only, deny, file }) => {
      // A tool that is denied as a whole is denied to redirections of the terminal, too.
      const denied = deny.map((tool): PermissionRule => ({ effect: "deny", pattern: tool, origin: file }));
      const rules = [...given, ...denied.filter(({ pattern }) => /^(?:write|read)_file$/.test(pattern))];
      return [
        name,
        {
          rules: createPolicy({ rules, allowsAll: allowsAll && rules.length > 0, ...reading }),
          only: createPolicy({ rules: only, ...reading }),
          limited: new Set(only.map(({ pattern }) => pattern.split("(", 1)[0] ?? "")),
          origin: only[0]?.origin ?? "",
        },
      ] as const;
    }),
  );
  const decide = (given: ApprovalRequest): RuleAnswer | undefined => {
    const request = { ...given, agent: lineOf(given) };
    const files = fileRequests(request, policy);
    let answer = policy.decide(request);
    for (const [index, name] of [given.agent, ...given.above].entries()) {
      const file = rulesOf.get(name);
      if (file === undefined) continue;
      const isOutside = (asked: ApprovalRequest): boolean =>
        file.limited.has(asked.toolName) && file.only.decide(asked)?.effect !== "allow";
      if ([request, ...files].some(isOutside))
        return { effect: "deny", reason: `not among the calls that the file allows (${file.origin})` };
      const own = file.rules.decide(request);
      if (index === 0 || own?.effect !== "allow") answer = stricter(answer, own);
    }
    return answer;
  };
  return {
    ...policy,
    decide,
    remember: (rule, line) => {
      policy.remember(rule, line);
      for (const name of new Set(line.split("/"))) rulesOf.get(name)?.rules.remember(rule, line);
    },
  };
}

/** What a command does with files by itself, as calls of the tools that do the same. */
function fileRequests(request: ApprovalRequest, { explain }: Policy): ApprovalRequest[] {
  const used = request.toolName === "terminal" ? (explain(request).reading?.files ?? []) : [];
  return used.flatMap(({ kind, paths }) =>
    paths.map((path) => ({ ...request, toolName: kind === "write" ? "write_file" : "read_file", input: { path } })),
  );
}

/** Who asks, for answers that are remembered: the names from the root down. No name has a slash. */
export function lineOf({ above, agent }: Pick<ApprovalRequest, "above" | "agent">): string {
  return [...above, agent].join("/");
}

function stricter(one: RuleAnswer | undefined, other: RuleAnswer | undefined): RuleAnswer | undefined {
  for (const effect of ["deny", "ask", "allow"] as const) {
    if (one?.effect === effect) return one;
    if (other?.effect === effect) return other;
  }
  return undefined;
}
