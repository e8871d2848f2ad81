/** The description of `sous replay`. */

import type { CommandEntry } from "./command-entry.ts";
import { DB_PATH, DISPLAY, JSON_OPTION } from "./common-options.ts";

export const REPLAY: CommandEntry = {
  name: "replay",
  about: "look at kept runs, play them again, compare them",
  text: ['ID is a whole id, at least 6 characters of its beginning, or "last" for the newest root.'],
  usage: [
    "replay --list [--limit 10] [--offset 0] [--status S] [--since 7d]",
    "replay --id ID [--full | --request N]",
    "replay --tree --id ID",
    "replay --rerun --id ID [--live-tools]",
    "replay --diff ID ID",
    "replay --export md|json|html --id ID [--output FILE]",
    "replay --save-cassette FILE --id ID",
    "replay --import FILE | --backup FILE | --prune 30d",
  ],
  examples: [
    "sous replay --list --status failed --since 7d",
    "sous replay --tree --id last",
    "sous replay --id 01K2F8Q6ZV --request 3",
    "sous replay --export html --id last --output run.html",
    "sous replay --list --json | jq -r '.runs[] | select(.depth == 0).id'",
  ],
  groups: [
    {
      title: "look",
      options: [
        { name: "list", short: "l", about: "all runs, newest first; roots are marked" },
        {
          name: "status",
          value: "S",
          words: [
            "completed",
            "incomplete",
            "failed",
            "cancelled",
            "timeout",
            "budget_exceeded",
            "refused",
            "interrupted",
            "running",
          ],
          about: "completed, incomplete, failed, cancelled, timeout, budget_exceeded, refused, interrupted or running",
        },
        { name: "since", value: "WHEN", about: "started since then: 45m, 12h, 7d, 2w or a date" },
        { name: "limit", value: "N", about: "so many (10)" },
        { name: "offset", value: "N", about: "behind so many" },
        {
          name: "id",
          short: "i",
          value: "ID",
          offers: "run",
          about: "one run: what it was, its task and its messages",
        },
        { name: "full", about: "long texts whole" },
        { name: "request", value: "N", about: "the N-th request to the model, exactly as it was sent" },
        { name: "tree", short: "t", about: "with --id: its whole tree, with turns, tools, tokens, cost and time" },
      ],
    },
    {
      title: "again",
      options: [
        {
          name: "rerun",
          about: "with --id: its tree once more from the recorded answers, without network; ends with 8 if it differs",
        },
        { name: "live-tools", about: "with --rerun: run the tools again, too" },
        { name: "diff", value: "ID ID", offers: "run", about: "two runs of one task side by side" },
      ],
    },
    {
      title: "out, in and away",
      options: [
        {
          name: "export",
          value: "FORMAT",
          words: ["md", "json", "html"],
          about: "with --id: its tree as md, json or html",
        },
        { name: "output", value: "FILE", offers: "file", about: "where to, instead of stdout" },
        {
          name: "save-cassette",
          value: "FILE",
          offers: "file",
          about: "with --id: its tree as a cassette that tests play",
        },
        { name: "import", value: "FILE", offers: "file", about: "take in a tree that was exported as json" },
        { name: "new-ids", about: "with --import: give its runs new ids" },
        { name: "backup", value: "FILE", offers: "file", about: "a copy of the database, also while it is in use" },
        { name: "prune", value: "AGE", about: "forget trees that are older, such as 30d" },
        { name: "yes", about: "with --prune: do not ask when nothing would be left" },
        { name: "force", about: "replace the file of --output or --save-cassette" },
      ],
    },
    { title: "options", options: [DB_PATH, JSON_OPTION, ...DISPLAY] },
  ],
};
