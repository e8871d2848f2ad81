/** The tables: one of all runtimes, with ratios to the bare loop, and one of what is compared with a single other thing. */

import { BARE } from "./cold-import.mjs";
import { PAIRS, ratioOf } from "./pairs.mjs";
import { COLUMNS } from "./plan.mjs";
import { comparedValue, goalOf, ROWS, SUBJECTS } from "./rows.mjs";
import { describeGoal, describePair } from "./verdict.mjs";

/**
 * Markdown that is also aligned for a terminal: one row per figure, one column per runtime, the goals and whether they were
 * reached. Empty when nothing of it was measured.
 *
 * @param {string[]} columns
 * @param {import("./rows.mjs").Summaries} summaries
 * @param {string[]} subjects The columns whose goals are shown.
 */
export function renderTable(columns, summaries, subjects = SUBJECTS) {
  const shown = ROWS.filter((row) => columns.some((column) => summaries[column]?.[row.figure] !== undefined));
  if (shown.length === 0) return "";
  const judged = subjects.filter((column) => columns.includes(column));
  const head = ["workload", ...columns, ...judged.flatMap((column) => [`goal of ${column}`, "verdict"])];
  const body = shown.map((row) => [
    labelOf(row, summaries),
    ...columns.map((column) => cellOf(row, column, summaries)),
    ...judged.flatMap((column) => [goalCell(row, column, summaries), describeGoal(row, column, summaries)]),
  ]);
  return alignTable([head, head.map(() => "-"), ...body]);
}

/**
 * Empty when none of them was measured.
 *
 * @param {import("./rows.mjs").Summaries} summaries
 */
export function renderPairs(summaries) {
  const shown = PAIRS.filter((pair) => ratioOf(pair, summaries) !== undefined);
  if (shown.length === 0) return "";
  const head = ["compared", "with", "", "sous", "ratio", "goal", "verdict"];
  const body = shown.map((pair) => {
    const value = (column) => `${readable(summaries[column][pair.figure].median)} ${pair.unit}`;
    return [
      withRuns(pair, summaries),
      pair.limit,
      value(pair.limit),
      value(pair.own),
      `${readable(ratioOf(pair, summaries))}×`,
      pair.goal === undefined ? "–" : `${pair.isAtLeast ? "≥" : "≤"} ${pair.goal}×`,
      describePair(pair, summaries),
    ];
  });
  return alignTable([head, head.map(() => "-"), ...body]);
}

/** How many runs there were differs from mode to mode. */
function withRuns({ label, own }, summaries) {
  const runs = summaries[own].runs?.median;
  return runs === undefined ? label : `${label}, ${runs.toLocaleString("en")} runs`;
}

function labelOf(row, summaries) {
  const bare = summaries[BARE]?.[row.figure]?.median;
  return bare === undefined ? row.label : `${row.label} (bare Node ${bare.toFixed(0)} ms)`;
}

function cellOf(row, column, summaries) {
  const value = comparedValue(row, column, summaries);
  if (value === undefined) return "–";
  if (column === "raw") return `${readable(summaries.raw[row.figure].median)} ${row.unit}`.trim();
  const limit = COLUMNS.find(({ name }) => name === column)?.limit;
  const toLimit = limit === undefined || !row.isRatio ? undefined : comparedValue(row, column, summaries, limit);
  return toLimit === undefined ? withUnit(row, value) : `${withUnit(row, value)} (${readable(toLimit)}× ${limit})`;
}

function goalCell(row, column, summaries) {
  const goal = goalOf(row, column, summaries);
  const { baseline = "", ofPi } = row.goals[column] ?? {};
  const bounds = goal === undefined ? [] : [`≤ ${withUnit(row, goal)} ${baseline}`.trim()];
  if (ofPi !== undefined) bounds.push(`≤ ${ofPi} × pi`);
  return bounds.join(", ") || "–";
}

function withUnit(row, value) {
  return row.isRatio ? `${readable(value)}×` : `${readable(value)} ${row.unit}`.trim();
}

/** Three digits or so: 0.21, 4.37, 17.2, 865. */
export function readable(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2).replace(/\.0+$/, "");
}

function alignTable(lines) {
  const widths = lines[0].map((_, index) => Math.max(...lines.map((line) => line[index].length)));
  return lines
    .map((line) => line.map((cell, index) => cell.padEnd(widths[index], cell === "-" ? "-" : " ")))
    .map((line) => `| ${line.join(" | ")} |`)
    .join("\n");
}
