/** The profiles of a rerun: what `run-start` says of each run, with tools that play back. Nothing is worked out again. */

import { type AgentDefinition, agent, RESERVED_AGENT_NAMES } from "../core/agent.ts";
import { Refused } from "../core/errors.ts";
import { externalModel } from "../core/external-agent.ts";
import type { Model, ToolDefinition } from "../core/model.ts";
import type { RunProfile } from "../core/run.ts";
import type { Schema } from "../core/schema.ts";
import type { SpawnRequest } from "../core/spawn.ts";
import type { Tool } from "../core/tool.ts";
import type { ReadyTool, ShownTool, ToolSet } from "../core/tool-set.ts";
import { fromStored } from "../core/units.ts";
import type { DelegationLimits } from "../core/words/limits.ts";
import { compileSchema } from "../runtime/schema/compile.ts";
import { DelegationTools } from "../runtime/subagents/delegation-tools.ts";
import { namedAgentTool } from "../runtime/subagents/named-agent.ts";
import { allOf, andThen } from "../runtime/tree/at-once.ts";
import type { ProfileSource } from "../runtime/tree/profiles.ts";
import type { Playback } from "../storage/replay/playback.ts";
import { recordedExternalModel, unplayedAgent } from "../storage/replay/recorded-external.ts";
import { playedInput, playedOutput } from "../storage/replay/recorded-model.ts";
import type { RunRecording } from "../storage/replay/recording.ts";

type RecordedProfilesParts = {
  playback: Playback;
  limits: DelegationLimits;
  modelOf(id: string): Model;
  /** The tool in the place of this one: its stub, or a live tool. */
  toolFor(shown: ShownTool): Tool;
};

export class RecordedProfiles implements ProfileSource {
  readonly #parts: RecordedProfilesParts;
  readonly #given: ProfileSource | undefined;
  /** The tools of the runtime itself: they work on the children that a rerun really has. */
  readonly #ofRuntime: ReadonlyMap<string, Tool>;
  readonly #recorded = new WeakSet<RunProfile>();
  readonly #definitions = new Map<string, readonly ToolDefinition[]>();

  /** `given` are the profiles of definitions that were given; without them every profile is the recorded one. */
  constructor(parts: RecordedProfilesParts, given?: ProfileSource) {
    this.#parts = parts;
    this.#given = given;
    const all = { own: [], subagents: [], delegate: true, callable: [], deny: new Set<string>() };
    const { limits, playback } = parts;
    const tools = new DelegationTools(limits, playback.clock.monotonic).offered(all);
    this.#ofRuntime = new Map(tools.map((each) => [each.name, each]));
  }

  async root(definition?: AgentDefinition): Promise<RunProfile> {
    const { playback } = this.#parts;
    if (this.#given !== undefined && definition !== undefined)
      return this.#played(await this.#given.root(definition), playback.root.path);
    return this.#profileOf(playback.upcoming(playback.root.path) ?? playback.root);
  }

  /** A child that was refused by its profile is refused again; one that was refused later is so by what refused it. */
  child(parent: RunProfile, request: SpawnRequest, path: string): RunProfile | Promise<RunProfile> {
    const { playback } = this.#parts;
    if (this.#given !== undefined && !this.#recorded.has(parent) && !playback.respawned.has(request))
      return this.#played(this.#given.child(parent, request, path), path);
    const run = playback.upcoming(path);
    if (run !== undefined) return this.#profileOf(run);
    const refusal = playback.refusalAt(path);
    const asked = refusal?.errorType === "consent" ? playback.askedAbout(refusal) : undefined;
    if (asked !== undefined) {
      const model = externalModel(unplayedAgent(asked));
      return this.#known({ ...parent, depth: parent.depth + 1, model });
    }
    if (refusal !== undefined && refusal.errorType !== "quota" && refusal.errorType !== "cancelled")
      throw new Refused(refusal.errorType, refusal.message);
    return this.#known({ ...parent, depth: parent.depth + 1 });
  }

  revived(earlier: RunProfile, parent: RunProfile, path: string): RunProfile | Promise<RunProfile> {
    if (this.#given !== undefined && !this.#recorded.has(earlier))
      return this.#played(this.#given.revived(earlier, parent, path), path);
    const run = this.#parts.playback.upcoming(path);
    return run === undefined ? earlier : this.#profileOf(run);
  }

  /** An external agent is played also where its definition was given. */
  #played(profile: RunProfile | Promise<RunProfile>, path: string): RunProfile | Promise<RunProfile> {
    const { playback } = this.#parts;
    const run = playback.upcoming(path);
    const model = run && recordedExternalModel(run, playback);
    return model === undefined ? profile : andThen(profile, (own) => ({ ...own, model }));
  }

  #profileOf(run: RunRecording): RunProfile | Promise<RunProfile> {
    return andThen(this.#toolSet(run), (tools) => this.#profileWith(run, tools));
  }

  #profileWith(run: RunRecording, tools: ToolSet): RunProfile {
    const { start } = run;
    const { rights, nickname, instructions, notes, price, contextWindow, depth, maxTurns, timeoutMs } = start;
    const { modelOf, playback } = this.#parts;
    return this.#known({
      ...{ nickname, instructions, notes, price, contextWindow, depth, maxTurns, timeoutMs },
      budget: start.budget && fromStored(start.budget),
      agentName: start.agent,
      model: recordedExternalModel(run, playback) ?? modelOf(start.model),
      provider: undefined,
      tools,
      rights: {
        use: new Set(rights.use),
        delegate: new Set(rights.delegate),
        deny: new Set(rights.deny),
        spawn: rights.spawn,
      },
      storedRights: rights,
      catalog: new Map(),
      subagents: [],
      delegate: false,
      settings: { maxOutputTokens: undefined, outputSchema: undefined },
      output: start.outputSchema && playedOutput(run, start.outputSchema, playback.comparison),
      hooks: undefined,
    });
  }

  #toolSet(run: RunRecording): ToolSet | Promise<ToolSet> {
    const { hash, bytes, isDeepest, withheld = [] } = run.start.tools;
    const shown = this.#parts.playback.toolsOf(run);
    const hidden = [...hiddenAgents(run, shown)].map((name) => this.#hidden(name));
    return andThen(allOf([...shown.map((each) => this.#ready(each, run)), ...hidden]), (ready) => {
      const callable = ready.filter(({ tool }, index) => index >= shown.length || !withheld.includes(tool.name));
      const definitions = this.#definitionsOf(hash, ready.slice(0, shown.length));
      return { byName: new Map(callable.map((each) => [each.tool.name, each])), definitions, bytes, isDeepest };
    });
  }

  /** The same array for the same set, as a fork has that of its parent. */
  #definitionsOf(hash: string, tools: readonly ReadyTool[]): readonly ToolDefinition[] {
    const known = this.#definitions.get(hash) ?? tools.map(({ definition }) => definition);
    this.#definitions.set(hash, known);
    return known;
  }

  #hidden(agentName: string): ReadyTool | Promise<ReadyTool> {
    const tool = namedAgentTool(agent({ name: agentName }), { tier: "observe" });
    return andThen(compileSchema(tool.inputSchema), (schema) => ({
      tool,
      schema,
      definition: { name: tool.name, description: "", inputSchema: schema.jsonSchema },
    }));
  }

  #ready(shown: ShownTool, run: RunRecording): ReadyTool | Promise<ReadyTool> {
    const { name, description, inputSchema, provider: id } = shown;
    const provider = id === undefined ? undefined : { id, args: {}, runsThere: true };
    const definition = { name, description, inputSchema, ...(provider !== undefined && { provider }) };
    const ours = this.#toolForChildren(shown);
    const tool = { ...(ours ?? this.#parts.toolFor(shown)), tier: shown.tier };
    const isOurs = ours !== undefined || tool.inputSchema !== inputSchema;
    const played = playedInput(run, shown);
    if (!isOurs) return { tool, definition, schema: played };
    return andThen(compileSchema(tool.inputSchema), (schema) => ({
      tool,
      definition,
      schema: namesOnly(shown) ? inTurn(played, schema) : schema,
    }));
  }

  #toolForChildren({ name, category, agent: agentName, tier }: ShownTool): Tool | undefined {
    if (category !== "subagent") return undefined;
    return agentName === undefined ? this.#ofRuntime.get(name) : namedAgentTool(agent({ name: agentName }), { tier });
  }

  #known(profile: RunProfile): RunProfile {
    this.#recorded.add(profile);
    return profile;
  }
}

/** The tool `subagent` of an agent that may name its own agents only: who these were is not recorded, what it answered is. */
function namesOnly({ name, inputSchema: { required } }: ShownTool): boolean {
  return name === "subagent" && Array.isArray(required) && required.includes("agent");
}

function inTurn(first: Schema, second: Schema): Schema {
  return {
    jsonSchema: first.jsonSchema,
    parse: async (value, scope) => {
      const parsed = await first.parse(value, scope);
      return parsed.ok ? second.parse(parsed.value, scope) : parsed;
    },
  };
}

/** Agents whose own tool was called and not shown, because one tool named them all. */
function hiddenAgents({ calls, results, children }: RunRecording, shown: readonly ShownTool[]): Set<string> {
  const names = new Set<string>();
  for (const { callId, toolName } of calls.values()) {
    const [, name] = /^subagent_([A-Za-z0-9][\w-]{0,47})$/.exec(toolName) ?? [];
    if (name === undefined || RESERVED_AGENT_NAMES.includes(name)) continue;
    if (shown.some((tool) => tool.name === toolName)) continue;
    const answer = results.get(callId)?.output;
    const wasCalled = answer !== undefined && !/^(?:Unknown tool|You may not use|Maximum)/.test(answer);
    if (wasCalled || children.some(({ start }) => start.call?.callId === callId)) names.add(name);
  }
  return names;
}
