/** The agents of a stored run, from what its start says: what cannot be stored must be among what the command line has. */

import type { AgentDefinition } from "../../../core/agent.ts";
import type { Clock } from "../../../core/clock.ts";
import { readMcpName } from "../../../core/mcp-names.ts";
import { EXTERNAL_PROVIDER, providerOf, whyNotNamed } from "../../../core/model.ts";
import { mayUse } from "../../../core/rights.ts";
import type { RunStart } from "../../../core/run-start.ts";
import type { Store } from "../../../core/store.ts";
import type { Tool } from "../../../core/tool.ts";
import type { EarlierTree } from "../../../runtime/tree/restore/earlier-tree.ts";
import type { ReadingRuntime } from "../../../runtime.ts";
import { DEMO_MODEL } from "../commands/demo-script.ts";
import { CommandError, EXIT } from "../exit-codes.ts";
import { flagSettings } from "../table/run-flags.ts";
import { tell } from "../terminal/output.ts";
import { inertLine } from "../terminal/text.ts";
import { type Application, openApplication } from "./open.ts";
import { Opened } from "./opened.ts";
import { readConfiguration } from "./project.ts";
import type { ApplicationRequest } from "./settings.ts";

type StoredTree = { readonly start: RunStart; readonly earlier: EarlierTree; readonly store: Store };

export type StoredAssembly = AsyncDisposable & {
  clock: Clock;
  runtime: ReadingRuntime;
  agent: AgentDefinition;
  /** `agent.subagent.telemetry_enabled`. */
  isLogged: boolean;
};

type ResumeRequest = Pick<ApplicationRequest, "flags" | "cwd" | "env" | "optionFiles" | "signal"> &
  Partial<Pick<ApplicationRequest, "ask">>;

/** Throws a `CommandError` when the run had tools or agents that only a program can have. */
export async function assembleStored(
  stored: StoredTree,
  { flags, cwd, env, optionFiles, signal, ask }: ResumeRequest,
): Promise<StoredAssembly> {
  const { start, earlier, store } = stored;
  if (start.model === DEMO_MODEL) {
    checkAgents(earlier, []);
    const { assembleDemo } = await import("../commands/demo.ts");
    const demo = assembleDemo(cwd, { store, requireStore: flags.storage.isRequired });
    return { ...demo, isLogged: true, [Symbol.asyncDispose]: async () => {} };
  }
  await checkStoredModel(start.model, { flags, cwd, env });
  // The run names its model, so none has to be chosen.
  const settings = [...flagSettings({ model: start.model }), ...flags.settings];
  const known = { ...flags, model: flags.model ?? start.model, settings };
  await using opened = new Opened();
  const request = { flags: known, rootName: start.agent, cwd, env, ask, store, optionFiles, signal, warn: tell };
  const places = earlier.placed.ids.length > 0 ? ("children" as const) : undefined;
  const application = opened.use(await openApplication({ ...request, places }));
  checkAgents(earlier, application.agents);
  const { clock, runtime, configuration } = application;
  const agent = await rootOf(start, application);
  const isLogged = configuration.agent.subagent.telemetryEnabled;
  return opened.moveTo({ clock, runtime, agent, isLogged });
}

/**
 * A database may come from an untrusted source. The model that it names decides which server gets the conversation and which
 * key pays, so it must be one that a call could name: of the provider that the user has chosen, or listed in `models.allow`.
 */
async function checkStoredModel(model: string, { flags, cwd, env }: ResumeRequest): Promise<void> {
  const { configuration } = await readConfiguration({ flags, cwd, env, project: undefined });
  const { model: own, models, provider } = configuration;
  if (own === model) return;
  const hasSettings = [provider.baseUrl, provider.apiKeyEnv, provider.apiKeyCommand].some((each) => each !== undefined);
  if (own === undefined && !hasSettings) return;
  const why = whyNotNamed(model, own && providerOf(own), models.allow);
  if (why === undefined) return;
  const shown = inertLine(model, 80);
  throw new CommandError(
    `This run was on ${shown}, which is not of the provider in your settings: set SOUS_MODEL=${shown} to use it, or list it in models.allow`,
    EXIT.configuration,
  );
}

/** A definition cannot be stored, and a child that was made up by a call needs none. */
function checkAgents({ runs }: EarlierTree, agents: readonly AgentDefinition[]): void {
  const names = new Set<string>();
  for (const { state } of runs) if (state.start.depth > 0) names.add(state.start.agent);
  // One that subagent_delegate started is not from a file: its session says which agent it is.
  for (const known of ["subagent", EXTERNAL_PROVIDER, ...agents.map(({ name }) => name)]) names.delete(known);
  if (names.size > 0) throw notHere([...names]);
}

function notHere(names: readonly string[]): CommandError {
  const shown = listed(names);
  return new CommandError(
    `This run had agents that are not here now: ${shown}. Put back the file of each (sous agents list shows those there are), or continue the run in code: resume(runId, { store, agent, agents }) of the library takes their definitions.`,
  );
}

async function rootOf(start: RunStart, { agent: root, tools: all, agents }: Application): Promise<AgentDefinition> {
  const { agent: name, nickname, instructions, notes, model, maxTurns, timeoutMs } = start;
  const had = { nickname, instructions, notes, model, maxTurns, timeoutMs };
  const tools = Array.isArray(root.tools) ? (root.tools as readonly Tool[]) : [];
  checkTools(start, all);
  const known = name === root.name ? root : agents.find((each) => each.name === name);
  if (known !== undefined) return known.with({ ...had, ...withinRights(known, tools, start.rights) });
  // The command line gives every root notes. This one was of a file, whose rules are not stored.
  if (notes !== undefined) throw notHere([name]);
  const { agent } = await import("../../../core/agent.ts");
  const names = new Set([...start.rights.use, ...start.rights.delegate]);
  const delegate = start.rights.spawn && root.delegate;
  return agent({ name, ...had, tools: tools.filter((each) => names.has(each.name)), delegate, deny: root.deny });
}

/** Limits tools and rights to what the run had, both when it is continued and in a copy. */
function withinRights(
  { tools, deny = [], delegate }: AgentDefinition,
  all: readonly Tool[],
  had: RunStart["rights"],
): Pick<AgentDefinition, "tools" | "deny" | "delegate"> {
  const rights = { ...had, use: new Set(had.use), delegate: new Set(had.delegate), deny: new Set(had.deny) };
  const own = Array.isArray(tools) ? (tools as readonly Tool[]) : all;
  return {
    tools: own.filter((each) => mayUse(each, rights)),
    deny: [...new Set([...deny, ...had.deny])],
    delegate: had.spawn ? delegate : false,
  };
}

function checkTools({ rights }: RunStart, tools: readonly Tool[]): void {
  const missing = new Set([...rights.use, ...rights.delegate]);
  for (const { name } of tools) missing.delete(name);
  const served = [...missing].filter((name) => readMcpName(name) !== undefined);
  for (const name of served) missing.delete(name);
  // A server may be down for a while, and the model can do without.
  if (served.length > 0)
    tell(`warning: this run had tools that no MCP server offers now, so it continues without them: ${listed(served)}`);
  if (missing.size === 0) return;
  const shown = listed([...missing]);
  throw new CommandError(
    `This run had tools that the command line does not have: ${shown}. Continue it in code: resume(runId, { store, agent }) of the library takes their definitions.`,
  );
}

function listed(names: readonly string[]): string {
  return inertLine(names.join(", "), 1000);
}
