/**
 * R9, end to end: random real trees in which every agent calls every tool there is, whether it was shown it or not. What ran is
 * compared with an account made from the definitions alone.
 */

import type { AgentDefinition } from "../../src/core/agent.ts";
import type { Random } from "../../src/core/clock.ts";
import type { StoredEvent } from "../../src/core/event.ts";
import type { ModelRequest } from "../../src/core/model.ts";
import { type Tool, tool } from "../../src/core/tool.ts";
import { createRuntime as realRuntime } from "../../src/runtime.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import { calls, type Step, says } from "../../src/testing/steps.ts";
import { between, chance, seededRandom } from "../../src/testing/world.ts";
import {
  type Bits,
  bitsOf,
  type Declared,
  declare,
  NAMES,
  namesOf,
  narrowBits,
  rootBits,
  someBits,
} from "./rights-bits.ts";

export type ForgedFigure = {
  seed: number;
  trees: number;
  runs: number;
  calls: number;
  executed: number;
  refused: number;
  /** Every call that ran and should not have, did not run and should have, or is not recorded; and every run too many. */
  problems: string[];
  milliseconds: number;
};

/** One agent of the plan of a tree. */
type Planned = {
  path: string;
  label: string;
  depth: number;
  bits: Bits;
  /** The tools its model is shown: a fork is shown its parent's. */
  shown: number;
  mayDelegate: boolean;
  input: Record<string, unknown>;
  isContinued: boolean;
  children: Planned[];
};

const MAX_DEPTH = 3;

/** The trees of the seeds `seed`, `seed + 1`, …. A mutation check brings a runtime of its own. */
export async function runForgedCalls(given: {
  seed: number;
  count: number;
  createRuntime?: typeof realRuntime;
}): Promise<ForgedFigure> {
  const startedAt = performance.now();
  const figure: ForgedFigure = {
    seed: given.seed,
    trees: given.count,
    runs: 0,
    calls: 0,
    executed: 0,
    refused: 0,
    problems: [],
    milliseconds: 0,
  };
  const createRuntime = given.createRuntime ?? realRuntime;
  for (let seed = given.seed; seed < given.seed + given.count; seed++) await runOne(seed, figure, createRuntime);
  figure.milliseconds = Math.round(performance.now() - startedAt);
  return figure;
}

async function runOne(seed: number, figure: ForgedFigure, createRuntime: typeof realRuntime): Promise<void> {
  const executed: string[] = [];
  const plan = new Plan(seededRandom(seed, "forged"), recordingTools(executed));
  const model = scriptedModel({ "**": (request) => plan.answer(request) });
  const events: StoredEvent[] = [];
  const runtime = createRuntime({ agents: plan.agents, limits: { maxDepth: MAX_DEPTH, summary: "never" } });
  await runtime.run(plan.lead.with({ model }), "Go.", {
    onEvent: (event) => void (event.seq === undefined ? undefined : events.push(event)),
  });
  const problem = (words: string) => void figure.problems.push(`seed ${seed}: ${words}`);
  const ends = events.filter((event) => event.type === "tool-call-end" && NAMES.includes(event.toolName));
  const expected = plan.all.flatMap(({ path, bits, shown, isContinued }) => {
    const ran = namesOf(bits.use & shown).map((name) => `${name} at ${path}`);
    return isContinued ? [...ran, ...ran] : ran;
  });
  const runs = plan.all.flatMap(({ path, isContinued }) => (isContinued ? [path, path] : [path]));
  const started = events.filter(({ type }) => type === "run-start").map(({ path }) => path);
  for (const each of difference(executed, expected)) problem(`${each} ran`);
  for (const each of difference(expected, executed)) problem(`${each} did not run`);
  for (const each of difference(started, runs)) problem(`${each} started`);
  for (const each of difference(runs, started)) problem(`${each} did not start`);
  if (ends.length !== runs.length * NAMES.length) problem(`${ends.length} calls of ${runs.length} runs are recorded`);
  figure.runs += runs.length;
  figure.calls += ends.length;
  figure.executed += executed.length;
  figure.refused += ends.length - executed.length;
}

/** What is in the first and not in the second, counted. */
function difference(one: readonly string[], other: readonly string[]): string[] {
  const left = [...other];
  return one.filter((each) => {
    const index = left.indexOf(each);
    if (index >= 0) left.splice(index, 1);
    return index < 0;
  });
}

function recordingTools(executed: string[]): Tool[] {
  return NAMES.map(
    (name) =>
      tool({
        name,
        description: name,
        inputSchema: { type: "object" },
        execute(_input, { path }) {
          executed.push(`${name} at ${path}`);
          return "ran";
        },
      }) as Tool,
  );
}

/** A whole tree, decided before it runs. */
class Plan {
  readonly lead: AgentDefinition;
  readonly agents: AgentDefinition[] = [];
  readonly all: Planned[] = [];
  readonly #random: Random;
  readonly #tools: readonly Tool[];
  /** The runs of each path that have asked, in their order. */
  readonly #runs = new Map<string, string[]>();

  constructor(random: Random, tools: readonly Tool[]) {
    this.#random = random;
    this.#tools = tools;
    const declared = this.#declare("lead", 2);
    this.lead = declared.definition.with({ delegate: true });
    const bits = rootBits({ ...declared, definition: this.lead });
    const root = { bits, shown: bits.use, mayDelegate: true, input: {}, isContinued: false, children: [] };
    this.#grow({ path: "lead", label: "lead", depth: 0, ...root });
  }

  /** First every tool there is, then the children, then a further word to some of them. */
  answer({ caller: { path, runId, turn }, messages }: ModelRequest): Step[] {
    const node = this.all.find((each) => each.path === path);
    if (node === undefined) return [says("I should not be here.")];
    const runs = this.#runs.get(path) ?? [];
    this.#runs.set(path, runs);
    if (!runs.includes(runId)) runs.push(runId);
    const isFollowUp = runs.indexOf(runId) > 0;
    const spawns = node.children.map(({ input }) => calls("subagent", input));
    const continued = node.children.filter(({ isContinued }) => isContinued);
    if (turn === 1) return [...NAMES.map((name) => calls(name)), ...forgedSpawns(node)];
    if (turn === 2 && spawns.length > 0 && !isFollowUp) return spawns;
    if (turn === 3 && continued.length > 0 && !isFollowUp) {
      const last = messages.at(-1);
      const outputs = last?.role === "tool" ? last.content.map(({ output }) => output) : [];
      return continued.map((child) => {
        const id = /subagent_id: (\w+)/.exec(outputs[node.children.indexOf(child)] ?? "")?.[1];
        return calls("subagent_send", { subagent_id: id ?? "", message: "Once more." });
      });
    }
    return [says("Done.")];
  }

  #grow(node: Planned): void {
    this.all.push(node);
    if (!node.mayDelegate || node.depth >= MAX_DEPTH) return;
    for (let index = between(this.#random, 0, 2); index > 0; index--) {
      const child = this.#child(node, `n${this.all.length}_${index}`);
      node.children.push(child);
    }
    for (const child of node.children) this.#grow(child);
  }

  #child(parent: Planned, label: string): Planned {
    const random = this.#random;
    const declared = chance(random, 0.6) ? this.#declare(label, 1) : undefined;
    if (declared !== undefined) this.agents.push(declared.definition);
    const base = narrowBits(parent.bits, declared, undefined);
    const asked = chance(random, 0.3) ? base.use & someBits(random) : undefined;
    const isFork = chance(random, 0.25);
    const bits = narrowBits(parent.bits, declared, asked);
    const delegates = declared === undefined || declared.definition.delegate === true;
    return {
      path: `${parent.path}/${label}`,
      label,
      depth: parent.depth + 1,
      bits,
      shown: isFork ? parent.shown : bits.use,
      mayDelegate: bits.spawn && delegates,
      input: {
        label,
        task_prompt: `Do ${label}.`,
        ...(declared === undefined ? {} : { agent: label }),
        ...(asked === undefined ? {} : { allowed_tools: namesOf(asked) }),
        ...(isFork ? { context: "fork" } : {}),
      },
      isContinued: chance(random, 0.3),
      children: [],
    };
  }

  #declare(name: string, levels: number): Declared {
    const declared = declare(this.#random, { name, levels, tools: this.#tools, unnamed: 0.2, delegating: 0.5 });
    return { ...declared, tools: declared.tools === undefined ? undefined : bitsOf(namesOf(declared.tools)) };
  }
}

/** Whoever may not start anybody tries it all the same. */
function forgedSpawns({ mayDelegate, depth }: Planned): Step[] {
  if (mayDelegate && depth < MAX_DEPTH) return [];
  return [
    calls("subagent", { label: "forged", task_prompt: "Be forged." }),
    calls("parallel_subagent", { tasks: [{ label: "forged", task_prompt: "Be forged." }] }),
  ];
}
