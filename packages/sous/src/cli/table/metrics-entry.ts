/** The description of `sous metrics`. */

import { CONFIG, type CommandEntry, DB_PATH, DISPLAY, oneGroup } from "./entry.ts";

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
