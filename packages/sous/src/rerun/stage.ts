/** The stage of a rerun: agents, tools and models that give back what was recorded, or are live. */

import { type AgentDefinition, agent, type ModelChoice } from "../core/agent.ts";
import type { Host } from "../core/clock.ts";
import { UserError } from "../core/errors.ts";
import type { SousEvent, StoredEvent } from "../core/event.ts";
import { externalModel } from "../core/external-agent.ts";
import type { Budget, Ledger } from "../core/limits.ts";
import type { Model } from "../core/model.ts";
import type { Store } from "../core/store.ts";
import type { Tool } from "../core/tool.ts";
import type { ShownTool } from "../core/tool-set.ts";
import { ulidSource } from "../core/ulid.ts";
import { fromStoredLimits } from "../core/units.ts";
import { DEFAULT_LIMITS } from "../core/words/limits.ts";
import { fromAiSdk, isForeignModel } from "../runtime/model/ai-sdk.ts";
import { namedAgentTool } from "../runtime/subagents/named-agent.ts";
import type { Shared } from "../runtime/tree/open.ts";
import type { Playback } from "../storage/replay/playback.ts";
import { recordedExternalAgents, unplayedAgent } from "../storage/replay/recorded-external.ts";
import { recordedLedger } from "../storage/replay/recorded-ledger.ts";
import { recordedApprovals, recordedModel } from "../storage/replay/recorded-model.ts";
import type { RunRecording } from "../storage/replay/recording.ts";
import { liveTool, stubAgents, stubTool } from "../storage/replay/stub-tool.ts";
import { openMemoryStore } from "../storage/store/memory.ts";
import { RecordedProfiles } from "./recorded-profiles.ts";

/** The options of a rerun. */
export type RerunOptions = {
  store: Pick<Store, "read" | "run">;
  signal?: AbortSignal | undefined;
  /** The real definitions: the root, found by its name, and those that calls may name. Unset: made from the recording. */
  agents?: readonly AgentDefinition[] | undefined;
  /** Runs the tools again, instead of giving back what they gave then. Approval is as it was. */
  liveTools?: boolean | undefined;
  /** The tools by name, for `liveTools` without `agents`. */
  tools?: readonly Tool[] | undefined;
  /** Sees every event of the rerun; pieces of text are not recorded, and there are none. */
  onEvent?: ((event: StoredEvent) => void) | undefined;
};

export type Stage = {
  readonly playback: Playback;
  readonly stop: AbortController;
  /** The root; for a fan-out the agent of all its children. */
  readonly leader: AgentDefinition;
  readonly parts: Omit<Shared, "runOptions">;
  /** Unset when definitions were given. */
  readonly recorded: RecordedProfiles | undefined;
  onEvent(event: SousEvent): void;
};

export function stageFor(playback: Playback, options: RerunOptions, stop: AbortController, host: Host): Stage {
  const { recording } = playback;
  const models = modelsOf(playback);
  const given = givenAgents(playback, options);
  const { terms } = playback.root.start;
  const limits = terms === undefined ? DEFAULT_LIMITS : fromStoredLimits(terms.limits);
  const profileParts = { playback, limits, modelOf: models, toolFor: toolsOf(playback, options) };
  const recorded = given === undefined ? new RecordedProfiles(profileParts) : undefined;
  return {
    playback,
    stop,
    recorded,
    leader: given?.leader ?? agent({ name: leaderOf(playback).start.agent }),
    parts: {
      options: {
        agents: given?.others ?? [],
        approve: recordedApprovals(playback),
        // A run that waited for its turn to ask waits for its answer instead.
        maxConcurrentCalls: Number.MAX_SAFE_INTEGER,
        // A model that ran then was one that could be named.
        models: {
          allow: [...recording.runs.values()].map(({ start }) => start.model),
          external: recordedExternalAgents(recording),
        },
      },
      host,
      store: openMemoryStore(),
      newId: ulidSource(host.clock.now, host.random),
      models,
      openLedger: ledgerOf(playback),
      profiles: (profiles) => recorded ?? new RecordedProfiles(profileParts, profiles),
    },
    onEvent(event) {
      if (event.seq === undefined) return;
      playback.add(event);
      options.onEvent?.(event);
    },
  };
}

/** The definitions that were given, with tools that play back or are live. */
function givenAgents(playback: Playback, { agents, liveTools }: RerunOptions) {
  if (agents === undefined) return undefined;
  const name = leaderOf(playback).start.agent;
  const leader = agents.find((each) => each.name === name);
  if (leader === undefined) {
    const known = agents.length === 0 ? "there are none" : agents.map((each) => each.name).join(", ");
    throw new UserError(`The recorded agent ${name} is not among those given: ${known}`);
  }
  const stub = stubAgents({
    playback,
    isLive: liveTools === true,
    namedTool: (definition, tier) => namedAgentTool(definition, { tier }),
  });
  return { leader: stub(leader), others: agents.filter((each) => each !== leader).map(stub) };
}

/** A fan-out asks no model itself: its first child says who does. */
function leaderOf({ root }: Playback): RunRecording {
  return root.start.terms?.fanOut === undefined ? root : (root.children[0] ?? root);
}

/** The tool in the place of a recorded one. Throws a `UserError` for a live one that was not given. */
function toolsOf(playback: Playback, { agents, liveTools, tools = [] }: RerunOptions): (shown: ShownTool) => Tool {
  const isLive = liveTools === true && agents === undefined;
  const live = new Map(tools.map((each) => [each.name, each]));
  const missing = [...playback.recording.toolSets.values()]
    .flat()
    .find(({ name, category }) => isLive && category !== "subagent" && !live.has(name));
  if (missing !== undefined)
    throw new UserError(`To run its tools again the rerun needs the tool ${missing.name}: give it in tools`);
  return (shown) => {
    const source = isLive ? live.get(shown.name) : undefined;
    if (source !== undefined) return liveTool(source, playback);
    const { agent: _name, provider: _id, ...facts } = shown;
    return stubTool({ ...facts, execute: () => "" }, playback);
  };
}

/** One model for each name: it is never asked for more than its id, its price and its recorded answers. */
function modelsOf(playback: Playback): (choice: ModelChoice) => Model {
  const known = new Map<string, Model>();
  const runs = [...playback.recording.runs.values()];
  return (choice) => {
    const given = typeof choice === "string" ? undefined : isForeignModel(choice) ? fromAiSdk(choice) : choice;
    // Never the agent itself: its runs are played, and what it may take is as its definition says.
    if (given?.external !== undefined)
      return externalModel(unplayedAgent(given.external.serverName, given.external.timeoutMs));
    const id = given?.id ?? String(choice);
    const start = runs.find((each) => each.start.model === id)?.start;
    const price = start === undefined ? given?.price : start.price;
    const contextWindow =
      start === undefined ? given?.contextWindow : (start.contextWindow ?? Number.POSITIVE_INFINITY);
    const model = known.get(id) ?? recordedModel({ id, price, contextWindow }, playback);
    known.set(id, model);
    return model;
  };
}

/** A ledger that grants and refuses as it was then, from the run with this number on. */
export function ledgerOf({ recording, conductor, comparison }: Playback, from = 0): (budget: Budget) => Ledger {
  const events = recording.events.filter(({ seq }) => seq >= from);
  const progress = {
    hasCome: (event: StoredEvent) => comparison.hasCome(event),
    isNext: (event: StoredEvent) => comparison.isNext(event),
    turn: (event: StoredEvent) => conductor.turn(event, undefined),
  };
  return (budget) => recordedLedger({ events }, budget, progress);
}
