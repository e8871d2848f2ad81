/** The rows of the table: which figure each one shows, how it is compared, and the goals that sous must reach. */

import { BARE } from "./cold-import.mjs";

/**
 * @typedef {{ median: number, least: number, most: number, count: number }} Summary
 * @typedef {Record<string, Record<string, Summary>>} Summaries By column name, then by figure.
 *
 * @typedef {object} Goal What one column must reach.
 * @property {number} [most] A multiple of the baseline, or a number of the row's unit.
 * @property {string} [baseline] The column it is a multiple of; `raw` when unset.
 * @property {number} [ofPi] The most it may be of what pi takes in the same run.
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

/** The columns that have goals: sous on AI SDK models, which is what users get, on its own port, and with its SQLite store. */
export const SUBJECTS = ["sous", "sous-native", "sous-durable"];

/** @type {Row[]} */
export const ROWS = [
  ratio("turn", "W1 turn, 1 tool call, 1 delta: CPU", "µs", {
    ...{ sous: { most: 6.5, ofPi: 0.55 }, "sous-native": { most: 4.5 }, "sous-durable": toRawDurable(1) },
  }),
  ratio("turnWall", "W1 turn: wall", "µs"),
  // The text of an answer with more deltas is longer, and both of the loops with a store write it.
  ratio("delta", "W1 per streamed delta: CPU", "µs", { sous: { most: 1.6 }, "sous-durable": toRawDurable(1.5) }),
  ratio("deltaWall", "W1 per streamed delta: wall", "µs"),
  { ...ratio("iteratorDelta", "W1 per delta, by iterator: CPU", "µs", { sous: { most: 4 } }), rawFigure: "delta" },
  ratio("delegation", "W2 one delegation (child: 3 turns): CPU", "µs", {
    ...{ sous: { most: 5.5, ofPi: 0.7 }, "sous-native": { most: 4 }, "sous-durable": toRawDurable(1.35) },
  }),
  ratio("delegationWall", "W2 one delegation: wall", "µs"),
  ratio("wall", "W3 200 children × 5 turns, 20 ms model: wall", "ms", { sous: { most: 1.12 } }),
  ratio("firstWall", "W3 200 children, the first of a process: wall", "ms"),
  ratio("largeWall", "W3 1,000 children: wall", "ms", { sous: { most: 1.7, ofPi: 1 } }),
  ratio("firstLargeWall", "W3 1,000 children, the first of a process: wall", "ms"),
  // The bare loop itself takes more for each of 10,000: their heap is large.
  ratio("hugeToMany", "W3 a child of 10,000 ÷ one of 1,000: CPU", "", { sous: { most: 1 } }),
  { ...ratio("heap", "W3 heap per live child", "KB", { sous: { most: 3.2 } }), isContest: false },
  absolute("resident", "W3 1,000 children: RSS per child", "KB", { sous: { most: 120, ofPi: 1 } }),
  absolute("growth", "W4 turn 400 ÷ turn 10 (2 KB results)", "", { sous: { most: 1.2 } }),
  absolute("longGrowth", "W4 turn 2,000 ÷ turn 10", "", { sous: { most: 1.2 } }),
  { ...ratio("root", "W10 a run of one answer: CPU", "µs", { sous: { ofPi: 1.2 } }), isContest: false },
  { ...absolute("coldImport", "W5 cold import", "ms", { sous: { most: 90 } }), goalAtBareNode: 41 },
  { ...absolute("installed", "installed size", "MB", { sous: { most: 36 } }), isContest: false },
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

/** Without goals the row is a contest only. @returns {Row} */
function ratio(figure, label, unit, goals = {}) {
  return { figure, label, unit, goals, isRatio: true, isContest: true };
}

/** @returns {Row} */
function absolute(figure, label, unit, goals = {}) {
  return { ...ratio(figure, label, unit, goals), isRatio: false };
}

/** @returns {Goal} */
function toRawDurable(most) {
  return { most, baseline: "raw-durable" };
}
