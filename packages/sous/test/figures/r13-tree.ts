/** A long tree to run again: hundreds of children side by side and one after another, and much that goes wrong on the way. */

import { type AgentDefinition, agent } from "../../src/core/agent.ts";
import type { Random } from "../../src/core/clock.ts";
import type { StoredEvent } from "../../src/core/event.ts";
import type { RunHandle } from "../../src/core/runtime.ts";
import { type Tool, type ToolContext, tool } from "../../src/core/tool.ts";
import { createRuntime } from "../../src/runtime.ts";
import { openMemoryStore } from "../../src/storage/store/memory.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import { type Answer, cuts, fails, type Step } from "../../src/testing/steps.ts";
import { between, chance, createWorld, pick, type World } from "../../src/testing/world.ts";
import { randomAnswers } from "./random-answers.ts";

/** Runs a root and follows it up until the tree has so many events. The same seed gives the same tree. */
export async function recordTree(seed: number, events: number): Promise<readonly StoredEvent[]> {
  const world = createWorld({ seed, maxSteps: 2_000_000 });
  const store = openMemoryStore();
  const random = world.random("faults");
  const answer = randomAnswers(world, { maxChildren: 100_000, maxWork: 5, width: 8 });
  const model = scriptedModel(
    { "**": (request) => withFaults(knowable(answer(request)), random) },
    { clock: world.clock, schedule: (path) => world.turn(`model of ${path}`), price: { input: 3, output: 15 } },
  );
  const tools = toolsOf(() => world.turn("a tool"), world.random("tools"));
  const runtime = createRuntime({
    store,
    host: world.host,
    agents: specialists(tools),
    approve: personOf(world),
    maxConcurrentCalls: 16,
    limits: { outputMaxSize: 1024, maxConcurrent: 1000, maxDepth: 3 },
  });
  const options = { conversation: { maxTokens: 8_000, minRetainTurns: 2 } };
  let handle: RunHandle | undefined;
  let kept: readonly StoredEvent[] = [];
  for (let round = 1; kept.length < events; round++) {
    handle =
      handle === undefined
        ? runtime.run(leadOf(tools).with({ model }), "Begin.", options)
        : handle.followUp(`Go on, for the ${round}th time.`);
    const { id } = handle;
    await world.run(async () => handle?.result);
    kept = await store.read((await store.run(id))?.rootId ?? id);
  }
  return kept;
}

/** The definitions without a model of their own: whoever runs the tree again needs none. */
export function agentsOf(tools: readonly Tool[]): AgentDefinition[] {
  return [leadOf(tools).with({ model: "scripted/model" }), ...specialists(tools)];
}

function leadOf(tools: readonly Tool[]): AgentDefinition {
  return agent({ name: "lead", tools, subagents: [scoutOf()], delegate: true, maxTurns: 8 });
}

function scoutOf(): AgentDefinition {
  return agent({ name: "scout", instructions: "Look, do not touch.", maxTurns: 3, deny: ["write"] });
}

function specialists(tools: readonly Tool[]): AgentDefinition[] {
  return [scoutOf(), agent({ name: "writer", tools, delegate: true })];
}

const inputSchema = {
  type: "object",
  properties: { at: { type: "number" }, text: { type: "string" } },
  additionalProperties: false,
};

/** `turn` is how long they take; those of a rerun are never called. */
export function toolsOf(turn: () => Promise<void>, random: Random): Tool[] {
  return [
    tool({
      name: "look",
      description: "Looks.",
      effect: "read",
      inputSchema,
      async execute() {
        await turn();
        if (chance(random, 0.03)) throw new Error("It is dark.");
        // Longer than a model is given, and cut between characters of several bytes.
        return chance(random, 0.01) ? "wörd ".repeat(20_000 + between(random, 0, 9)) : "A view.";
      },
    }),
    tool({ name: "write", description: "Writes.", tier: "confirm", inputSchema, execute: () => ({ written: true }) }),
    tool({ name: "start_and_forget", description: "Asks a helper.", inputSchema, execute: askHelper }),
  ] as Tool[];
}

/** A tool of a user may start a child of its own. */
async function askHelper(_input: unknown, context: ToolContext): Promise<string> {
  const reply = await context.spawn({ label: "helper", task: `Part of ${context.callId}` });
  return reply.kind === "ended" ? reply.report.text : "No helper.";
}

function personOf(world: World) {
  const random = world.random("person");
  return async () => {
    await world.turn("the person");
    return chance(random, 0.7) ? { allow: true as const } : { allow: false as const, reason: "not now" };
  };
}

/** A definition that only a refused or changed call speaks of is in no recording: nobody is named with more than a task. */
function knowable(given: Answer): Answer {
  const steps: readonly Step[] = "step" in given ? [given] : given;
  return steps.map((step) => {
    if (step.step !== "call") return step;
    const { tasks, ...input } = step.input as { tasks?: Record<string, unknown>[] };
    return { ...step, input: tasks === undefined ? plainTask(input) : { ...input, tasks: tasks.map(plainTask) } };
  });
}

function plainTask({ agent: name, ...task }: Record<string, unknown>): Record<string, unknown> {
  if (name === undefined || name === "nobody") return task;
  const { allowed_tools: _tools, context: _context, output_schema: _output, ...rest } = task;
  return { agent: name, ...rest };
}

/** Now and then an attempt fails first, before or in the middle of its answer. */
function withFaults(given: Answer, random: Random): Answer {
  if (!chance(random, 0.06)) return given;
  const kind = pick(random, ["rate_limit", "overloaded", "network", "cut"] as const);
  const retryAfterMs = between(random, 1, 900);
  if (kind !== "cut") return fails(kind, { retryAfterMs });
  const steps: readonly Step[] = "step" in given ? [given] : given;
  return [...steps.filter(({ step }) => step === "text"), cuts()];
}
