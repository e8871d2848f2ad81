/** Runs the trees of R9 in a thread of its own: the hooks of the test runner make every promise twice as dear. */

import { once } from "node:events";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { type RightsFigure, runRightsTrees } from "./r9-rights.ts";

type Trees = { seed: number; count: number };

/** The figures in the order of what was given. Rejects when the thread fails. */
export async function runRightsTreesAside(given: readonly Trees[]): Promise<RightsFigure[]> {
  const worker = new Worker(new URL(import.meta.url), { workerData: given });
  const [figures] = await once(worker, "message");
  return figures as RightsFigure[];
}

if (!isMainThread) {
  const figures: RightsFigure[] = [];
  for (const trees of workerData as readonly Trees[]) figures.push(await runRightsTrees(trees));
  parentPort?.postMessage(figures);
}
