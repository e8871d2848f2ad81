/** The rounds: every job in every column, each in its own process, in an order that rotates from round to round. */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describeCrash } from "./crash.mjs";
import { takes } from "./plan.mjs";

const worker = fileURLToPath(new URL("worker.mjs", import.meta.url));

/** No peer may send anything anywhere while it is measured. */
const environment = {
  ...process.env,
  DO_NOT_TRACK: "1",
  LANGSMITH_TRACING: "false",
  MASTRA_TELEMETRY_DISABLED: "1",
  VOLTAGENT_TELEMETRY_DISABLED: "1",
};

/**
 * @typedef {object} Measurement
 * @property {string} column
 * @property {string} job
 * @property {number} round
 * @property {Record<string, number>} [figures]
 * @property {string} [error]
 */

/**
 * @param {import("./plan.mjs").Column[]} columns
 * @param {string[]} jobs
 * @param {(measured: Measurement[], progress: string) => void} onJobDone
 * @returns {Measurement[]}
 */
export function runRounds(columns, jobs, settings, onJobDone) {
  const measured = [];
  for (let round = 0; round < settings.rounds; round++) {
    for (const job of jobs) {
      const taking = columns.filter((column) => takes(column, job));
      if (taking.length === 0) continue;
      for (const column of rotated(taking, round)) measured.push({ round, ...measure(column, job, settings) });
      onJobDone(measured, `round ${round + 1} of ${settings.rounds}, ${job}`);
    }
  }
  return measured;
}

function measure(column, job, settings) {
  const parameters = ["--expose-gc", worker, column.adapter, job, JSON.stringify(settings)];
  const { stdout, stderr, error } = spawnSync(process.execPath, parameters, {
    encoding: "utf8",
    env: environment,
    maxBuffer: 64 * 2 ** 20,
    timeout: 180_000,
  });
  const figures = stdout?.match(/^FIGURES (.*)$/m)?.[1];
  if (figures !== undefined) return { column: column.name, job, figures: JSON.parse(figures) };
  return { column: column.name, job, error: error?.message ?? describeCrash(stderr) };
}

/** The same list, beginning elsewhere. */
export function rotated(list, by) {
  const start = by % list.length;
  return [...list.slice(start), ...list.slice(0, start)];
}
