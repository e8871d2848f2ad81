/**
 * R11: every write of a reference run on a real database fails in turn, in four ways, for a moment or for good, in runs
 * that require their store and in runs that do not. Nothing is lost in silence, and nothing is said to be kept that is not.
 */

import { execFile } from "node:child_process";
import { promisify } from "node:util";

export type SweepOrder = { turns: number; writes: readonly number[] };

export type SweepResult = {
  runs: number;
  /** Writes of a run in which none fails for good. */
  writes: number;
  /** Runs in which a write failed, by way. */
  failed: Record<string, number>;
  broken: { write: number; way: string; mode: string; problems: string[] }[];
};

export type FailedWritesFigure = SweepResult & { milliseconds: number };

/** `writes` are the numbers of the writes that fail, one at a time; each process takes a part of them. */
export async function runFailedWrites(order: SweepOrder, processes = 2): Promise<FailedWritesFigure> {
  const startedAt = performance.now();
  const shares = Array.from({ length: processes }, (_, share) =>
    order.writes.filter((_write, at) => at % processes === share),
  );
  const results = await Promise.all(shares.map((writes) => sweep({ ...order, writes })));
  const figure: FailedWritesFigure = { runs: 0, writes: 0, failed: {}, broken: [], milliseconds: 0 };
  for (const { runs, writes, failed, broken } of results) {
    figure.runs += runs;
    figure.writes = Math.max(figure.writes, writes);
    figure.broken.push(...broken);
    for (const [way, count] of Object.entries(failed)) figure.failed[way] = (figure.failed[way] ?? 0) + count;
  }
  figure.milliseconds = Math.round(performance.now() - startedAt);
  return figure;
}

async function sweep(order: SweepOrder): Promise<SweepResult> {
  const worker = new URL("r11-worker.ts", import.meta.url).pathname;
  const environment = { ...process.env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "" };
  const parameters = ["--conditions=sous-source", worker, JSON.stringify(order)];
  const { stdout } = await promisify(execFile)(process.execPath, parameters, { env: environment, maxBuffer: 2 ** 26 });
  return JSON.parse(stdout) as SweepResult;
}
