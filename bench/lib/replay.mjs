/** W8: whether `sous replay` answers as fast in a database with a million runs as in one with ten. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FEW_RUNS, MANY_RUNS, QUESTIONS } from "./pairs.mjs";
import { timeProcess } from "./timed-process.mjs";

/**
 * @param {string} folder The folder of the benchmark.
 * @param {(progress: string) => void} onProgress
 * @returns {import("./rounds.mjs").Measurement[]}
 */
export function measureReplay(folder, { replayRounds, replayRuns }, onProgress) {
  const scratch = mkdtempSync(join(tmpdir(), "bench-replay-"));
  try {
    const databases = [
      { column: FEW_RUNS, runs: 10 },
      { column: MANY_RUNS, runs: replayRuns },
    ].map(({ column, runs }) => ({ column, runs, ...keepRuns(folder, join(scratch, `${runs}.db`), runs) }));
    const failed = databases.find(({ error }) => error !== undefined);
    if (failed !== undefined) return [{ column: failed.column, job: "W8", round: 1, error: failed.error }];
    onProgress(`W8, databases with 10 and ${replayRuns.toLocaleString("en")} runs made`);
    return askAll(folder, databases, replayRounds);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** The id of a root in the middle, or why there is no database. */
function keepRuns(folder, file, runs) {
  const { stdout, error } = timeProcess([join(folder, "lib/keep-runs.mjs"), file, String(runs)], folder);
  return { file, error, id: stdout.trim() };
}

function askAll(folder, databases, rounds) {
  const main = join(folder, "../packages/sous/dist/app/cli/main.js");
  const measured = [];
  // Round 0 only warms the disk cache.
  for (let round = 0; round <= rounds; round++) {
    for (const { figure, words, among10 = words, ids } of QUESTIONS) {
      for (const { column, runs, file, id } of round % 2 === 0 ? databases : databases.toReversed()) {
        const parameters = (runs === 10 ? among10 : words).replace("ID", id).split(" ");
        const { milliseconds, stdout, error } = timeProcess([main, "replay", ...parameters, "--db-path", file], folder);
        const problem = error ?? whatIsMissing(stdout, ids);
        if (problem !== undefined) measured.push({ column, job: "W8", round, error: `replay ${words}: ${problem}` });
        else if (round > 0) measured.push({ column, job: "W8", round, figures: { [figure]: milliseconds, runs } });
      }
    }
  }
  return measured;
}

/** Undefined when it showed at least so many different ids. */
function whatIsMissing(stdout, ids) {
  const shown = new Set(stdout.match(/\b01K[0-9A-V]{23}\b/g)).size;
  return shown >= ids ? undefined : `it printed ${shown} ids of ${ids}: ${JSON.stringify(stdout.slice(0, 200))}`;
}
