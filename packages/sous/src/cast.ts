/** Who plays in a rerun: the definitions, given or rebuilt, and the models that give their recorded answers. */

import { priceOf } from "./budget/prices.ts";
import type { AgentDefinition, ModelChoice } from "./core/agent.ts";
import { UserError } from "./core/errors.ts";
import { DEFAULT_LIMITS } from "./core/limits.ts";
import { textOf } from "./core/message.ts";
import type { Model } from "./core/model.ts";
import type { Recording, RunRecording } from "./core/recording.ts";
import type { SpawnRequest } from "./core/spawn.ts";
import { type Tool, tool } from "./core/tool.ts";
import { fromAiSdk, isForeignModel } from "./model/ai-sdk.ts";
import { Profiles } from "./profiles.ts";
import { recordedPrice, recordedWindow } from "./replay/model-facts.ts";
import { padAgent } from "./replay/pad-agents.ts";
import type { Playback } from "./replay/playback.ts";
import { type RebuiltAgents, rebuildAgents } from "./replay/rebuild-agents.ts";
import { isFanOut } from "./replay/recorded-fan-out.ts";
import { recordedModel } from "./replay/recorded-model.ts";
import { stubAgents } from "./replay/stub-agents.ts";
import { liveTool, recordedSchema, type SpawnAgain, stubTool } from "./replay/stub-tool.ts";
import type { RerunOptions } from "./rerun.ts";
import { namedAgentTool } from "./subagents/named-agent.ts";

export type Cast = {
  /** The root; for a fan-out the agent that all its children are. */
  readonly root: AgentDefinition;
  /** Those that calls may name. */
  readonly agents: readonly AgentDefinition[];
  models(choice: ModelChoice): Model;
};

export async function castFor(playback: Playback, options: RerunOptions): Promise<Cast> {
  const { recording } = playback;
  const root = recording.runs.get(recording.rootId);
  if (root === undefined) throw new UserError("The recording has no root");
  const rebuilt = rebuild(playback, options);
  // A fan-out asks no model itself.
  const first = isFanOut(root) ? root.children[0] : root;
  const models = modelsOf(playback);
  if (options.agents === undefined) {
    const leader = first === root || first === undefined ? rebuilt.root : rebuilt.define(first);
    const profiles = profilesFor(root, models, rebuilt.agents);
    const bytesOf = async (definition: AgentDefinition) => (await profiles.root(definition)).tools.bytes;
    const padded = options.liveTools === true ? leader : await padAgent(leader, { runsOf: rebuilt.runsOf, bytesOf });
    return { root: padded, agents: rebuilt.agents, models };
  }
  const stub = stubAgents({
    playback,
    isLive: options.liveTools === true,
    spawnAgain: spawnAgain(playback, rebuilt),
    namedTool: (definition, tier) => namedAgentTool(definition, { tier }),
  });
  const leader = findAgent(options.agents, (first ?? root).start.agent);
  const others = options.agents.filter((each) => each !== leader);
  return { root: stub(leader), agents: others.map(stub), models };
}

/** Only to measure definitions: what a rerun runs it builds for itself. */
function profilesFor(
  { start }: RunRecording,
  resolveModel: Cast["models"],
  agents: readonly AgentDefinition[],
): Profiles {
  const limits = start.terms?.limits ?? DEFAULT_LIMITS;
  const unknown = () => undefined;
  return new Profiles({
    resolveModel,
    priceOf: unknown,
    windowOf: unknown,
    allowedModels: [],
    limits,
    agents,
    now: () => 0,
  });
}

function findAgent(agents: readonly AgentDefinition[], name: string): AgentDefinition {
  const found = agents.find((each) => each.name === name);
  if (found !== undefined) return found;
  const known = agents.map((each) => each.name).join(", ");
  throw new UserError(
    `The recorded agent ${name} is not among those given: ${known === "" ? "there are none" : known}`,
  );
}

function rebuild(playback: Playback, { agents, liveTools = false, tools = [] }: RerunOptions): RebuiltAgents {
  const again: SpawnAgain = (...given) => spawnAgain(playback, rebuilt)(...given);
  const { recording } = playback;
  const rebuilt: RebuiltAgents = rebuildAgents(recording, {
    namedTool: (definition, tier) => namedAgentTool(definition, { tier }),
    makeTool(name) {
      if (liveTools && agents === undefined) return liveTool(findTool(tools, name), playback);
      const tier = wasAsked(recording, name) ? "confirm" : "observe";
      const inputSchema = recordedSchema(recording, name);
      const source = tool({ name, description: "", tier, effect: "read", inputSchema, execute: () => "" });
      return stubTool(source as Tool, playback, again);
    },
  });
  return rebuilt;
}

function wasAsked({ runs }: Recording, name: string): boolean {
  return [...runs.values()].some(({ asked, calls }) =>
    [...asked].some((callId) => calls.get(callId)?.toolName === name),
  );
}

function findTool(tools: readonly Tool[], name: string): Tool {
  const found = tools.find((each) => each.name === name);
  if (found === undefined)
    throw new UserError(`To run its tools again the rerun needs the tool ${name}: give it in tools`);
  return found;
}

/** A tool of a user may have started children; its stub starts them again, when it did. */
function spawnAgain(playback: Playback, { define }: RebuiltAgents): SpawnAgain {
  return async (children, context, doneAt) => {
    const awaited: Promise<unknown>[] = [];
    for (const child of children) {
      const { start, runId, end } = child;
      if (!playback.startedAtOnce(child)) await playback.conductor.turn(start, context.signal);
      const spawned =
        start.agentId === runId
          ? context.spawn(requestFor(child, define))
          : context.children.send(playback.ids.toActual(start.agentId), textOf(start.task));
      // A tool may leave its child behind.
      if (end !== undefined && end.seq < doneAt) awaited.push(spawned);
      else spawned.catch(ignore);
    }
    await Promise.all(awaited);
  };
}

function requestFor(child: RunRecording, define: RebuiltAgents["define"]): SpawnRequest {
  const { label, task, call, agent, rights, maxTurns, timeoutMs, summaryPrompt, instructions } = child.start;
  const isMadeUp = agent === "subagent";
  return {
    label,
    task: textOf(task),
    index: call?.index,
    agent: isMadeUp ? undefined : define(child),
    options: {
      maxTurns,
      timeoutMs,
      summaryPrompt,
      background: call?.background,
      systemPrompt: isMadeUp ? instructions : undefined,
      allowedTools: isMadeUp && !rights.spawn ? rights.use : undefined,
    },
  };
}

/** One model for each name: it is never asked for more than its id, its price and its recorded answers. */
function modelsOf(playback: Playback): Cast["models"] {
  const { recording } = playback;
  const known = new Map<string, Model>();
  return (choice) => {
    const given = typeof choice === "string" ? undefined : isForeignModel(choice) ? fromAiSdk(choice) : choice;
    const id = given?.id ?? String(choice);
    const earlier = known.get(id);
    if (earlier !== undefined) return earlier;
    const price = recordedPrice(recording, id, given?.price ?? priceOf(id)?.price);
    const contextWindow = given?.contextWindow ?? recordedWindow(recording, id);
    const model = recordedModel({ id, price, contextWindow }, playback);
    known.set(id, model);
    return model;
  };
}

function ignore(): void {}
