/** Tells whether sous reached its goals and whether any peer is better, with ten per cent allowed for noise. */

import { PAIRS, ratioOf } from "./pairs.mjs";
import { COLUMNS } from "./plan.mjs";
import { comparedValue, goalOf, ROWS, SUBJECTS } from "./rows.mjs";

const TOLERANCE = 1.1;
const CONTESTANT = "sous";

/** What the table says of a column's goal; empty where there is none, or nothing was measured. */
export function describeGoal(row, column, summaries) {
  const value = comparedValue(row, column, summaries, row.goals[column]?.baseline);
  const goal = goalOf(row, column, summaries);
  const excesses = value === undefined || goal === undefined ? [] : [value / goal];
  const [own, pi] = [column, "pi"].map((name) => summaries[name]?.[row.figure]?.median);
  const ofPi = row.goals[column]?.ofPi;
  if (own !== undefined && pi !== undefined && ofPi !== undefined) excesses.push(own / pi / ofPi);
  return excesses.length === 0 ? "" : describeExcess(Math.max(...excesses));
}

/** What the table says of a pair; empty where there is no goal, or it was not measured. */
export function describePair(pair, summaries) {
  const ratio = ratioOf(pair, summaries);
  if (ratio === undefined || pair.goal === undefined) return "";
  return describeExcess(pair.isAtLeast ? pair.goal / ratio : ratio / pair.goal);
}

/** Every reason why this run is not good enough, as sentences. */
export function findFailures(summaries) {
  return [
    ...ROWS.flatMap((row) => [...missedGoals(row, summaries), ...betterPeers(row, summaries)]),
    ...PAIRS.flatMap((pair) => missedPair(pair, summaries)),
  ];
}

/** `excess` is how many times as much was taken as was allowed. */
function describeExcess(excess) {
  if (excess <= 1) return "reached";
  const percent = Math.round((excess - 1) * 100);
  return excess <= TOLERANCE ? `within 10 % (+${percent} %)` : `missed by ${percent} %`;
}

function missedGoals(row, summaries) {
  return SUBJECTS.flatMap((column) => {
    const verdict = describeGoal(row, column, summaries);
    return verdict.startsWith("missed") ? [`${row.label}: the goal of ${column} is ${verdict}`] : [];
  });
}

function missedPair(pair, summaries) {
  const verdict = describePair(pair, summaries);
  return verdict.startsWith("missed") ? [`${pair.label}: the goal is ${verdict}`] : [];
}

function betterPeers(row, summaries) {
  const own = summaries[CONTESTANT]?.[row.figure]?.median;
  if (!row.isContest || own === undefined) return [];
  return COLUMNS.filter(({ kind }) => kind === "peer").flatMap(({ name }) => {
    const theirs = summaries[name]?.[row.figure]?.median;
    if (theirs === undefined || theirs * TOLERANCE >= own) return [];
    return [`${row.label}: ${name} is better, ${theirs.toPrecision(3)} to ${own.toPrecision(3)} ${row.unit}`.trim()];
  });
}
