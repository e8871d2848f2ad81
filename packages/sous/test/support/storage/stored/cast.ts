/** Agents whose runs are in `golden/`, for the tests that resume and play them: what their models say and what their tools do. */

import { externalModel } from "../../../../src/embed.ts";
import { type AgentDefinition, agent, type Message, ModelError } from "../../../../src/index.ts";
import { calls, fails, type Script, says, scriptedModel, thinks } from "../../../../src/testing.ts";
import { type Cast, confirmed, lookTool, mason, plainTool } from "./cast-tools.ts";

export const PROJECT = "/project";
export const FAN_OUT_INPUTS: readonly string[] = ["north", "south", "east"];
const PRICES = { input: 3, output: 15, cachedInput: 0.3, cacheWrite: 3.75 } as const;

const HITS = { type: "object", required: ["hits"], properties: { hits: { type: "number" } } } as const;
const task = (label: string, more: object = {}) => ({ label, task_prompt: `Look at ${label}.`, ...more });

/** Children of named agents, two levels deep: the tree of the cassette. */
export function walkLead(cast: Cast): AgentDefinition {
  const counter = agent({ name: "counter", description: "Counts.", outputSchema: HITS });
  const scout = agent({ name: "scout", description: "Looks.", tools: [lookTool(cast)], subagents: [counter] });
  return agent({
    name: "lead",
    instructions: "Be brief.",
    model: modelOf({
      lead: [[thinks("Where to begin?"), calls("look")], calls("subagent_scout", { task: "See." }), says("Two.")],
      "lead/scout": [calls("look"), calls("subagent_counter", { task: "Count." }), says("Two towers.")],
      "lead/scout/counter": [says("Two."), says('{"hits":2}')],
    }),
    tools: [lookTool(cast)],
    subagents: [scout],
  });
}

/** Continues from a turn of the crew, in a tree of its own. */
export function branchLead(_cast: Cast): AgentDefinition {
  return agent({
    name: "lead",
    model: modelOf({
      lead: ({ messages }) =>
        says(textOf(messages.at(-1)).includes("west") ? "Nothing in the west." : "Nor in the east."),
    }),
  });
}

/** A root with structured output. */
export function countingLead(_cast: Cast): AgentDefinition {
  const refused = new ModelError("output_schema", "scripted/model refused the request (HTTP 400)", { retryAfterMs: 0 });
  return agent({
    name: "clerk",
    model: modelOf({ clerk: [fails(refused), says("Three."), says('{"hits":3}')] }),
    outputSchema: HITS,
  });
}

/** One child for each input. */
export function fanOutWorker(_cast: Cast): AgentDefinition {
  return agent({
    name: "worker",
    model: modelOf({
      "fan-out/*": ({ messages }) => {
        return says(`Seen ${textOf(messages[0])}.`);
      },
    }),
  });
}

/** Killed while a child and two tools were at work, another child and a tool had finished. */
export function killedLead(cast: Cast): AgentDefinition {
  return agent({
    name: "lead",
    model: modelOf({
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
    tools: [lookTool(cast), plainTool(cast, "peek", "read"), plainTool(cast, "send", "unsafe")],
  });
}

/** Asks whether it may pay, and so does its child. */
export function parkedLead(cast: Cast): AgentDefinition {
  return agent({
    name: "lead",
    model: modelOf({
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
    model: modelOf({ lead: [calls("subagent_mason", { task: "Look." }), says("Done.")] }),
    subagents: [agent({ name: "mason", model: externalModel(mason(cast)) })],
  });
}

function modelOf(script: Script) {
  return scriptedModel(script, { price: PRICES, contextWindow: 200_000 });
}

function textOf(message: Message | undefined): string {
  const [first] = message?.content ?? [];
  return first?.type === "text" ? first.text : "";
}
