/** The description of `sous stats`. */

import { CONFIG, type CommandEntry, DB_PATH, DISPLAY, JSON_OPTION, oneGroup } from "./entry.ts";

/** What runs can be grouped by. */
export const GROUPINGS = ["agent", "model", "project", "day"] as const;

export const STATS = {
  name: "stats",
  about: "what was spent and how runs ended, by agent, model or day",
  text: [
    "Counts every run of the database, children too, also those whose tree was deleted since; imported runs were paid for elsewhere and do not count. Runs that have not ended count with what they spent so far. Days are days in UTC. A cost that is not known is named as such, and ~ marks tokens that were estimated.",
  ],
  usage: ["stats [--since 7d] [--by agent|model|project|day] [--json]"],
  examples: [
    "sous stats --since 7d",
    "sous stats --by project --since 2026-11-01",
    "sous stats --json | jq '.agents[] | {agent, cost_usd}'",
  ],
  groups: oneGroup(
    { name: "since", value: "WHEN", about: "only runs that started since then: 45m, 12h, 7d, 2w or a date" },
    {
      name: "by",
      value: "GROUP",
      words: GROUPINGS,
      about: "only this table, in full: agent, model, project or day; --json always has all of them",
    },
    DB_PATH,
    CONFIG,
    JSON_OPTION,
    ...DISPLAY,
  ),
} as const satisfies CommandEntry;
