/** The table: one row per figure, one column per runtime, ratios to the bare loop, the goal and whether it was reached. */

import { BARE } from "./cold-import.mjs";
import { comparedValue, goalOf, ROWS } from "./rows.mjs";
import { describeGoal } from "./verdict.mjs";

/**
 * Markdown that is also aligned for a terminal.
 *
 * @param {string[]} columns
 * @param {import("./rows.mjs").Summaries} summaries
 */
export function renderTable(columns, summaries) {
  const shown = ROWS.filter((row) => columns.some((column) => summaries[column]?.[row.figure] !== undefined));
  const withGoals = columns.includes("sous");
  const head = ["workload", ...columns, ...(withGoals ? ["goal", "verdict"] : [])];
  const body = shown.map((row) => [
    labelOf(row, summaries),
    ...columns.map((column) => cellOf(row, column, summaries)),
    ...(withGoals ? [`≤ ${withUnit(row, goalOf(row, summaries))}`, describeGoal(row, summaries)] : []),
  ]);
  return alignTable([head, head.map(() => "-"), ...body]);
}

function labelOf(row, summaries) {
  const bare = summaries[BARE]?.[row.figure]?.median;
  return bare === undefined ? row.label : `${row.label} (bare Node ${bare.toFixed(0)} ms)`;
}

function cellOf(row, column, summaries) {
  const value = comparedValue(row, column, summaries);
  if (value === undefined) return "–";
  if (column === "raw") return `${readable(summaries.raw[row.figure].median)} ${row.unit}`.trim();
  const toV4 = column === "sous-v4" && row.isRatio ? comparedValue(row, column, summaries, "raw-v4") : undefined;
  return toV4 === undefined ? withUnit(row, value) : `${withUnit(row, value)} (${readable(toV4)}× raw-v4)`;
}

function withUnit(row, value) {
  return row.isRatio ? `${readable(value)}×` : `${readable(value)} ${row.unit}`.trim();
}

/** Three digits or so: 0.21, 4.37, 17.2, 865. */
function readable(value) {
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
