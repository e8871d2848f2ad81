/** Random trees for R15: leads with workers, children in the background, questions, retries, shares of their own. */

import type { Random } from "../../src/core/clock.ts";
import { between, chance, pick } from "../../src/testing/world.ts";
import { type CallSpec, flatRun, type RunSpec, type Shape, toolCall, turn } from "./r15-specs.ts";

const PRICES = [undefined, { input: 3, output: 15, cacheWrite: 3.75 }, { input: 0.25, output: 1.25 }] as const;

type Variety = {
  readonly maxDepth: number;
  readonly maxRuns: number;
  /** How many children have a share of their own, and how large it is. */
  readonly shares: number;
  readonly share: readonly [least: number, most: number];
};

export function randomShape(random: Random): Shape {
  const prompt = between(random, 100, 4_000);
  const output = between(random, 20, 3_000);
  const added = between(random, 10, 2_000);
  return {
    turns: [1, between(random, 1, 10)],
    prompt: [prompt, prompt * between(random, 1, 4)],
    output: [Math.ceil(output / 5), output],
    added: [Math.ceil(added / 4), added],
    price: pick(random, PRICES),
    failures: chance(random, 0.5) ? 0.15 : 0,
  };
}

export function randomTree(random: Random, variety: Variety): RunSpec {
  const shape = randomShape(random);
  const left = { runs: between(random, 2, variety.maxRuns) - 1 };
  return lead(random, { shape, variety, left, depth: 0 });
}

type Growth = {
  readonly shape: Shape;
  readonly variety: Variety;
  readonly left: { runs: number };
  readonly depth: number;
};

function lead(random: Random, growth: Growth): RunSpec {
  const { shape, depth } = growth;
  const count = between(random, depth === 0 ? 2 : 1, Math.max(2, shape.turns[1]));
  const turns = Array.from({ length: count }, (_, index) => {
    const calls =
      index === count - 1 ? [] : Array.from({ length: between(random, 1, 3) }, () => anyCall(random, growth));
    return turn(random, shape, index === 0, calls);
  });
  return { turns, price: shape.price, share: undefined };
}

function anyCall(random: Random, growth: Growth): CallSpec {
  const kind = random();
  if (kind < 0.3 || growth.left.runs === 0) return kind < 0.1 ? { kind: "wait" } : toolCall(random);
  if (kind < 0.45) return { kind: "background", child: child(random, growth) };
  if (kind < 0.55) return { kind: "wait" };
  const children = Array.from({ length: between(random, 1, 6) }, () => growth.left.runs > 0 && child(random, growth));
  return { kind: "children", children: children.filter((each) => each !== false), lanes: between(random, 1, 5) };
}

function child(random: Random, growth: Growth): RunSpec {
  const { variety, left, shape } = growth;
  const depth = growth.depth + 1;
  left.runs -= 1;
  const isLead = depth < variety.maxDepth && chance(random, 0.4);
  const spec = isLead ? lead(random, { ...growth, depth }) : flatRun(random, shape);
  if (!chance(random, variety.shares)) return spec;
  const [least, most] = variety.share;
  return { ...spec, share: least + random() * (most - least) };
}
