/**
 * The agents whose runs are in `golden/`: what their models say and what their tools do. `make-golden.ts` ran them; the tests
 * resume and play what it stored with the same agents.
 */

import { externalModel } from "../../../../src/embed.ts";
import { type AgentDefinition, agent, type Message, ModelError } from "../../../../src/index.ts";
import {
  after,
  calls,
  fails,
  hangs,
  refuses,
  type Script,
  says,
  scriptedModel,
  stopsAtLength,
  thinks,
  uses,
} from "../../../../src/testing.ts";
import { boomTool, type Cast, confirmed, lookTool, mason, slowTool, withStack } from "./cast-tools.ts";

export const PROJECT = "/project";
export const FAN_OUT_INPUTS: readonly string[] = ["north", "south", "east"];
const PRICES = { input: 3, output: 15, cachedInput: 0.3, cacheWrite: 3.75 } as const;
export const BUSY_LIMITS = { maxDepth: 1, maxConcurrent: 1, outputMaxSize: 1024 } as const;
export const BUSY_BUDGET = { tokens: 2_000_000, costUsd: 50, durationMs: 36_000_000, executions: 50 } as const;
export const BUSY_CONVERSATION = { maxTokens: 7500, minRetainTurns: 3, pruneThreshold: 0.6 } as const;

const HITS = { type: "object", required: ["hits"], properties: { hits: { type: "number" } } } as const;
const spawn = (label: string, more: object = {}) =>
  calls("subagent", { label, task_prompt: `Look at ${label}.`, ...more });
const task = (label: string, more: object = {}) => ({ label, task_prompt: `Look at ${label}.`, ...more });

/** A tree that completes: a tool, children in parallel, a child of a child, agents with names, a refused child. */
export function crewLead(cast: Cast): AgentDefinition {
  return agent({
    name: "lead",
    nickname: "Ada",
    instructions: "Be brief.",
    notes: "You work in /project.",
    model: modelOf(cast, {
      lead: [
        [
          thinks("Where to begin?"),
          says("I look."),
          calls("look", { at: "gate" }),
          uses({ input: 900, output: 40, cached: 500 }),
        ],
        calls("parallel_subagent", { tasks: [task("north"), task("south", { allowed_tools: ["look"] })] }),
        [calls("subagent_counter", { task: "Count the towers." }), spawn("west", { allowed_tools: ["none"] })],
        says("Two towers and a bell."),
      ],
      "lead/north": [spawn("tower"), says("A tower with a bell.")],
      "lead/north/tower": [calls("look", { at: "tower" }), says("A bell.")],
      "lead/south": [calls("look", { at: "south" }), says("A tower.")],
      "lead/counter": [says("Two."), says('{"hits":2}')],
    }),
    delegate: true,
    tools: [lookTool(cast)],
    subagents: [agent({ name: "counter", description: "Counts.", outputSchema: HITS })],
  });
}

/** Children of named agents, two levels deep: the tree of the cassette. */
export function walkLead(cast: Cast): AgentDefinition {
  const counter = agent({ name: "counter", description: "Counts.", outputSchema: HITS });
  const scout = agent({ name: "scout", description: "Looks.", tools: [lookTool(cast)], subagents: [counter] });
  return agent({
    name: "lead",
    instructions: "Be brief.",
    model: modelOf(cast, {
      lead: [[thinks("Where to begin?"), calls("look")], calls("subagent_scout", { task: "See." }), says("Two.")],
      "lead/scout": [calls("look"), calls("subagent_counter", { task: "Count." }), says("Two towers.")],
      "lead/scout/counter": [says("Two."), says('{"hits":2}')],
    }),
    tools: [lookTool(cast)],
    subagents: [scout],
  });
}

/** Continues from a turn of the crew, in a tree of its own. */
export function branchLead(cast: Cast): AgentDefinition {
  return agent({
    name: "lead",
    model: modelOf(cast, {
      lead: ({ messages }) =>
        says(textOf(messages.at(-1)).includes("west") ? "Nothing in the west." : "Nor in the east."),
    }),
  });
}

/** A root with structured output. */
export function countingLead(cast: Cast): AgentDefinition {
  const refused = new ModelError("output_schema", "scripted/model refused the request (HTTP 400)", { retryAfterMs: 0 });
  return agent({
    name: "clerk",
    model: modelOf(cast, { clerk: [fails(refused), says("Three."), says('{"hits":3}')] }),
    outputSchema: HITS,
  });
}

/** Most of what can happen to a run, in one tree. */
export function busyLead(cast: Cast): AgentDefinition {
  const more = (name: string) => confirmed(cast, name);
  return agent({
    name: "lead",
    instructions: "Be brief.",
    model: modelOf(cast, {
      lead: [
        [says("I look around "), stopsAtLength()],
        fails("overloaded", { message: "The provider is busy", retryAfterMs: 250 }),
        [
          after(130_000),
          calls("look", { at: "wall" }),
          calls("boom"),
          calls("write", { path: "a.md" }),
          calls("publish"),
        ],
        spawn("complete", { summary_prompt: "In one word." }),
        spawn("cut"),
        spawn("turns", { max_turns: 1 }),
        spawn("consent"),
        spawn("refused"),
        spawn("failed"),
        spawn("timeout", { timeout_ms: 100 }),
        spawn("cancelled"),
        calls("subagent_poor", { task: "Spend it." }),
        spawn("fork", { context: "fork" }),
        ({ messages }) => calls("subagent_send", { subagent_id: idIn(messages, "Wall."), message: "And behind it?" }),
        spawn("stopped", { background: true }),
        ({ messages }) => calls("subagent_cancel", { subagent_id: idIn(messages, "stopped runs in the background") }),
        spawn("slow", { background: true }),
        ({ messages }) =>
          calls("subagent_send", { subagent_id: idIn(messages, "slow runs in the background"), message: "Open?" }),
        says(""),
        says("Done so far."),
        says("Done."),
        says("A wall, a garden, a door."),
      ],
      "lead/complete": [says("A wall."), says("Wall."), says("A garden."), says("Garden.")],
      "lead/cut": [says("x".repeat(1300)), says("y".repeat(1100))],
      "lead/turns": [[says("So far a wall."), calls("look")], says("A wall, and more to see.")],
      "lead/consent": [calls("ask_nobody"), says("Not written.")],
      "lead/refused": [[says("No."), refuses()]],
      "lead/failed": [fails(withStack(new ModelError("auth", "No such key")))],
      "lead/timeout": [hangs()],
      "lead/cancelled": [hangs()],
      "lead/poor": [[calls("look"), uses({ input: 2500, output: 100 })], says("It is spent.")],
      "lead/fork": [says("The same wall.")],
      "lead/stopped": [hangs()],
      "lead/slow": [[after(5000), calls("look")], says("A door.")],
    }),
    delegate: true,
    tools: [lookTool(cast), boomTool(), more("write"), more("publish"), more("ask_nobody")],
    deny: ["terminal"],
    subagents: [agent({ name: "poor", budget: { tokens: 2700, costUsd: 1, durationMs: 600_000, executions: 2 } })],
  });
}

/** One child for each input. */
export function fanOutWorker(cast: Cast): AgentDefinition {
  return agent({
    name: "worker",
    model: modelOf(cast, {
      "fan-out/*": ({ messages }) => {
        const input = textOf(messages[0]);
        return cast.isDoomed && input !== "north" ? hangs() : says(`Seen ${input}.`);
      },
    }),
  });
}

/** Killed while a child and two tools were at work, another child and a tool had finished. */
export function killedLead(cast: Cast): AgentDefinition {
  return agent({
    name: "lead",
    model: modelOf(cast, {
      lead: [
        calls("look", { at: "gate" }),
        [
          calls("parallel_subagent", { tasks: [task("north"), task("south")] }),
          calls("peek"),
          calls("send", { to: "all" }),
        ],
        says("All is quiet."),
        says("At night, too."),
      ],
      "lead/north": [calls("look", { at: "north" }), says("A tower.")],
      "lead/south": [calls("look", { at: "south" }), calls("peek"), says("A door.")],
    }),
    delegate: true,
    tools: [lookTool(cast), slowTool(cast, "peek", "read"), slowTool(cast, "send", "unsafe")],
  });
}

/** Asks whether it may pay, and so does its child. */
export function parkedLead(cast: Cast): AgentDefinition {
  return agent({
    name: "lead",
    model: modelOf(cast, {
      lead: [[calls("pay", { amount: 5 }), calls("subagent_clerk", { task: "Pay the mason." })], says("All is paid.")],
      "lead/clerk": [[calls("look", { at: "bill" }), calls("pay", { amount: 7 })], says("The mason is paid.")],
    }),
    tools: [lookTool(cast), confirmed(cast, "pay")],
    subagents: [agent({ name: "clerk", tools: [lookTool(cast), confirmed(cast, "pay")] })],
  });
}

/** Has an external agent as its child. */
export function externalLead(cast: Cast): AgentDefinition {
  return agent({
    name: "lead",
    model: modelOf(cast, { lead: [calls("subagent_mason", { task: "Look." }), says("Done.")] }),
    subagents: [agent({ name: "mason", model: externalModel(mason(cast)) })],
  });
}

function modelOf({ clock }: Cast, script: Script) {
  return scriptedModel(script, { price: PRICES, contextWindow: 200_000, ...(clock !== undefined && { clock }) });
}

/** The id of the child whose result holds these words. */
function idIn(messages: readonly Message[], words: string): string {
  const outputs = messages.flatMap(({ content }) => content.map((part) => ("output" in part ? part.output : "")));
  return /subagent_id: (\w{26})/.exec(outputs.findLast((output) => output.includes(words)) ?? "")?.[1] ?? "";
}

function textOf(message: Message | undefined): string {
  const [first] = message?.content ?? [];
  return first?.type === "text" ? first.text : "";
}
