/** One tree in one world from one seed: started, disturbed, awaited, and checked from its first event to its last. */

import { type AgentDefinition, agent } from "../../src/core/agent.ts";
import { UserError } from "../../src/core/errors.ts";
import type { SousEvent, StoredEvent } from "../../src/core/event.ts";
import type { ModelRequest } from "../../src/core/model.ts";
import type { RunHandle, RunOptions, RunResult, RuntimeOptions } from "../../src/core/runtime.ts";
import { type Tool, type ToolContext, tool } from "../../src/core/tool.ts";
import { noUsage } from "../../src/core/usage.ts";
import { checkHistory, openRuns } from "../../src/testing/checker.ts";
import { type ScriptedModel, scriptedModel } from "../../src/testing/scripted-model.ts";
import type { Answer } from "../../src/testing/steps.ts";
import { createWorld, type World, WorldStuck } from "../../src/testing/world.ts";
import { checkMessages } from "../support/testing/check-messages.ts";
import { createFaults, type FaultRates, type Faults } from "../support/testing/faults.ts";
import { answersReadTwice } from "./random-answers.ts";
import { compareHistories, type WatchedStore, watchedStore } from "./watched-store.ts";

/** The part of the runtime a schedule needs; a mutation check brings a runtime of its own. */
export type CreateRuntime = (options: RuntimeOptions) => {
  run(definition: AgentDefinition, task: string, options?: RunOptions): RunHandle;
};

/** What the figure decides; everything is made in the given world, so that it follows from the seed. */
export type Plan = {
  rates: FaultRates;
  answer(request: ModelRequest): Answer;
  runtime: Omit<RuntimeOptions, "store" | "host" | "agents">;
  run: Omit<RunOptions, "onEvent" | "signal">;
  /** The caller's signal. */
  stop: AbortController;
  /** How often the conversation goes on after its end. */
  followUps?: number;
  /** Whether somebody iterates the handle as well. */
  isIterated?: boolean;
  /** True when something besides the faults keeps the tree waiting for ever, such as a person who never answers. */
  mayHang?(): boolean;
  /** Somebody outside who stops, steers or speaks to children while the tree runs. */
  disturb?(handle: RunHandle, events: readonly StoredEvent[]): void;
};

export type Schedule = {
  seed: number;
  /** Everything that was not as it must be. */
  problems: string[];
  hung: boolean;
  /** As they were shown. */
  events: readonly StoredEvent[];
  faults: number;
  status: string;
};

/** After this much virtual time the caller leaves, because a model or a tool may hang for ever; then the tree must end. */
const PATIENCE_MS = 3_600_000;
/** The faults after which a tree may wait for ever. */
const HANGS = /hang|ignore the signal/;
/** What may be missing from the end of a history that nobody could keep. */
const AFTER_LOSS = /leaves the call|leaves the question|The result is failed, the journal says/;

export async function runSchedule(
  seed: number,
  makePlan: (world: World) => Plan,
  createRuntime: CreateRuntime,
): Promise<Schedule> {
  const world = createWorld({ seed, maxSteps: 50_000, maxMs: PATIENCE_MS * 2 });
  const plan = makePlan(world);
  const faults = createFaults(world, plan.rates);
  const stage: Stage = { world, plan, faults, watched: watchedStore(faults), events: [], problems: [], hung: false };
  let results: RunResult[] = [];
  try {
    results = await world.run(
      () => runTree(stage, createRuntime),
      () => openRuns(stage.events),
    );
    await checkEnd(stage, results);
  } catch (error) {
    if (error instanceof WorldStuck) stage.hung = true;
    stage.problems.push(error instanceof WorldStuck ? error.message : String((error as Error).stack));
  }
  const { problems, hung, events } = stage;
  return { seed, problems, hung, events, faults: faults.happened.length, status: results.at(-1)?.status ?? "none" };
}

/** A schedule while it runs. */
type Stage = {
  readonly world: World;
  readonly plan: Plan;
  readonly faults: Faults;
  readonly watched: WatchedStore;
  readonly events: StoredEvent[];
  readonly problems: string[];
  hung: boolean;
  model?: ScriptedModel;
};

/** Runs the tree and its follow-ups, watched by everybody who can watch. */
async function runTree(stage: Stage, createRuntime: CreateRuntime): Promise<RunResult[]> {
  const { plan, world, faults, watched } = stage;
  stage.model = modelOf(stage);
  const runtime = createRuntime({
    ...plan.runtime,
    store: watched.store,
    host: world.host,
    agents: specialists(toolsOf(faults)),
  });
  let handle = runtime.run(leadOf(stage.model, toolsOf(faults)), "Go.", {
    ...plan.run,
    signal: plan.stop.signal,
    onEvent: (event) => onEvent(event, stage),
  });
  const iterated = plan.isIterated ? collect(handle) : undefined;
  plan.disturb?.(handle, stage.events);
  world.clock.ownTimer(PATIENCE_MS, () => losePatience(stage));
  const results = [await handle.result];
  if (iterated !== undefined) compareIterated(await iterated, stage);
  for (let more = plan.followUps ?? 0; more > 0; more--) {
    handle = handle.followUp("And then?");
    try {
      results.push(await handle.result);
    } catch (error) {
      // What the store gave up is not continued.
      if (!(stage.watched.mayGiveUp && error instanceof UserError)) throw error;
    }
  }
  return results;
}

function onEvent(event: SousEvent, { events, watched, problems }: Stage): void {
  if (event.seq === undefined) return;
  events.push(event);
  if (event.seq > watched.lastKept && !watched.mayGiveUp) problems.push(`${event.seq} was shown before it was kept`);
}

function losePatience(stage: Stage): void {
  const { plan, faults, problems, events } = stage;
  if (!plan.mayHang?.() && !faults.happened.some((fault) => HANGS.test(fault))) {
    stage.hung = true;
    problems.push(`Nobody hangs, and yet there is no end:\n  ${openRuns(events).join("\n  ")}`);
  }
  plan.stop.abort(new Error("The caller has lost patience"));
}

async function collect(handle: RunHandle): Promise<number[]> {
  const seen: number[] = [];
  for await (const event of handle) if (event.seq !== undefined) seen.push(event.seq);
  return seen;
}

/** Whoever iterates sees what was shown, once and in order. */
function compareIterated(seen: readonly number[], { events, problems }: Stage): void {
  const shown = events.map(({ seq }) => seq);
  if (seen.join() !== shown.slice(0, seen.length).join() || seen.length < shown.length) {
    problems.push(`The iterator gave ${seen.length} of ${shown.length} events: ${seen.slice(-5)} … ${shown.slice(-5)}`);
  }
}

async function checkEnd({ plan, watched, events, problems, model, world }: Stage, results: RunResult[]): Promise<void> {
  // With a required store that has failed for good, what happened last is nowhere, and the result says so.
  const isLost = plan.runtime.requireStore === true && watched.mayGiveUp;
  // Each result has the figures of the whole tree so far.
  const resultUsage = results.at(-1)?.usage ?? noUsage();
  const facts = { providerUsage: model?.reported ?? noUsage(), resultUsage };
  const found = [...checkHistory(events, facts), ...results.flatMap((result) => compareResult(result, events))];
  problems.push(...(isLost ? found.filter((problem) => !AFTER_LOSS.test(problem)) : found));
  const last = results.at(-1);
  if (isLost && last?.error?.type !== "store") problems.push(`The store is lost, and the result is ${last?.status}`);
  problems.push(...compareHistories(events, await watched.kept(events[0]?.runId ?? ""), watched));
  if (world.clock.liveTimers > 0) problems.push(`${world.clock.liveTimers} timers are left`);
}

function modelOf({ world, plan, faults, problems }: Stage): ScriptedModel {
  return scriptedModel(
    { "**": (request) => faults.answer(plan.answer(request)) },
    {
      clock: world.clock,
      schedule: (path) => world.turn(`model of ${path}`),
      onRequest({ caller, messages }) {
        for (const problem of checkMessages(messages)) problems.push(`request of ${caller.path}: ${problem}`);
        for (const answer of answersReadTwice(messages)) problems.push(`${caller.path} reads ${answer} twice`);
      },
    },
  );
}

export function leadOf(model: ScriptedModel, tools: readonly Tool[]): AgentDefinition {
  return agent({ name: "lead", model, tools, subagents: [scoutOf()], delegate: true, maxTurns: 8 });
}

function scoutOf(): AgentDefinition {
  return agent({ name: "scout", instructions: "Look, do not touch.", maxTurns: 3, deny: ["write"] });
}

export function specialists(tools: readonly Tool[]): AgentDefinition[] {
  return [scoutOf(), agent({ name: "writer", tools, delegate: true, timeoutMs: 5_000 })];
}

export function toolsOf(faults: Faults): Tool[] {
  const inputSchema = {
    type: "object",
    properties: { at: { type: "number" }, text: { type: "string" } },
    additionalProperties: false,
  };
  return [
    faults.tool(tool({ name: "look", description: "Looks.", effect: "read", inputSchema, execute: () => "A view." })),
    faults.tool(
      tool({ name: "write", description: "Writes.", tier: "confirm", inputSchema, execute: () => ({ written: true }) }),
    ),
    tool({ name: "start_and_forget", description: "Starts a child.", inputSchema, execute: startAndForget }),
  ];
}

/** A tool should wait for the child it starts; this one does not. */
function startAndForget(_input: unknown, context: ToolContext): string {
  context.spawn({ label: "forgotten", task: `Part of ${context.callId}` }).catch(() => {});
  return "Started.";
}

/** What the caller is told must be what the journal says. */
export function compareResult(result: RunResult, events: readonly StoredEvent[]): string[] {
  const end = events.findLast((event) => event.runId === result.runId);
  if (end?.type !== "run-end") return ["The result is there before the run-end of its run"];
  if (end.status !== result.status) return [`The result is ${result.status}, the journal says ${end.status}`];
  const started = new Set(events.filter(({ seq }) => seq <= end.seq).map(({ agentId }) => agentId)).size;
  if (result.agents.length === started) return [];
  return [`The result lists ${result.agents.length} agents, the journal ${started}`];
}
