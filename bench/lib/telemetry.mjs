/** W9: what a turn takes with traces, metrics and logs, against one without. */

import { join } from "node:path";
import { WATCHED } from "./pairs.mjs";
import { timeProcess } from "./timed-process.mjs";

/**
 * @param {string} folder The folder of the benchmark.
 * @returns {import("./rounds.mjs").Measurement[]}
 */
export function measureTelemetry(folder, settings) {
  const parameters = [join(folder, "lib/telemetry-worker.mjs"), JSON.stringify(settings)];
  const { stdout, error } = timeProcess(parameters, folder);
  const found = stdout.match(/^FIGURES (.*)$/m)?.[1];
  if (found === undefined) return [{ column: WATCHED, job: "W9", round: 1, error: error ?? "no figures" }];
  return JSON.parse(found).map((one) => ({ job: "W9", ...one }));
}
