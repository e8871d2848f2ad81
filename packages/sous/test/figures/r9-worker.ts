/** Runs the trees of R9 in a thread of its own: the hooks of the test runner make every promise twice as dear. */

import { once } from "node:events";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { type RightsFigure, runRightsTrees } from "./r9-rights.ts";

/** Rejects when the thread fails. */
export async function runRightsTreesAside(given: { seed: number; count: number }): Promise<RightsFigure> {
  const worker = new Worker(new URL(import.meta.url), { workerData: given });
  const [figure] = await once(worker, "message");
  return figure as RightsFigure;
}

if (!isMainThread) parentPort?.postMessage(await runRightsTrees(workerData as { seed: number; count: number }));
