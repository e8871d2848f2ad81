/** W5: how long a new process takes to start and to import a library, against one that imports nothing. */

import { dirname, join } from "node:path";
import { timeBareNode, timeProcess } from "./timed-process.mjs";

/** The name under which the process that imports nothing is reported. */
export const BARE = "bare node";

/**
 * @param {string} folder The folder of the benchmark.
 * @param {import("./plan.mjs").Column[]} columns
 * @returns {import("./rounds.mjs").Measurement[]}
 */
export function measureColdImports(folder, columns, rounds) {
  const imports = columns.filter((column) => column.entry !== undefined);
  const measured = [];
  // Round 0 only warms the disk cache.
  for (let round = 0; round <= rounds; round++) {
    const all = [
      { column: BARE, ...toFigures(timeBareNode(folder)) },
      ...imports.map(({ name, entry, adapter }) => {
        const script = `await import(${JSON.stringify(entry)}); process.exit(0)`;
        const parameters = ["--input-type=module", "--eval", script];
        return { column: name, ...toFigures(timeProcess(parameters, join(folder, dirname(adapter)))) };
      }),
    ];
    if (round > 0) measured.push(...all.map((one) => ({ job: "W5", round, ...one })));
  }
  return measured;
}

function toFigures({ milliseconds, error }) {
  return error === undefined ? { figures: { coldImport: milliseconds } } : { error };
}
