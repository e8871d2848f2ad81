/** The description of `sous replay`. */

import { CONFIG, type CommandEntry, DB_PATH, DISPLAY, JSON_OPTION } from "./entry.ts";
import { LISTED_STATUSES } from "./statuses.ts";

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
