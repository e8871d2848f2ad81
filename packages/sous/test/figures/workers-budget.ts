/**
 * Children on worker processes race for a budget in Postgres with room for few of them, while workers are killed. By the provider's own
 * count no more is spent than the tree, or any lead with a share of its own, may spend; and nothing hangs.
 */

import { setTimeout as pause } from "node:timers/promises";
import { readWholeTree } from "../../src/core/read-tree.ts";
import { checkHistory } from "../../src/testing/checker.ts";
import { between, seededRandom } from "../../src/testing/world.ts";
import { OUTPUT_TOKENS } from "./workers-provider.ts";
import { type Shape, taskOf } from "./workers-script.ts";
import { resultWithin, WorkersStage } from "./workers-stage.ts";

export type WorkersBudgetOptions = {
  readonly seed: number;
  readonly trees: number;
  readonly shape: Shape;
  readonly workers: number;
  /** Workers that are killed and replaced in each tree. */
  readonly kills: number;
  readonly tokens: number;
  /** The share of each lead; none when unset. */
  readonly share?: number | undefined;
};

export type WorkersBudgetFigure = {
  trees: number;
  kills: number;
  /** Tokens by the provider's count in the tree that came nearest to its budget, and that budget. */
  mostSpent: number;
  budget: number;
  completed: number;
  refused: number;
  broken: { tree: number; problems: string[] }[];
};

/** Tokens of every prompt as the provider bills it: less than what sous sets aside for it. */
const PROMPT_TOKENS = 300;
const PATIENCE_MS = 90_000;

export async function runWorkersBudget(options: WorkersBudgetOptions): Promise<WorkersBudgetFigure> {
  const { seed, trees, workers, tokens, share } = options;
  const figure: WorkersBudgetFigure = {
    ...{ trees: 0, kills: 0, mostSpent: 0, budget: tokens, completed: 0, refused: 0, broken: [] },
  };
  const delayMs = () => 10 + Math.random() * 40;
  await using stage = await WorkersStage.open({ delayMs, toolMs: 10, places: 200, promptTokens: PROMPT_TOKENS, share });
  await Promise.all(Array.from({ length: workers }, () => stage.start()));
  for (let tree = 0; tree < trees; tree++) {
    const problems = await race(stage, { ...options, name: `b${seed}-${tree}`, tree }, figure);
    figure.trees += 1;
    if (problems.length > 0) figure.broken.push({ tree, problems: problems.slice(0, 10) });
  }
  return figure;
}

type Race = WorkersBudgetOptions & { readonly name: string; readonly tree: number };

async function race(stage: WorkersStage, options: Race, figure: WorkersBudgetFigure): Promise<string[]> {
  const { name, shape, tokens, share, kills, seed, tree } = options;
  const random = seededRandom(seed, `budget ${tree}`);
  const { root, runtime } = stage.runtime();
  const submitted = await runtime.submit(root, taskOf(name, shape), { budget: { tokens } });
  let isOver = false;
  const killing = (async () => {
    for (let kill = 0; kill < kills && !isOver; kill++) {
      await pause(300 + random() * 700);
      const hand = stage.workers[between(random, 0, stage.workers.length - 1)];
      if (isOver || hand === undefined) return;
      figure.kills += 1;
      await stage.kill(hand);
      await stage.start();
    }
  })();
  const result = await resultWithin(submitted, PATIENCE_MS);
  isOver = true;
  await killing;
  if (result === undefined) return ["The tree has no end"];
  const problems = checkHistory(await readWholeTree(stage.store, submitted.id));
  const spent = spentBy(stage, name);
  figure.mostSpent = Math.max(figure.mostSpent, spent);
  if (spent > tokens) problems.push(`The provider billed ${spent} tokens of ${tokens}`);
  for (let lead = 0; share !== undefined && lead < (shape[0] ?? 0); lead++) {
    const ofLead = spentBy(stage, `${name}.${lead}`);
    if (ofLead > share) problems.push(`Lead ${lead} was billed ${ofLead} tokens of ${share}`);
  }
  for (const { path, status, endedAt } of await stage.store.tree(submitted.id)) {
    if (endedAt === undefined) problems.push(`${path} has no end`);
    if (status === "completed") figure.completed += 1;
    else figure.refused += 1;
  }
  const [left] = await stage.rows<{ held: string }>(
    "select coalesce(sum(in_flight + kept), 0)::text as held from sous.budgets where name like $1",
    [`${submitted.id}%`],
  );
  if (left?.held !== "0") problems.push(`${left?.held} tokens are still held`);
  return problems;
}

/** Every request counts, also one whose answer never arrived. */
function spentBy({ provider }: WorkersStage, name: string): number {
  const asked = provider.requests.filter(({ part }) => part === name || part.startsWith(`${name}.`));
  return asked.length * (PROMPT_TOKENS + OUTPUT_TOKENS);
}
