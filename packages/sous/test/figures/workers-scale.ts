/** Many placed children on two workers: the time beside the least that they can take, with a kill too, and what the store does for it. */

import { setTimeout as pause } from "node:timers/promises";
import { judge } from "./workers-judge.ts";
import { SCOUT, taskOf } from "./workers-script.ts";
import { WorkersStage } from "./workers-stage.ts";

export type ScaleFigure = {
  readonly children: number;
  readonly seconds: number;
  /** Of the time and the least time that the tree can take: the two calls of its root, and between them those of one child. */
  readonly ratio: number;
  readonly transactionsPerChild: number;
  readonly modelCallsAgain: number;
  readonly problems: string[];
};

export type ScaleOptions = {
  readonly children: number;
  readonly callMs: number;
  readonly toolMs: number;
  /** A worker is killed this long behind the start. */
  readonly killAfterMs?: number | undefined;
  readonly maxConnections?: number;
};

export async function measureScale(options: ScaleOptions): Promise<ScaleFigure> {
  const { children, callMs, toolMs, killAfterMs, maxConnections = 8 } = options;
  await using stage = await WorkersStage.open({ delayMs: () => callMs, toolMs, places: children, maxConnections });
  await Promise.all([stage.start(), stage.start()]);
  const before = await transactions(stage);
  const at = performance.now();
  const submitted = await stage.submit("scale", [children]);
  if (killAfterMs !== undefined) {
    await pause(killAfterMs);
    // Not the one that has the root: that is another figure.
    const holder = await stage.holderOf(submitted.id);
    const victim = stage.workers.find((each) => each !== holder);
    if (victim !== undefined) await stage.kill(victim);
  }
  const result = await submitted.result;
  const seconds = (performance.now() - at) / 1_000;
  const least = ((2 + SCOUT.modelCalls) * callMs + SCOUT.toolCalls * toolMs) / 1_000;
  const after = await transactions(stage);
  // A kill leaves the workers that are not replaced.
  const verdict = await judge(stage, { name: "scale", shape: [children], isPlayed: false }, result);
  return {
    children,
    seconds: round(seconds),
    ratio: round(seconds / least),
    transactionsPerChild: round((after - before) / children),
    modelCallsAgain: verdict.modelCallsAgain,
    problems: verdict.problems.slice(0, 10),
  };
}

/** The time until this many children of one root have begun, from a process with a pool of this size. */
export async function measureBeginning(
  children: number,
  maxConnections: number,
): Promise<{ children: number; seconds: number }> {
  await using stage = await WorkersStage.open({ delayMs: () => 0, toolMs: 0, places: 1, maxConnections });
  const { root, runtime } = stage.runtime();
  const at = performance.now();
  const handle = runtime.run(root, taskOf("many", [children]));
  const running = handle.result;
  for (let begun = 0; begun < children; await pause(50)) {
    const [row] = await stage.rows<{ begun: number }>(
      "select count(*)::integer as begun from sous.trees where is_open",
    );
    begun = row?.begun ?? 0;
  }
  const seconds = round((performance.now() - at) / 1_000);
  handle.cancel();
  await running;
  return { children, seconds };
}

async function transactions(stage: WorkersStage): Promise<number> {
  const [row] = await stage.rows<{ count: number }>(
    "select (xact_commit + xact_rollback)::integer as count from pg_stat_database where datname = current_database()",
  );
  return row?.count ?? 0;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
