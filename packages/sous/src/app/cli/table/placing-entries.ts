/** The descriptions of the commands about runs in other processes: `sous worker` and `sous cancel`. */

import { BARE, CONFIG, type CommandEntry, DB_PATH, DISPLAY, JSON_OPTION, MODEL, oneGroup } from "./entry.ts";
import { METRICS_PORT, QUIET, RIGHTS } from "./run-entries.ts";

/** More make the processes that one machine starts for tools compete. */
const DEFAULT_PLACES = 10;

const JSON_LINES = { ...JSON_OPTION, about: "one object a line on stdout, for scripts" } as const;

export const WORKER = {
  name: "worker",
  about: "continue runs and subagents that others place in this database",
  text: [
    "Takes runs of sous run --detach, and children of agents with place: worker, that were placed in this database from this folder, and continues each with the settings, rules, keys, models and agents that hold here. Workers on other machines need the same database in Postgres, and the same files under the same path.",
    "No one is asked here: an action that needs approval is asked about where the root runs, and refused for a root of sous run --detach, unless a rule, --allow or --yes of the worker allows it.",
    "INT or TERM: it takes nothing new, gives back what it has within two seconds, and ends with 0; another worker continues there. A second INT ends it at once. With --json every line of stdout is one object, result the last.",
  ],
  usage: ["worker [--name WORKER] [--places N] [options]"],
  examples: [
    "sous worker",
    'sous worker --name builder --places 4 --allow "terminal(npm test*)"',
    "sous worker --db-path postgres://sous@db.example/sous",
  ],
  groups: [
    {
      title: "worker",
      options: [
        { name: "name", value: "WORKER", about: "its name in journals and sous doctor (default HOST-PID)" },
        {
          name: "places",
          value: "N",
          default: String(DEFAULT_PLACES),
          about: `at most N runs at once (default ${DEFAULT_PLACES})`,
        },
      ],
    },
    RIGHTS,
    {
      title: "options",
      options: [MODEL, CONFIG, BARE, DB_PATH, JSON_LINES, QUIET, METRICS_PORT, ...DISPLAY],
    },
  ],
} as const satisfies CommandEntry;

export const CANCEL = {
  name: "cancel",
  about: "stop a run that workers have, and everything below it",
  text: [
    'ID is a whole id, at least 6 characters of its beginning, or "last" for the newest root of this folder. Its worker stops it within a second; one that no worker has ends as soon as one takes it. A run at work in a process that is no worker is stopped there, with Ctrl+C.',
  ],
  usage: ["cancel ID [options]"],
  examples: ["sous cancel last", "sous cancel 01K2F8Q6ZV"],
  offers: "run",
  groups: oneGroup(DB_PATH, CONFIG, JSON_OPTION, ...DISPLAY),
} as const satisfies CommandEntry;
