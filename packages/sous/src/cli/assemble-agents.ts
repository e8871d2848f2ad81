/** Agent files and trust for the commands: found, read, and made into agents with the rules that hold for them. */

import { dirname, join, relative, resolve } from "node:path";
import type { AgentFile, ReadAgent } from "../config/agent-file.ts";
import type { LoadedAgents } from "../config/agent-load.ts";
import type { EffectiveRights } from "../config/agent-rights.ts";
import type { ProjectTrust } from "../config/trust.ts";
import type { ProjectSnapshot } from "../config/trust-files.ts";
import type { ProjectReview } from "../config/trust-review.ts";
import { type AgentDefinition, agent } from "../core/agent.ts";
import type { ApprovalRequest, RuleAnswer } from "../core/approval.ts";
import type { Configuration, PermissionRule } from "../core/configuration.ts";
import type { GuardPlaces } from "../core/guarded-files.ts";
import { providerOf, whyNotNamed } from "../core/model-name.ts";
import type { Tool } from "../core/tool.ts";
import type { Policy, PolicyOptions } from "../rights/policy.ts";
import type { AroundWrite } from "../tools/write-file.ts";
import { CommandError } from "./exit-codes.ts";
import { inertLine } from "./inert.ts";
import { userFolder, userFolderIfAny } from "./paths.ts";

export type { AgentFile, AgentProblem } from "../config/agent-file.ts";
export type { EffectiveRights } from "../config/agent-rights.ts";
export type { ProjectTrust } from "../config/trust.ts";

type Place = { readonly cwd: string; readonly env: Readonly<Record<string, string | undefined>> };

/** Opens nothing of a project that nobody has trusted. */
export async function findTrust({ cwd, env }: Place): Promise<ProjectTrust> {
  const stateFolder = userFolderIfAny("state", env);
  if (stateFolder === undefined) {
    return { root: cwd, state: "unknown", present: [], problem: undefined, files: [], changes: [], heldRules: [] };
  }
  const { trustOf } = await import("../config/trust.ts");
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
  const [{ loadAgentFiles }, { checkPattern }] = await Promise.all([
    import("../config/agent-load.ts"),
    import("../rights/rule-pattern.ts"),
  ]);
  return loadAgentFiles({
    userFolders: userFolderIfAny("config", place.env) === undefined ? [] : [userAgents(place)],
    projectFiles: trust.files,
    checkRule: checkPattern,
  });
}

export function userAgents({ env }: Pick<Place, "env">): string {
  return join(userFolder("config", env), "agents");
}

/** One file that a person has named, whatever is trusted. Throws a `CommandError` when it cannot be read. */
export async function readNamedFile(given: string, { cwd }: Pick<Place, "cwd">): Promise<ReadAgent> {
  const [{ dialectOf }, { readAgentFile }, { MAX_AGENT_BYTES, readSmallFile }, { checkPattern }] = await Promise.all([
    import("../config/agent-load.ts"),
    import("../config/agent-read.ts"),
    import("../config/read-file.ts"),
    import("../rights/rule-pattern.ts"),
  ]);
  const path = resolve(cwd, given);
  const read = await readSmallFile(path, MAX_AGENT_BYTES);
  if ("trouble" in read) throw new CommandError(`${inertLine(given)} cannot be read: it is ${TROUBLES[read.trouble]}`);
  const file = relative(cwd, path);
  const shown = file.startsWith("..") ? path : file;
  return readAgentFile({
    file: shown,
    text: read.bytes,
    dialect: dialectOf(dirname(path)),
    scope: "project",
    checkRule: checkPattern,
  });
}

const TROUBLES = {
  missing: "not there",
  "not-a-file": "not a file",
  "too-large": "larger than 128 KB",
  unreadable: "not readable",
} as const;

/** Among the tools of the command line. */
export async function rightsOf(file: AgentFile): Promise<EffectiveRights> {
  const [{ toEffectiveRights }, { OUR_TOOLS }] = await Promise.all([
    import("../config/agent-rights.ts"),
    import("../config/agent-tools.ts"),
  ]);
  return toEffectiveRights(file, OUR_TOOLS);
}

/** Throws a `CommandError` for a name that no agent can have. */
export async function newAgentText(name: string): Promise<string> {
  const [{ agentTemplate }, { readAgentFile }] = await Promise.all([
    import("../config/agent-template.ts"),
    import("../config/agent-read.ts"),
  ]);
  const text = agentTemplate(JSON.stringify(name));
  const { problems } = readAgentFile({ file: `${name}.md`, text, dialect: "sous", scope: "user" });
  const [problem] = problems;
  if (problem !== undefined) throw new CommandError(problem.message);
  return agentTemplate(name);
}

export async function findProject(cwd: string): Promise<string> {
  const { projectRoot } = await import("../config/trust-root.ts");
  return projectRoot(cwd);
}

/** Reads everything that would be trusted. Only for `sous trust` itself. */
export async function reviewTrust(root: string): Promise<{ snapshot: ProjectSnapshot; review: ProjectReview }> {
  const [{ readProject }, { reviewProject }] = await Promise.all([
    import("../config/trust-files.ts"),
    import("../config/trust-review.ts"),
  ]);
  const snapshot = await readProject(root);
  return { snapshot, review: reviewProject(snapshot) };
}

export async function giveTrust(root: string, snapshot: ProjectSnapshot, { env }: Pick<Place, "env">): Promise<void> {
  const { trust } = await import("../config/trust.ts");
  await trust(root, snapshot, { stateFolder: userFolder("state", env), at: new Date() });
}

/** For the tools that write. Rules let a guarded file be written only when a person has said yes to it. */
export function writeInProject({ cwd, env }: Place, guards: GuardPlaces): AroundWrite | undefined {
  const stateFolder = userFolderIfAny("state", env);
  if (stateFolder === undefined) return undefined;
  return async (file, content, write) => {
    const { guardOfFile } = await import("../rights/guarded-writes.ts");
    if (guardOfFile(file, guards) === undefined) return write();
    const { writeTrusted } = await import("../config/trust.ts");
    return writeTrusted({ cwd, stateFolder }, { file, content }, write);
  };
}

/** False when it was not trusted. */
export async function takeTrust({ cwd, env }: Place): Promise<boolean> {
  const { revoke } = await import("../config/trust.ts");
  return revoke({ cwd, stateFolder: userFolder("state", env) });
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

/** What the root has and may pass on, and what agents are told besides their instructions. */
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
export async function withAgentRules(
  policy: Policy,
  files: readonly AgentFile[],
  { allowsAll, ...reading }: Pick<PolicyOptions, "home" | "variables"> & { allowsAll: boolean },
): Promise<Policy> {
  const { createPolicy } = await import("../rights/policy.ts");
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
