/** From flags and configuration to the runtime that `sous run` and `sous chat` use. Everything is loaded late. */

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { ModelChoice } from "../core/agent.ts";
import type { Configuration } from "../core/configuration.ts";
import { DEFAULT_CONVERSATION } from "../core/conversation.ts";
import { MissingKey, messageOf } from "../core/errors.ts";
import type { Budget } from "../core/limits.ts";
import type { Model } from "../core/model.ts";
import type { Application, ApplicationRequest } from "./application.ts";
import { CommandError, usageError } from "./exit-codes.ts";
import { openForRun } from "./keep-runs.ts";
import type { RunLimits } from "./run-flags.ts";

/** Where the answers of a model come from a file: `script/answers.json`. */
const SCRIPT = "script/";

export async function openApplication(request: ApplicationRequest): Promise<Application> {
  const { flags, cwd, env, ask } = request;
  const [{ agent }, { systemHost }, { runtimeOn }, { readOnlyTools }] = await Promise.all([
    import("../core/agent.ts"),
    import("../host.ts"),
    import("../runtime.ts"),
    import("../tools/read-only.ts"),
  ]);
  const configuration = withFlags(DEFAULTS, flags.model ?? (env.SOUS_MODEL || undefined));
  const { model } = configuration;
  if (model === undefined) {
    throw new MissingKey("No model is chosen: give --model provider/model, or set SOUS_MODEL");
  }
  const store = await openForRun(flags.keep);
  const host = systemHost({ cwd, environment: env });
  const models = await modelSource(request, configuration);
  const tools = chosen(readOnlyTools({ root: cwd }), flags.rights);
  const root = agent({
    name: "sous",
    instructions: "You are sous.",
    model,
    tools,
    delegate: true,
    maxTurns: flags.limits.maxTurns ?? configuration.agent.maxTurns,
    deny: flags.rights.denyTools,
  });
  const runtime = runtimeOn(models, {
    host,
    ...(store === undefined ? {} : { store }),
    requireStore: flags.keep.isRequired,
    approve: ask,
    maxConcurrentCalls: configuration.provider.maxConcurrentCalls,
  });
  return {
    configuration,
    runtime,
    clock: host.clock,
    agent: root,
    agents: [],
    runOptions: { budget: budgetOf(flags.limits), limits: limitsOf(configuration, flags.limits) },
    store,
    remember: () => {},
    async [Symbol.asyncDispose]() {
      if (store !== undefined && Symbol.asyncDispose in store) await (store as AsyncDisposable)[Symbol.asyncDispose]();
    },
  };
}

function withFlags(configuration: Configuration, model: string | undefined): Configuration {
  return { ...configuration, model: model ?? configuration.model };
}

function chosen<T extends { name: string }>(
  tools: readonly T[],
  { tools: only, denyTools }: ApplicationRequest["flags"]["rights"],
): T[] {
  const names = new Set(tools.map(({ name }) => name));
  const unknown = [...(only ?? []), ...denyTools].find((name) => !names.has(name));
  if (unknown !== undefined) throw usageError(`There is no tool ${unknown}; there are ${[...names].join(", ")}`);
  return tools.filter(({ name }) => only === undefined || only.includes(name));
}

function budgetOf({ tokens, costUsd, seconds, maxAgents: executions }: RunLimits): Budget {
  return { tokens, costUsd, seconds, executions };
}

function limitsOf({ agent: { subagent } }: Configuration, flags: RunLimits) {
  return {
    maxDepth: flags.maxDepth ?? subagent.maxDepth,
    defaultMaxTurns: subagent.defaultMaxTurns,
    outputMaxSize: subagent.outputMaxSize,
    maxConcurrent: flags.maxConcurrent ?? subagent.maxConcurrent,
    onFull: subagent.onFull,
    summary: subagent.summary,
    children: {
      executions: subagent.maxExecutions,
      tokens: subagent.maxTotalTokens,
      seconds: subagent.maxTotalTime,
      costUsd: subagent.maxTotalCost,
    },
  };
}

type ModelSource = (choice: ModelChoice) => Model | Promise<Model>;

async function modelSource({ cwd, env }: ApplicationRequest, { provider, model }: Configuration): Promise<ModelSource> {
  const [{ modelCache }, { scriptedModel }, { parseScript }] = await Promise.all([
    import("../model/cache.ts"),
    import("../testing/scripted-model.ts"),
    import("../testing/script-file.ts"),
  ]);
  const known = modelCache(env);
  const scripted = new Map<string, Promise<Model>>();
  const readScript = async (choice: string): Promise<Model> => {
    const file = resolve(cwd, choice.slice(SCRIPT.length));
    const text = await readFile(file, "utf8").catch((error: unknown) => {
      throw new CommandError(`The script of the model cannot be read: ${messageOf(error)}`);
    });
    return scriptedModel(parseScript(text, file), { id: choice, price: { input: 0, output: 0 } });
  };
  return (choice) => {
    if (typeof choice !== "string" || !choice.startsWith(SCRIPT)) return known(choice);
    const found = scripted.get(choice) ?? readScript(choice);
    scripted.set(choice, found);
    return found;
  };
}

const DEFAULTS: Configuration = {
  model: undefined,
  provider: {
    baseUrl: undefined,
    apiKeyEnv: undefined,
    apiKeyCommand: undefined,
    timeoutMs: 120_000,
    maxRetries: 4,
    maxConcurrentCalls: 16,
  },
  agent: {
    maxTurns: 50,
    conversation: DEFAULT_CONVERSATION,
    subagent: {
      maxDepth: 3,
      defaultMaxTurns: 10,
      outputMaxSize: 4096,
      telemetryEnabled: true,
      persistenceEnabled: true,
      persistencePath: undefined,
      maxExecutions: undefined,
      maxTotalTokens: undefined,
      maxTotalTime: undefined,
      maxTotalCost: undefined,
      maxConcurrent: 5,
      onFull: "queue",
      summary: "auto",
    },
  },
  tools: { terminal: { timeoutMs: 120_000 }, fetch: { allowHosts: [] } },
  permissions: [],
};
