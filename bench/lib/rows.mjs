/** The rows of the table: which figure each one shows, how it is compared, and the goal that sous in memory must reach. */

import { BARE } from "./cold-import.mjs";

/**
 * @typedef {{ median: number, least: number, most: number, count: number }} Summary
 * @typedef {Record<string, Record<string, Summary>>} Summaries By column name, then by figure.
 *
 * @typedef {object} Row
 * @property {string} figure
 * @property {string} label
 * @property {string} unit
 * @property {boolean} isRatio Shown and judged as a multiple of `raw`; otherwise as it is.
 * @property {string} [rawFigure] The figure of `raw` to compare with, where it has another name.
 * @property {number} goal The most that sous may take: a multiple of `raw`, or a number of `unit`.
 * @property {number} [goalAtBareNode] The start-up time of Node, in milliseconds, on the machine the goal was set on.
 * @property {boolean} isContest False where a peer may be better than sous.
 */

/** @type {Row[]} */
export const ROWS = [
  ratio("turn", "W1 turn, 1 tool call, 1 delta", "µs", 5),
  ratio("delta", "W1 per streamed delta", "µs", 2),
  { ...ratio("iteratorDelta", "W1 per delta, by iterator", "µs", 4), rawFigure: "delta" },
  ratio("delegation", "W2 one delegation (child: 3 turns)", "µs", 4),
  ratio("wall", "W3 200 children × 5 turns, 20 ms model: wall", "ms", 1.15),
  ratio("largeWall", "W3 1,000 children: wall", "ms", 1.5),
  // 1.7 without a store; sous in memory keeps its events in the memory store.
  ratio("heap", "W3 heap per live child", "KB", 2),
  absolute("resident", "W3 1,000 children: RSS per child", "KB", 60),
  absolute("growth", "W4 turn 400 ÷ turn 10 (2 KB results)", "", 1.2),
  { ...absolute("coldImport", "W5 cold import", "ms", 90), goalAtBareNode: 41 },
  { ...absolute("installed", "installed size", "MB", 35), isContest: false },
];

/** What sous may take in this run. Only a machine that starts Node more slowly than the goal's own moves the goal. */
export function goalOf(row, summaries) {
  if (row.goalAtBareNode === undefined) return row.goal;
  const bare = summaries[BARE]?.[row.figure]?.median ?? row.goalAtBareNode;
  return row.goal * Math.max(1, bare / row.goalAtBareNode);
}

/**
 * A column's figure as this row compares it: a multiple of the baseline, or the figure itself.
 *
 * @returns {number | undefined}
 */
export function comparedValue(row, column, summaries, baseline = "raw") {
  const own = summaries[column]?.[row.figure]?.median;
  if (!row.isRatio || own === undefined) return own;
  const limit = summaries[baseline]?.[row.rawFigure ?? row.figure]?.median;
  return limit === undefined ? undefined : own / limit;
}

/** @returns {Row} */
function ratio(figure, label, unit, goal) {
  return { figure, label, unit, goal, isRatio: true, isContest: true };
}

/** @returns {Row} */
function absolute(figure, label, unit, goal) {
  return { figure, label, unit, goal, isRatio: false, isContest: true };
}
