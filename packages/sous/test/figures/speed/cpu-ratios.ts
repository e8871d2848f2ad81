/** The CPU time of the main thread for a turn, a piece of text, a delegation and a root, as multiples of the bare loop. */

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { rootFolder } from "../../support/source-files.ts";
import { builtPackage } from "../../support/speed-counts.ts";
import type { CPU_RATIOS } from "../../support/speed-table.ts";

type Ratios = typeof CPU_RATIOS;

const JOBS = ["W1", "W2", "W10"];
const FIGURES = ["turn", "delta", "delegation", "root"] as const;
/** As long as `npm run bench` takes for each. */
const SETTINGS = { turns: 50, deltas: 200, delegations: 100, warmUpMilliseconds: 2500, measureMilliseconds: 1200 };
const ROUNDS = 3;

/** The least of three rounds, in which both take turns: others at work on the machine can only make it more. */
export async function measureCpuRatios(): Promise<Ratios> {
  using built = await builtPackage();
  const rounds = Array.from({ length: ROUNDS }, () => {
    const raw = timesOf("baselines/raw.mjs", built.dist);
    const sous = timesOf("peers/sous/ai-sdk.mjs", built.dist);
    return FIGURES.map((figure) => [figure, (sous[figure] ?? Number.NaN) / (raw[figure] ?? Number.NaN)] as const);
  });
  const least = FIGURES.map((figure, at) => [figure, Math.min(...rounds.map((round) => round[at]?.[1] ?? Number.NaN))]);
  return Object.fromEntries(least) as Ratios;
}

function timesOf(adapter: string, dist: string): Partial<Record<string, number>> {
  const worker = join(rootFolder, "bench/lib/worker.mjs");
  const env = { ...process.env, SOUS_DIST: dist, NODE_OPTIONS: "" };
  const times: Partial<Record<string, number>> = {};
  for (const job of JOBS) {
    const parameters = ["--expose-gc", worker, adapter, job, JSON.stringify(SETTINGS)];
    const { stdout, stderr } = spawnSync(process.execPath, parameters, { encoding: "utf8", env });
    const [, figures] = /^FIGURES (.*)$/m.exec(stdout) ?? [];
    if (figures === undefined) throw new Error(`${adapter} failed in ${job}: ${stderr}`);
    Object.assign(times, JSON.parse(figures));
  }
  return times;
}
