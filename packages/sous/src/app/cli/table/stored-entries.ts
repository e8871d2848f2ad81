/** The descriptions of commands about stored runs: `sous replay`, `sous stats` and `sous metrics`. Help loads them. */

import type { RunRecord } from "../../../core/store.ts";
import { CONFIG, type CommandEntry, DB_PATH, DISPLAY, JSON_OPTION, oneGroup } from "./entry.ts";

// A record, so that the compiler finds a status that is missing.
const LISTED: Readonly<Record<RunRecord["status"], true>> = {
  completed: true,
  incomplete: true,
  failed: true,
  cancelled: true,
  timeout: true,
  budget_exceeded: true,
  refused: true,
  interrupted: true,
  waiting: true,
  queued: true,
  running: true,
};

/** The statuses in the order of help and reference: frequent endings first, runs without an end last. */
export const LISTED_STATUSES = Object.keys(LISTED) as readonly RunRecord["status"][];

export const REPLAY = {
  name: "replay",
  about: "inspect stored runs, replay them, compare them",
  text: [
    'ID is a whole id, at least 6 characters of its beginning, or "last" for the newest root of this folder, or of all folders if this one has none.',
  ],
  usage: [
    "replay --list [--roots] [--here] [--limit 10] [--since 7d]",
    "replay --id ID [--full | --request N]",
    "replay --tree --id ID",
    "replay --rerun --id ID [--live-tools]",
    "replay --diff ID ID",
    "replay --export md|json|html --id ID [--output FILE]",
    "replay --save-cassette FILE --id ID",
    "replay --import FILE | --backup FILE | --prune 30d",
  ],
  examples: [
    "sous replay --list --roots --here",
    "sous replay --list --status failed --since 7d",
    "sous replay --tree --id last",
    "sous replay --id 01K2F8Q6ZV --request 3",
    "sous replay --export html --id last --output run.html",
    "sous replay --list --json | jq -r '.runs[] | select(.depth == 0).id'",
  ],
  groups: [
    {
      title: "inspect",
      options: [
        { name: "list", short: "l", about: "all runs, newest first; roots are marked" },
        { name: "roots", about: "with --list: no children, and all messages of a conversation as one entry" },
        { name: "here", about: "with --list: only runs of this folder" },
        {
          name: "status",
          value: "S",
          words: LISTED_STATUSES,
          about: `${LISTED_STATUSES.slice(0, -1).join(", ")} or ${LISTED_STATUSES.at(-1)}`,
        },
        { name: "since", value: "WHEN", about: "started since then: 45m, 12h, 7d, 2w or a date" },
        { name: "limit", value: "N", default: "10", about: "at most N runs (default 10)" },
        { name: "offset", value: "N", default: "0", allows: "0", about: "skip the first N" },
        {
          name: "id",
          short: "i",
          value: "ID",
          about: "one run: what it was, its task and its messages",
        },
        { name: "full", about: "do not cut long texts" },
        { name: "request", value: "N", about: "the N-th request to the model, exactly as it was sent" },
        { name: "tree", short: "t", about: "with --id: its whole tree, with turns, tools, tokens, cost and time" },
      ],
    },
    {
      title: "replay",
      options: [
        {
          name: "rerun",
          about: "with --id: its tree once more from the recorded answers, without network; ends with 8 if it differs",
        },
        { name: "live-tools", about: "with --rerun: run the tools again, too" },
        { name: "diff", value: "ID ID", about: "two runs of one task side by side" },
      ],
    },
    {
      title: "export, import and delete",
      options: [
        {
          name: "export",
          value: "FORMAT",
          words: ["md", "json", "html"],
          about: "with --id: its tree as md, json or html",
        },
        { name: "output", value: "FILE", about: "write to this file instead of stdout" },
        {
          name: "save-cassette",
          value: "FILE",
          about: "with --id: its tree as a cassette that tests play",
        },
        { name: "import", value: "FILE", about: "import a tree that was exported as json" },
        { name: "new-ids", about: "with --import: give its runs new ids" },
        { name: "backup", value: "FILE", about: "a copy of the database, also while it is in use" },
        { name: "prune", value: "AGE", about: "delete trees that are older, such as 30d" },
        { name: "yes", about: "with --prune: do not ask when nothing would be left" },
        { name: "force", about: "replace the file of --output or --save-cassette" },
      ],
    },
    { title: "options", options: [DB_PATH, CONFIG, JSON_OPTION, ...DISPLAY] },
  ],
} as const satisfies CommandEntry;

/** The facts that runs can be grouped by. */
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

export const METRICS_COMMAND = {
  name: "metrics",
  about: "serve metrics of all stored runs to Prometheus",
  text: [
    "Adds up what every sous that stores its runs in this database has done, and answers at http://127.0.0.1:PORT/metrics, to programs on this machine only. Deleting runs makes no counter fall. While the database cannot be read the answer is 503. Ends with 0 when it is stopped.",
    "sous run and sous chat have --metrics-port for what only a live process knows: how long models take to answer, stalled runs, and what is left of budgets.",
  ],
  usage: ["metrics [--port 9464] [--db-path FILE]"],
  examples: ["sous metrics", "sous metrics --port 9500 &", "curl -s http://127.0.0.1:9464/metrics"],
  groups: oneGroup(
    {
      name: "port",
      value: "N",
      default: "9464",
      allows: "0",
      about: "listen there (default 9464); 0 takes a free one",
    },
    DB_PATH,
    CONFIG,
    ...DISPLAY,
  ),
} as const satisfies CommandEntry;
