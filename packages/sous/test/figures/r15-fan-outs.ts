/** R15: what fan-outs and trees complete with the rules of the ledger, and whether the rules hold in any mix of them. */

import { type Amount, toUsd } from "../../src/core/amount.ts";
import type { Random } from "../../src/core/clock.ts";
import type { Budget, OnExhausted } from "../../src/core/limits.ts";
import { between, chance, pick, seededRandom } from "../../src/testing/world.ts";
import { enoughFor, needsOf, together } from "./r15-needs.ts";
import { randomShape, randomTree } from "./r15-random-tree.ts";
import { flatRun, PLAIN, type RunSpec } from "./r15-specs.ts";
import { type LedgerModules, runTree, type TreeOptions, type TreeResult } from "./r15-tree.ts";

const CONCURRENCIES = [1, 2, 3, 5, 10, 25, 50, 200] as const;

type Trials = {
  readonly seed: number;
  readonly count: number;
  /** A ledger with a planted fault. Then the first broken rule is enough. */
  readonly modules?: LedgerModules | undefined;
};

/** What a fan-out with half of what it needs completes: at once against one after another, in the mean of its seeds. */
type FanOutFigure = {
  /** 50 children of one turn, all at once. */
  readonly oneTurn: number;
  /** 40 children of 4 turns, 10 and all 40 at once. */
  readonly tenAtOnce: Readonly<Record<OnExhausted, number>>;
  readonly allAtOnce: Readonly<Record<OnExhausted, number>>;
  /** The part of all 40 that has words to show: completed or wrapped up. */
  readonly delivered: number;
  readonly broken: readonly string[];
};

export async function measureFanOuts({ seed, count, modules }: Trials): Promise<FanOutFigure> {
  const broken: string[] = [];
  const mean = async (children: number, atOnce: number, onExhausted: OnExhausted) => {
    const shape = children === 50 ? { ...PLAIN, turns: [1, 1] as const } : PLAIN;
    const sum = { completed: 0, delivered: 0 };
    for (let trial = seed; trial < seed + count; trial++) {
      const random = seededRandom(trial, "fan-out");
      const fanOut = Array.from({ length: children }, () => flatRun(random, shape));
      const budget = { tokens: Math.floor(together(fanOut.map(needsOf)).all.tokens / 2) };
      const inTurn = await runTree({ budget, onExhausted, atOnce: 1, fanOut, modules });
      const result = await runTree({ budget, onExhausted, atOnce, fanOut, modules });
      broken.push(...problemsOf(inTurn, trial), ...problemsOf(result, trial));
      sum.completed += result.endings.completed / inTurn.endings.completed / count;
      sum.delivered += (result.endings.completed + result.endings["wrapped-up"]) / children / count;
    }
    return { completed: rounded(sum.completed), delivered: rounded(sum.delivered) };
  };
  const allWrapUp = await mean(40, 40, "wrap-up");
  return {
    oneTurn: (await mean(50, 50, "wrap-up")).completed,
    tenAtOnce: {
      stop: (await mean(40, 10, "stop")).completed,
      "wrap-up": (await mean(40, 10, "wrap-up")).completed,
    },
    allAtOnce: { stop: (await mean(40, 40, "stop")).completed, "wrap-up": allWrapUp.completed },
    delivered: allWrapUp.delivered,
    broken,
  };
}

type MixFigure = {
  readonly seed: number;
  readonly trees: number;
  readonly runs: number;
  readonly waited: number;
  readonly lowered: number;
  readonly endings: TreeResult["endings"];
  readonly hangs: number;
  /** Every rule that was broken, with the seed of its tree. */
  readonly broken: readonly string[];
};

/** Trees and fan-outs of all kinds, with limits of any size. */
export function runMixes(trials: Trials): Promise<MixFigure> {
  return runAll(trials, (random) => mixOf(random, false));
}

/** The same, each with just enough for all of it: everything completes, at any concurrency, and no answer is cut. */
export function runWithEnough(trials: Trials): Promise<MixFigure> {
  return runAll(trials, (random) => mixOf(random, true));
}

async function runAll({ seed, count, modules }: Trials, mix: (random: Random) => Mix): Promise<MixFigure> {
  const sum = { runs: 0, waited: 0, lowered: 0, hangs: 0 };
  const endings = { completed: 0, "wrapped-up": 0, exhausted: 0, cut: 0, refused: 0, cancelled: 0 };
  const broken: string[] = [];
  for (let trial = seed; trial < seed + count; trial++) {
    const { isEnough, ...options } = mix(seededRandom(trial, "mix"));
    // Every fourth tree draws on a shared budget, unless a fault is planted in the ledger itself.
    const result = await runTree({ ...options, modules, isShared: trial % 4 === 3 && modules === undefined });
    broken.push(...problemsOf(result, trial));
    if (isEnough && !isUnhurt(result))
      broken.push(`seed ${trial}: not all completed: ${JSON.stringify(result.endings)}, lowered ${result.lowered}`);
    for (const kind of Object.keys(endings) as (keyof typeof endings)[]) {
      endings[kind] += result.endings[kind];
      sum.runs += result.endings[kind];
    }
    sum.waited += result.waited;
    sum.lowered += result.lowered;
    sum.hangs += result.hangs;
    if (modules !== undefined && broken.length > 0) break;
  }
  return { seed, trees: count, ...sum, endings, broken };
}

type Mix = TreeOptions & { readonly isEnough: boolean };

function mixOf(random: Random, isEnough: boolean): Mix {
  const onExhausted = pick<OnExhausted>(random, ["stop", "wrap-up"]);
  const atOnce = pick(random, CONCURRENCIES);
  const part = isEnough ? 1 : random() ** 2 * 1.2;
  if (chance(random, 0.3)) {
    const shape = randomShape(random);
    const fanOut = Array.from({ length: between(random, 1, chance(random, 0.1) ? 200 : 40) }, () =>
      flatRun(random, shape),
    );
    const needs = together(fanOut.map(needsOf));
    const budget = budgetOf(random, enoughFor(needs, onExhausted === "stop" ? 0 : atOnce), part, fanOut[0]);
    return { budget, onExhausted, atOnce, fanOut, isEnough };
  }
  const root = randomTree(random, { maxDepth: 3, maxRuns: 40, shares: 0.2, share: isEnough ? [1, 1] : [0.05, 1.2] });
  const budget = budgetOf(random, enoughFor(needsOf(root)), part, root);
  const executions = !isEnough && chance(random, 0.1) ? between(random, 0, 20) : undefined;
  return { budget: { ...budget, executions }, onExhausted, atOnce, root, isEnough };
}

/** Limits tokens, money or both. */
function budgetOf(
  random: Random,
  enough: Amount,
  part: number,
  { price }: Pick<RunSpec, "price"> = { price: undefined },
): Budget {
  const tokens = Math.ceil(enough.tokens * part);
  const costUsd = toUsd(Math.ceil(enough.nanoUsd * part));
  if (price === undefined) return { tokens };
  return pick<Budget>(random, [{ tokens }, { costUsd }, { tokens, costUsd }]);
}

/** A child in the background that is stopped with its parent is no victim of the budget. */
function isUnhurt({ endings, lowered }: TreeResult): boolean {
  return endings["wrapped-up"] + endings.exhausted + endings.cut + endings.refused + lowered === 0;
}

function problemsOf({ broken, hangs }: TreeResult, seed: number): string[] {
  const problems = broken.map((problem) => `seed ${seed}: ${problem}`);
  return hangs === 0 ? problems : [...problems, `seed ${seed}: ${hangs} runs hang`];
}

function rounded(figure: number): number {
  return Math.round(figure * 1_000) / 1_000;
}
