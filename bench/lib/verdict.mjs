/** Whether sous reached its goals and whether any peer is better, with ten per cent allowed for noise. */

import { COLUMNS } from "./plan.mjs";
import { comparedValue, goalOf, ROWS } from "./rows.mjs";

const TOLERANCE = 1.1;
const SUBJECT = "sous";

/** What the last column of the table says; empty where sous was not measured. */
export function describeGoal(row, summaries) {
  const value = comparedValue(row, SUBJECT, summaries);
  if (value === undefined) return "";
  const excess = value / goalOf(row, summaries);
  if (excess <= 1) return "reached";
  const percent = Math.round((excess - 1) * 100);
  return excess <= TOLERANCE ? `within 10 % (+${percent} %)` : `missed by ${percent} %`;
}

/** Every reason why this run is not good enough, as sentences. */
export function findFailures(summaries) {
  return ROWS.flatMap((row) => [...missedGoals(row, summaries), ...betterPeers(row, summaries)]);
}

function missedGoals(row, summaries) {
  const verdict = describeGoal(row, summaries);
  return verdict.startsWith("missed") ? [`${row.label}: the goal is ${verdict}`] : [];
}

function betterPeers(row, summaries) {
  const own = summaries[SUBJECT]?.[row.figure]?.median;
  if (!row.isContest || own === undefined) return [];
  return COLUMNS.filter(({ kind }) => kind === "peer").flatMap(({ name }) => {
    const theirs = summaries[name]?.[row.figure]?.median;
    if (theirs === undefined || theirs * TOLERANCE >= own) return [];
    return [`${row.label}: ${name} is better, ${theirs.toPrecision(3)} to ${own.toPrecision(3)} ${row.unit}`.trim()];
  });
}
