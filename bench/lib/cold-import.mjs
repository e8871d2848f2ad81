/** W5: how long a new process takes to start and to import a library, against one that imports nothing. */

import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { summarise } from "./statistics.mjs";

/** The name under which the process that imports nothing is reported. */
export const BARE = "bare node";

/**
 * @param {string} folder The folder of the benchmark.
 * @param {import("./plan.mjs").Column[]} columns
 * @returns {Record<string, import("./rows.mjs").Summary>} Milliseconds by column name.
 */
export function measureColdImports(folder, columns, rounds) {
  const imports = columns.filter((column) => column.entry !== undefined);
  const times = new Map([[BARE, []], ...imports.map((column) => [column.name, []])]);
  // The first round only warms the disk cache.
  for (let round = 0; round <= rounds; round++) {
    const keep = (name, time) => round > 0 && times.get(name).push(time);
    keep(BARE, timeOf("", folder));
    for (const column of imports) {
      const script = `await import(${JSON.stringify(column.entry)}); process.exit(0)`;
      keep(column.name, timeOf(script, join(folder, dirname(column.adapter))));
    }
  }
  return Object.fromEntries([...times].map(([name, values]) => [name, summarise(values)]));
}

function timeOf(script, cwd) {
  const started = performance.now();
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], {
    cwd,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`Cannot run ${script || "nothing"} in ${cwd}: ${stderr}`);
  return performance.now() - started;
}
