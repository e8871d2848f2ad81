/**
 * Trees over worker processes on a real Postgres server, of which some are killed with SIGKILL at random moments. Every tree completes,
 * nothing that was finished is done again, and nothing is left behind.
 */

import { setTimeout as pause } from "node:timers/promises";
import type { Random } from "../../src/core/clock.ts";
import { between, seededRandom } from "../../src/testing/world.ts";
import { judge } from "./workers-judge.ts";
import { runsOf, SCOUT, type Shape } from "./workers-script.ts";
import { resultWithin, WorkersStage } from "./workers-stage.ts";

export type WorkersKillFigure = {
  seed: number;
  trees: number;
  kills: Record<Victim, number>;
  broken: { tree: number; victims: string; problems: string[] }[];
  /** Calls in flight that nobody had kept the outcome of, and that were made again. */
  modelCallsAgain: number;
  toolCallsAgain: number;
  events: number;
  milliseconds: number;
};

export type WorkersKillOptions = {
  readonly seed: number;
  readonly trees: number;
  readonly shape: Shape;
  readonly victims?: readonly Victim[];
  /** The budget of each tree, which is rows of the store then. */
  readonly tokens?: number;
};

/** `holder`: the worker that has the root. `backend`: one process of the server, after which it starts again by itself. */
export type Victim = "worker" | "holder" | "server" | "backend" | "both";
const VICTIMS: readonly Victim[] = ["worker", "holder", "server", "both", "backend"];

/** A tree that takes longer has hung. */
const PATIENCE_MS = 120_000;

export async function runWorkersKills(options: WorkersKillOptions): Promise<WorkersKillFigure> {
  const { seed, trees, shape, victims = VICTIMS, tokens } = options;
  const startedAt = performance.now();
  const kills = { worker: 0, holder: 0, server: 0, backend: 0, both: 0 };
  const figure: WorkersKillFigure = {
    ...{ seed, trees: 0, kills, broken: [], modelCallsAgain: 0, toolCallsAgain: 0, events: 0, milliseconds: 0 },
  };
  await using stage = await WorkersStage.open({ delayMs: () => 10 + Math.random() * 30, toolMs: 20, places: 200 });
  await Promise.all([stage.start(), stage.start()]);
  for (let tree = 0; tree < trees; tree++) {
    const random = seededRandom(seed, `tree ${tree}`);
    const chosen = Array.from({ length: between(random, 1, 3) }, (_, index) =>
      index === 0 ? victims[tree % victims.length] : victims[between(random, 0, victims.length - 1)],
    ).filter((victim) => victim !== undefined);
    const trial = { name: `t${seed}-${tree}`, shape, chosen, random, tokens };
    const problems = await liveThrough(stage, trial, figure);
    figure.trees += 1;
    if (problems.length > 0) figure.broken.push({ tree, victims: chosen.join(), problems: problems.slice(0, 10) });
    if (problems.includes(HUNG)) break;
  }
  figure.milliseconds = Math.round(performance.now() - startedAt);
  return figure;
}

type Trial = {
  readonly name: string;
  readonly shape: Shape;
  readonly chosen: readonly Victim[];
  readonly random: Random;
  readonly tokens: number | undefined;
};

const HUNG = "The tree has no end";

async function liveThrough(stage: WorkersStage, trial: Trial, figure: WorkersKillFigure): Promise<string[]> {
  const { name, shape, chosen, random, tokens } = trial;
  const scouts = shape.reduce((product, children) => product * children, 1);
  const requests = scouts * SCOUT.modelCalls + (runsOf(shape) - scouts) * 2;
  const before = stage.provider.requests.length;
  const submitted = await stage.submit(name, shape, tokens);
  let isOver = false;
  const killing = (async () => {
    // Spread over the whole of the tree, each a moment behind a request.
    const moments = chosen.map(() => between(random, 1, requests)).sort((one, other) => one - other);
    for (const [index, victim] of chosen.entries()) {
      const reached = new Promise<void>((resolve) => {
        const look = () => {
          if (isOver || stage.provider.requests.length - before >= (moments[index] ?? 0)) resolve();
          else setTimeout(look, 2);
        };
        look();
      });
      await reached;
      await pause(random() * 30);
      if (isOver) return;
      figure.kills[victim] += 1;
      await strike(stage, victim, submitted.id, random);
    }
  })();
  const result = await resultWithin(submitted, PATIENCE_MS);
  isOver = true;
  await killing;
  if (result === undefined) return [HUNG, ...(await openJournals(stage, submitted.id))];
  const { problems, modelCallsAgain, toolCallsAgain, events } = await judge(stage, { name, shape }, result);
  figure.modelCallsAgain += modelCallsAgain;
  figure.toolCallsAgain += toolCallsAgain;
  figure.events += events;
  return problems;
}

/** A killed worker is replaced, and a killed server comes back. */
async function strike(stage: WorkersStage, victim: Victim, rootId: string, random: Random): Promise<void> {
  const awayMs = random() * 1_500;
  if (victim === "server") return stage.crash(awayMs);
  if (victim === "backend") return killBackend(stage);
  const hand =
    (victim === "holder" ? await stage.holderOf(rootId) : undefined) ??
    stage.workers[between(random, 0, stage.workers.length - 1)];
  if (hand === undefined) return;
  await Promise.all([stage.kill(hand), victim === "both" ? stage.crash(awayMs) : undefined]);
  await pause(random() * 500);
  await stage.start();
}

async function killBackend(stage: WorkersStage): Promise<void> {
  const found = await stage.rows<{ pid: number }>(
    "select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() order by random() limit 1",
  );
  for (const { pid } of found) process.kill(pid, "SIGKILL");
}

async function openJournals(stage: WorkersStage, rootId: string): Promise<string[]> {
  const journals = await stage.store.placing.journals(rootId);
  return journals
    .filter(({ state }) => state !== "ended")
    .map(({ journalId, state, where, lastSeq, claims }) => `${journalId} ${state} ${where} ${lastSeq} ${claims}`);
}
