/** `sous stats`: what was spent and how runs ended, by agent, model, project and day. */

import { processContext } from "../files/paths.ts";
import { statsLines } from "../stats/stats-lines.ts";
import { type Grouping, readStats, Stats } from "../stats/sums.ts";
import { findDatabase, isThere, noDatabase, openRuns } from "../stored/database.ts";
import { timestamp, withSnakeCase } from "../stored/run-json.ts";
import { readOnlyOptions } from "../table/options.ts";
import { GROUPINGS, STATS } from "../table/stored-entries.ts";
import { openOutput, printJson, tell } from "../terminal/output.ts";

export async function stats(parameters: readonly string[]): Promise<number> {
  const values = readOnlyOptions(STATS, parameters);
  const { since, by } = values;
  const file = await findDatabase({ dbPath: values["db-path"], configFile: values.config }, processContext());
  const counted = isThere(file) ? await countRuns(file, since) : new Stats();
  const output = openOutput(process.stdout, values);
  if (values.json) printJson(statsJson(counted, since));
  else if (!counted.isEmpty) output.print(statsLines(counted, { since, by, output }));
  if (counted.isEmpty) tell(nothingCounted(file, since));
  return 0;
}

async function countRuns(file: string, since: number | undefined): Promise<Stats> {
  await using store = await openRuns(file, "read");
  return await readStats(store, since);
}

function nothingCounted(file: string, since: number | undefined): string {
  if (!isThere(file)) return noDatabase(file);
  return since === undefined
    ? "There are no runs to count yet. sous demo makes one."
    : "No run has started since then; sous stats without --since counts all.";
}

/** Every group, unrounded. */
function statsJson(stats: Stats, since: number | undefined): Record<string, unknown> {
  return {
    schema: "sous.stats.v1",
    since: timestamp(since),
    total: withSnakeCase(stats.total),
    damaged: stats.damaged,
    ...Object.fromEntries(GROUPINGS.map((by) => [`${by}s`, groupsJson(stats, by)])),
  };
}

function groupsJson(stats: Stats, by: Grouping): Record<string, unknown>[] {
  return stats.groups(by).map(({ name, sums }) => ({ [by]: name ?? null, ...(withSnakeCase(sums) as object) }));
}
