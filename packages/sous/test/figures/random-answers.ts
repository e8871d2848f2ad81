/** Answers for whole trees, drawn from a seed: agents that look, write, delegate, wait, cancel, err and come to an end. */

import type { Random } from "../../src/core/clock.ts";
import type { Message } from "../../src/core/message.ts";
import type { ModelRequest } from "../../src/core/model.ts";
import { type Answer, calls, type Step, says, streams, thinks } from "../../src/testing/steps.ts";
import { between, chance, pick, type World } from "../../src/testing/world.ts";

/** How the trees of a schedule look. */
export type Shape = {
  /** How many children the whole tree may ask for. */
  maxChildren: number;
  /** Turns of one run before it answers. */
  maxWork: number;
  width: number;
};

/** What one run has in mind. */
type Plan = { random: Random; turnsLeft: number };

/** An answer for whichever run asks; each run draws from a row of its own. */
export function randomAnswers(world: World, shape: Shape): (request: ModelRequest) => Answer {
  const plans = new Map<string, Plan>();
  const tree = { childrenLeft: shape.maxChildren, answers: 0 };
  return (request) => {
    const { runId, path, depth } = request.caller;
    let plan = plans.get(runId);
    if (plan === undefined) {
      const random = world.random(`answers ${path} ${plans.size}`);
      // Near the root there is more to do, or most trees would be single runs.
      plan = { random, turnsLeft: between(random, depth === 0 ? 2 : 0, depth > 2 ? 1 : shape.maxWork) };
      plans.set(runId, plan);
    }
    plan.turnsLeft -= 1;
    if (plan.turnsLeft < 0 && !chance(plan.random, 0.02)) {
      tree.answers += 1;
      return finalAnswer(plan.random, tree.answers);
    }
    return work(request, plan.random, tree, shape);
  };
}

/** Most answers are numbered, so that whoever reads one twice can be found. */
function finalAnswer(random: Random, number: number): Step[] {
  const choice = random();
  if (choice < 0.05) return [says(`Long. ${"word ".repeat(between(random, 1, 2_000))}`)];
  if (choice < 0.1) return [says('{"answer": 42}')];
  if (choice < 0.14) return [says("Half a character: \ud83d")];
  if (choice < 0.3) return [thinks("Hm."), streams("All ", "is ", "well.")];
  return [says(`Done ${number}.`)];
}

/** Says which numbered answers of children stand twice in one history. `subagent_report` is there to read them again. */
export function answersReadTwice(messages: readonly Message[]): string[] {
  const seen = new Set<string>();
  const twice: string[] = [];
  for (const message of messages) {
    if (message.role === "assistant") continue;
    for (const part of message.content) {
      if (part.type === "file" || (part.type === "tool-result" && part.toolName === "subagent_report")) continue;
      // One text may quote an answer beside giving it.
      for (const answer of new Set((part.type === "text" ? part.text : part.output).match(/Done \d+\./g))) {
        if (seen.has(answer)) twice.push(answer);
        seen.add(answer);
      }
    }
  }
  return twice;
}

type Tree = { childrenLeft: number };

function work(request: ModelRequest, random: Random, tree: Tree, shape: Shape): Step[] {
  const steps: Step[] = chance(random, 0.3) ? [says("I begin.")] : [];
  if (chance(random, 0.05)) return [...steps, calls("look", { at: 1 }, "same_id"), calls("look", { at: 2 }, "same_id")];
  const count = chance(random, 0.35) ? between(random, 2, 3) : 1;
  for (let call = 0; call < count; call++) steps.push(oneCall(request, random, tree, shape));
  return steps;
}

function oneCall(request: ModelRequest, random: Random, tree: Tree, shape: Shape): Step {
  // Now and then a model calls what it was not shown; always would leave little else to see.
  const isOffered = request.tools.some(({ name }) => name === "subagent") || chance(random, 0.1);
  const mayDelegate = isOffered && tree.childrenLeft > 0;
  const choice = random();
  if (choice < 0.12) return calls("look", { at: between(random, 1, 9) });
  if (choice < 0.2) return calls("write", { text: "x" });
  if (choice < 0.22) return calls("look", { at: "nowhere", extra: true });
  if (choice < 0.24) return calls("no_such_tool", { half: true });
  if (choice < 0.27) return calls("start_and_forget", {});
  if (choice < 0.37 && isOffered) return lookAfter(request, random);
  if (!mayDelegate) return calls("look", { at: 0 });
  if (choice < 0.45) {
    tree.childrenLeft -= 1;
    return calls("subagent_scout", { task: `Scout ${between(random, 1, 1_000_000)}` });
  }
  if (choice < 0.7) {
    tree.childrenLeft -= 1;
    return calls("subagent", { ...randomTask(random), ...(chance(random, 0.4) ? { background: true } : {}) });
  }
  const width = Math.min(between(random, 1, shape.width), tree.childrenLeft);
  tree.childrenLeft -= width;
  return calls("parallel_subagent", {
    tasks: Array.from({ length: width }, () => randomTask(random)),
    ...(chance(random, 0.5) ? { fail_fast: true } : {}),
    ...(chance(random, 0.3) ? { max_concurrent: between(random, 1, 3) } : {}),
  });
}

/** One task as `subagent` takes it; few options at once, so that most children are plain ones. */
function randomTask(random: Random): Record<string, unknown> {
  const task: Record<string, unknown> = {
    label: pick(random, ["a", "b", "scout", "x/y#2", "\u202e"]),
    task_prompt: chance(random, 0.03) ? "Go." : `Part ${between(random, 1, 1_000_000)}`,
  };
  if (chance(random, 0.2)) task.max_turns = between(random, 1, 3);
  if (chance(random, 0.2)) task.timeout_ms = between(random, 1, 3_000);
  if (chance(random, 0.1)) task.summary_prompt = "In one word.";
  if (chance(random, 0.1)) task.allowed_tools = pick(random, [[], ["look"], ["write"], ["no_such_tool"]]);
  if (chance(random, 0.1)) task.context = "fork";
  if (chance(random, 0.1)) task.agent = pick(random, ["scout", "writer", "nobody"]);
  if (chance(random, 0.05)) task.output_schema = ANSWER_SCHEMA;
  if (chance(random, 0.02)) task.label = " ";
  return task;
}

const ANSWER_SCHEMA = { type: "object", properties: { answer: { type: "number" } }, required: ["answer"] };

/** Follows up, waits for, stops or reads a child that the history speaks of. */
function lookAfter({ messages }: ModelRequest, random: Random): Step {
  const ids = messages.flatMap((message) =>
    message.role === "tool" ? message.content.flatMap(({ output }) => output.match(CHILD_ID) ?? []) : [],
  );
  const subagent_id = ids[Math.floor(random() * ids.length)] ?? "01ARZ3NDEKTSV4RRFFQ69G5FAV";
  switch (between(random, 0, 7)) {
    case 0:
      return calls("subagent_list", {});
    case 1:
    case 2:
    case 3:
      return calls("subagent_wait", chance(random, 0.5) ? {} : { subagent_ids: [subagent_id] });
    case 4:
      return calls("subagent_cancel", { subagent_id, mode: pick(random, ["stop", "wrap-up"]) });
    case 5:
      return calls("subagent_report", { subagent_id });
    default:
      return calls("subagent_send", { subagent_id, message: `And now ${between(random, 1, 1_000_000)}?` });
  }
}

const CHILD_ID = /(?<=subagent_id"?: ?"?)[0-9A-HJKMNP-TV-Z]{26}/g;
