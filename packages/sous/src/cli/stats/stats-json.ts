/** What `sous stats --json` prints: every group, unrounded. */

import { timestamp, withSnakeCase } from "../stored/run-json.ts";
import type { Grouping, Stats } from "./sums.ts";

export function statsJson(stats: Stats, since: number | undefined): Record<string, unknown> {
  return {
    schema: "sous.stats.v1",
    since: timestamp(since),
    total: withSnakeCase(stats.total),
    agents: groupsJson(stats, "agent"),
    models: groupsJson(stats, "model"),
    projects: groupsJson(stats, "project"),
    days: groupsJson(stats, "day"),
  };
}

function groupsJson(stats: Stats, by: Grouping): Record<string, unknown>[] {
  return stats.groups(by).map(({ name, sums }) => ({ [by]: name ?? null, ...(withSnakeCase(sums) as object) }));
}
