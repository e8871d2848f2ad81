/** W7: how many events of 1 KB the store keeps per second, against bare `node:sqlite`. */

import { join } from "node:path";
import { STORE } from "./pairs.mjs";
import { timeProcess } from "./timed-process.mjs";

/**
 * @param {string} folder The folder of the benchmark.
 * @returns {import("./rounds.mjs").Measurement[]}
 */
export function measureStorage(folder, settings) {
  const parameters = [join(folder, "lib/storage-worker.mjs"), JSON.stringify(settings)];
  const { stdout, error } = timeProcess(parameters, folder);
  const found = stdout.match(/^FIGURES (.*)$/m)?.[1];
  if (found === undefined) return [{ column: STORE, job: "W7", round: 1, error: error ?? "no figures" }];
  return JSON.parse(found).map((one) => ({ job: "W7", ...one }));
}
