/** From flags, configuration and files to the runtime that `sous run` and `sous chat` use. Everything is loaded late. */

import { isAbsolute, relative } from "node:path";
import type { AgentFile } from "../../config/agents/file.ts";
import type { ProjectTrust } from "../../config/trust/trust.ts";
import type { Configuration, PermissionRule } from "../../core/configuration.ts";
import { UnpricedModel } from "../../core/errors.ts";
import type { GuardPlaces } from "../../core/guarded-files.ts";
import type { Budget, DelegationLimits } from "../../core/limits.ts";
import type { Programs } from "../../core/process.ts";
import type { RuntimeOptions } from "../../core/runtime.ts";
import type { Tool } from "../../core/tool.ts";
import { createPolicy, type Policy, type PolicyOptions } from "../../rights/policy.ts";
import { checkPattern } from "../../rights/rule-pattern.ts";
import type { BackgroundCommands } from "../../tools/terminal-background.ts";
import { CommandError, EXIT, usageError } from "../exit-codes.ts";
import { alsoHide, withoutValuesIn } from "../files/without-secrets.ts";
import { keepOf, openForRun } from "../stored/database.ts";
import type { RunFlags } from "../table/run-flags.ts";
import { inertLine } from "../terminal/inert.ts";
import { findTrust, lineOf, loadAgents, onProviderOf, trustWarning, withAgentRules, writeInProject } from "./agents.ts";
import type { Application, ApplicationRequest } from "./application.ts";
import { readConfiguration } from "./configuration.ts";
import { guardPlaces } from "./guards.ts";
import { modelSource } from "./models.ts";
import { openProjectPrograms } from "./programs.ts";
import { ROOT_NAME, readNotes, rootAndAgents } from "./root.ts";

export async function openApplication(given: ApplicationRequest): Promise<Application> {
  const request = { ...given, warn: (line: string) => given.warn(`warning: ${line}`) };
  const { flags, cwd, env, ask } = request;
  const trust = flags.isBare ? undefined : await knownTrust(request);
  const project = trust?.state === "trusted" ? trust : undefined;
  const { configuration, warnings } = await readConfiguration({ flags, cwd, env, project });
  for (const warning of warnings) request.warn(inertLine(warning, 1000));
  const keep = keepOf(flags.keep, configuration);
  await using opened = new AsyncDisposableStack();
  const store = request.store ?? opened.use(await openForRun(keep));
  const programs = await openProjectPrograms(request, project, opened);
  const guards = await guardPlaces(guardRequest(request, configuration), configuration, trust);
  const files = onProviderOf(await agentFiles(request, project), configuration, request.warn);
  const policy = policyFor(request, configuration, { heldRules: trust?.heldRules ?? [], guards, agents: files });
  const commands = await openCommands(programs, env);
  const tools = await toolsOf(request, configuration, { programs, guards, commands });
  const { allowsAll } = flags.rights;
  const rules = withAgentRules(policy, files, { allowsAll, ...commandReading(request, configuration, guards) });
  const [{ createConsent }, { systemHost }, { runtimeOn }, models] = await Promise.all([
    import("../../rights/policy.ts"),
    import("../../host.ts"),
    import("../../runtime.ts"),
    modelSource({ cwd, env, programs }, configuration),
  ]);
  alsoHide(models.secrets);
  const host = systemHost({ cwd, environment: { ...env, ...models.secrets } });
  const notes = await readNotes({ cwd, now: host.clock.now(), programs, project, warn: request.warn });
  const { root, agents } = await rootAndAgents({ configuration, tools, files, rights: flags.rights, notes });
  const options: RuntimeOptions = {
    host,
    agents,
    store,
    requireStore: keep.isRequired,
    approve: createConsent(rules, ask),
    maxConcurrentCalls: configuration.provider.maxConcurrentCalls,
    models: { allow: configuration.models.allow, prices: configuration.prices },
  };
  const lives = opened.move();
  return {
    configuration,
    runtime: runtimeOn(models.resolve, options),
    clock: host.clock,
    agent: root,
    tools,
    agents,
    runOptions: {
      budget: budgetOf(configuration),
      limits: limitsOf(configuration),
      conversation: configuration.agent.conversation,
    },
    store,
    programs,
    commands,
    async checkModel(name) {
      const { priceFor } = await import("../../budget/prices.ts");
      const isPriced = priceFor(await models.resolve(name), configuration.prices) !== undefined;
      if (configuration.agent.budget !== undefined && !isPriced) throw new UnpricedModel(name);
    },
    // A person sees all that would run, but for known values. What they do not see they cannot allow for always.
    describe: (action, columns) => {
      const input = withoutValuesIn(action.input);
      const shown = policy.describe({ ...action, input }, columns);
      return input === action.input ? shown : { ...shown, rule: undefined };
    },
    remember: (rule, asked) => rules.remember(rule, lineOf(asked)),
    ruleOn: (toolName) => rules.decide({ ...AS_ROOT, toolName, input: {}, cwd })?.effect,
    [Symbol.asyncDispose]: () => lives.disposeAsync(),
  };
}

/** A call of the root that has not been made. */
const AS_ROOT = { runId: "", path: ROOT_NAME, agent: ROOT_NAME, above: [], callId: "" };

/** Warns when nothing of the project is read. Without a person to ask, lost trust ends the command. */
async function knownTrust({ cwd, env, ask, warn }: ApplicationRequest): Promise<ProjectTrust> {
  const trust = await findTrust({ cwd, env });
  const warning = trustWarning(trust);
  const isLost = trust.state === "changed" || trust.problem !== undefined;
  if (isLost && ask === undefined)
    throw new CommandError(
      inertLine(`${warning}. No one can be asked: run sous trust, or use --bare to run without the project`, 2000),
      EXIT.configuration,
    );
  if (warning !== undefined) warn(inertLine(warning, 1000));
  return trust;
}

function guardRequest({ cwd, env, flags, optionFiles = [] }: ApplicationRequest, configuration: Configuration) {
  return { cwd, env, configFile: flags.configFile, dbPath: keepOf(flags.keep, configuration).dbPath, optionFiles };
}

/** The rules of a project whose trust was lost, the files that are guarded, and the agents that were read. */
type Bounds = {
  heldRules: readonly PermissionRule[];
  guards: GuardPlaces;
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
 * for itself. A rule that asks or denies goes before.
 */
function callRule({ name, file }: Bounds["agents"][number]): PermissionRule {
  return { effect: "allow", pattern: `subagent(${name})`, origin: `default for the agent ${file}` };
}

/** What commands of the terminal mean here. */
function commandReading(
  { env }: Pick<ApplicationRequest, "env">,
  { tools }: Configuration,
  guards: GuardPlaces,
): Pick<PolicyOptions, "home" | "variables"> {
  return { home: knownHome(env.HOME, guards), variables: tools.terminal.inertVariables };
}

/** Programs get another home folder when it lies in the project; then ~ is not known. */
function knownHome(home: string | undefined, { top }: GuardPlaces): string | undefined {
  if (home === undefined || !isAbsolute(home)) return undefined;
  const way = relative(top, home);
  return way.startsWith("..") || isAbsolute(way) ? home : undefined;
}

type PolicyRequest = Pick<ApplicationRequest, "env"> & { readonly flags: Pick<RunFlags, "rights"> };

async function toolsOf(
  { cwd, env, flags }: ApplicationRequest,
  configuration: Configuration,
  { programs, guards, commands }: { programs: Programs; guards: GuardPlaces; commands: BackgroundCommands },
): Promise<Tool[]> {
  const { builtInTools } = await import("../../tools/built-in.ts");
  const aroundWrite = flags.isBare ? undefined : writeInProject({ cwd, env }, guards);
  const { terminal, fetch } = configuration.tools;
  return builtInTools({
    root: cwd,
    programs,
    writes: { guards, aroundWrite },
    terminalTimeoutMs: terminal.timeoutMs,
    environment: env,
    allowHosts: fetch.allowHosts,
    background: commands,
  });
}

async function openCommands(programs: Programs, env: ApplicationRequest["env"]): Promise<BackgroundCommands> {
  const [{ BackgroundCommands }, { createRedactor }, { secretsOf }] = await Promise.all([
    import("../../tools/terminal-background.ts"),
    import("../../secrets/redact.ts"),
    import("../../secrets/variables.ts"),
  ]);
  return new BackgroundCommands(programs, createRedactor(secretsOf(env)));
}

async function agentFiles(request: ApplicationRequest, project: ProjectTrust | undefined) {
  const { agents, problems } = await loadAgents(request, project ?? { files: [] });
  for (const { code, file, line, message } of problems)
    request.warn(`${inertLine(file)}:${line}: ${code}: ${inertLine(message, 300)}`);
  return agents;
}

/** These count the root, too. */
function budgetOf({ agent: { maxTokensTotal, budget, timeout } }: Configuration): Budget {
  return { tokens: maxTokensTotal, costUsd: budget, seconds: timeout };
}

function limitsOf({ agent: { subagent } }: Configuration): DelegationLimits {
  const { maxDepth, defaultMaxTurns, outputMaxSize, maxConcurrent, onFull, summary } = subagent;
  const { maxExecutions: executions, maxTotalTokens: tokens, maxTotalTime: seconds, maxTotalCost: costUsd } = subagent;
  return {
    maxDepth,
    defaultMaxTurns,
    outputMaxSize,
    maxConcurrent,
    onFull,
    summary,
    children: { executions, tokens, seconds, costUsd },
  };
}
