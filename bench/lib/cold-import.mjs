/** W5: how long a new process takes to start and to import a library, against one that imports nothing. */

import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { describeCrash } from "./crash.mjs";

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
      { column: BARE, ...timeOf("", folder) },
      ...imports.map(({ name, entry, adapter }) => {
        const script = `await import(${JSON.stringify(entry)}); process.exit(0)`;
        return { column: name, ...timeOf(script, join(folder, dirname(adapter))) };
      }),
    ];
    if (round > 0) measured.push(...all.map((one) => ({ job: "W5", round, ...one })));
  }
  return measured;
}

function timeOf(script, cwd) {
  const started = performance.now();
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], {
    cwd,
    encoding: "utf8",
  });
  const coldImport = performance.now() - started;
  return status === 0 ? { figures: { coldImport } } : { error: describeCrash(stderr) };
}
