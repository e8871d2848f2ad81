/** The rows of the table: which figure each one shows, how it is compared, and the goals that sous must reach. */

import { BARE } from "./cold-import.mjs";

/**
 * @typedef {{ median: number, least: number, most: number, count: number }} Summary
 * @typedef {Record<string, Record<string, Summary>>} Summaries By column name, then by figure.
 *
 * @typedef {object} Goal What one column must reach.
 * @property {number} most A multiple of the baseline, or a number of the row's unit.
 * @property {string} [baseline] The column it is a multiple of; `raw` when unset.
 *
 * @typedef {object} Row
 * @property {string} figure
 * @property {string} label
 * @property {string} unit
 * @property {boolean} isRatio Shown and judged as a multiple of a baseline; otherwise as it is.
 * @property {string} [rawFigure] The figure of `raw` to compare with, where it has another name.
 * @property {Record<string, Goal>} goals By the column they are for.
 * @property {number} [goalAtBareNode] The start-up time of Node, in milliseconds, on the machine the goals were set on.
 * @property {boolean} isContest False where a peer may be better than sous.
 */

/** The columns that have goals: sous in memory, and sous with its SQLite store. */
export const SUBJECTS = ["sous", "sous-durable"];

/** @type {Row[]} */
export const ROWS = [
  ratio("turn", "W1 turn, 1 tool call, 1 delta", "µs", 5, toRawDurable(1.2)),
  // The text of an answer with more deltas is longer, and both of the loops with a store write it.
  ratio("delta", "W1 per streamed delta", "µs", 2, toRawDurable(1.5)),
  { ...ratio("iteratorDelta", "W1 per delta, by iterator", "µs", 4, { most: 4 }), rawFigure: "delta" },
  ratio("delegation", "W2 one delegation (child: 3 turns)", "µs", 4, toRawDurable(1.1)),
  ratio("wall", "W3 200 children × 5 turns, 20 ms model: wall", "ms", 1.15, { most: 1.3 }),
  ratio("firstWall", "W3 200 children, the first of a process: wall", "ms"),
  ratio("largeWall", "W3 1,000 children: wall", "ms", 1.5, { most: 2 }),
  ratio("firstLargeWall", "W3 1,000 children, the first of a process: wall", "ms"),
  // The files that everybody opens first are written naturally, and that is worth a few megabytes.
  ratio("heap", "W3 heap per live child", "KB", 3, { most: 3 }),
  absolute("resident", "W3 1,000 children: RSS per child", "KB", 110, { most: 110 }),
  absolute("growth", "W4 turn 400 ÷ turn 10 (2 KB results)", "", 1.2, { most: 1.2 }),
  { ...absolute("coldImport", "W5 cold import", "ms", 90), goalAtBareNode: 41 },
  { ...absolute("installed", "installed size", "MB", 35), isContest: false },
];

/**
 * What a column may take in this run; undefined where it has no goal. Only a machine that starts Node more slowly than the
 * goal's own moves the goal.
 *
 * @returns {number | undefined}
 */
export function goalOf(row, column, summaries) {
  const most = row.goals[column]?.most;
  if (most === undefined || row.goalAtBareNode === undefined) return most;
  const bare = summaries[BARE]?.[row.figure]?.median ?? row.goalAtBareNode;
  return most * Math.max(1, bare / row.goalAtBareNode);
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
function ratio(figure, label, unit, most, durable) {
  return { figure, label, unit, goals: goalsFor(most, durable), isRatio: true, isContest: true };
}

/** @returns {Row} */
function absolute(figure, label, unit, most, durable) {
  return { figure, label, unit, goals: goalsFor(most, durable), isRatio: false, isContest: true };
}

/** @returns {Goal} */
function toRawDurable(most) {
  return { most, baseline: "raw-durable" };
}

/** None without `most`: the row is a contest only. */
function goalsFor(most, durable) {
  return { ...(most && { sous: { most } }), ...(durable && { "sous-durable": durable }) };
}
