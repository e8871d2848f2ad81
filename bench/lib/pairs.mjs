/** The rows of the second table, and their goals: each is compared with one other thing, not with other runtimes. */

import { BARE } from "./cold-import.mjs";

/** Under which names these are reported. */
export const COMMAND = "sous command";
export const PLAIN_SQLITE = "node:sqlite";
export const SQLITE_AND_JSON = "node:sqlite and JSON";
export const STORE = "sous store";
export const FEW_RUNS = "10 runs";
export const MANY_RUNS = "many runs";
export const SILENT = "sous without sinks";
export const WATCHED = "sous with all sinks";

/** Events in one transaction. */
export const BATCH_SIZES = [1, 10, 100];

/**
 * What `sous replay` is asked in both databases, by the name of the figure, and how many ids it then shows. Ten runs have no
 * five hundredth: there the list begins at the first, so that both print as much.
 */
export const QUESTIONS = [
  { figure: "list", words: "--list", ids: 10 },
  { figure: "listFailed", words: "--list --status failed", ids: 1 },
  { figure: "listSince", words: "--list --since 1d", ids: 10 },
  { figure: "listOffset", words: "--list --offset 500", among10: "--list --offset 0", ids: 10 },
  { figure: "tree", words: "--tree --id ID", ids: 10 },
  { figure: "show", words: "--id ID", ids: 1 },
];

/**
 * @typedef {object} Pair
 * @property {string} figure
 * @property {string} label
 * @property {string} unit
 * @property {string} limit What ours is divided by.
 * @property {string} own
 * @property {number | undefined} goal The ratio that ours must not pass; undefined where it is only shown.
 * @property {boolean} isAtLeast True where more is better.
 */

/** @type {Pair[]} */
export const PAIRS = [
  { figure: "version", label: "W6 sous --version", unit: "ms", limit: BARE, own: COMMAND, goal: 1.5, isAtLeast: false },
  { figure: "help", label: "W6 sous --help", unit: "ms", limit: BARE, own: COMMAND, goal: 2, isAtLeast: false },
  ...BATCH_SIZES.flatMap((size) => {
    const label = `W7 storage, events of 1 KB, ${size} a commit`;
    const row = { figure: `storedBy${size}`, label, unit: "rows/s", own: STORE, isAtLeast: true };
    return [
      { ...row, limit: PLAIN_SQLITE, goal: undefined },
      { ...row, limit: SQLITE_AND_JSON, goal: 0.9 },
    ];
  }),
  ...QUESTIONS.map(({ figure, words }) => ({
    figure,
    label: `W8 sous replay ${words}`,
    unit: "ms",
    limit: FEW_RUNS,
    own: MANY_RUNS,
    goal: 1.2,
    isAtLeast: false,
  })),
  // Two spans cost the same, however little is said: the smallest turns are shown, and have no goal.
  watched("watchedTurn", "W9 turn with traces, metrics and logs, 200 deltas, SQLite store", 1.3),
  watched("watchedSmallTurn", "W9 turn with traces, metrics and logs, 1 delta, SQLite store", undefined),
  watched("watchedTurnInMemory", "W9 turn with traces, metrics and logs, 1 delta, in memory", undefined),
];

/** @returns {Pair} */
function watched(figure, label, goal) {
  return { figure, label, unit: "µs", limit: SILENT, own: WATCHED, goal, isAtLeast: false };
}

/** @returns {number | undefined} */
export function ratioOf({ figure, limit, own }, summaries) {
  const [ours, theirs] = [summaries[own]?.[figure]?.median, summaries[limit]?.[figure]?.median];
  return ours === undefined || theirs === undefined ? undefined : ours / theirs;
}
