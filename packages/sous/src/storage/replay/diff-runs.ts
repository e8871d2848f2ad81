/** Two runs side by side: their agents by path, their steps in rows, and what each came to. */

import { textOf } from "../../core/message.ts";
import type { RunStatus, StopReason } from "../../core/outcome.ts";
import { foldRunRecord, type Store, sumOfRuns } from "../../core/store.ts";
import type { Usage } from "../../core/usage.ts";
import { IdMap } from "./id-map.ts";
import { comparableOutput } from "./recorded-prompts.ts";
import { partOf, type RecordingPart, type RunRecording, readRecording } from "./recording.ts";
import { type RunStep, stepsOf } from "./run-steps.ts";

/** The sides on which a step or an agent is found. */
export type DiffMark = "same" | "changed" | "only-left" | "only-right";

/** Two runs side by side. */
export type RunsDiff = {
  left: DiffSide;
  right: DiffSide;
  /** Every agent was asked, said, called and read the same. */
  isSame: boolean;
  /** The agents in the order they started; one that is only on the right stands behind the one before it there. */
  agents: AgentDiff[];
};

/** One of the two, with everything below it. */
export type DiffSide = { runId: string; agent: string; model: string; task: string; totals: DiffTotals };

/** The totals of a run or an agent. */
export type DiffTotals = {
  status: RunStatus | "interrupted";
  stopReason: StopReason | undefined;
  agents: number;
  turns: number;
  toolCount: number;
  usage: Usage;
  /** Null when a price is unknown. */
  costUsd: number | null;
  /** The time from its start to its last event, follow-ups and pauses between them included. */
  durationMs: number;
};

/** One agent in both runs. */
export type AgentDiff = {
  /** The path from the compared run on: `lead/scout#2`, whatever is above it. */
  path: string;
  mark: DiffMark;
  left: AgentSide | undefined;
  right: AgentSide | undefined;
  rows: DiffRow[];
};

/** One agent over all its runs; its figures are its own. */
export type AgentSide = { agentId: string; agent: string; label: string; model: string; totals: DiffTotals };

/** One step of an agent on both sides. */
export type DiffRow = {
  mark: DiffMark;
  left: RunStep | undefined;
  right: RunStep | undefined;
  /** The fields of a changed step that differ. */
  changes: string[];
};

/** Children are matched by path, so a run in the middle of a tree can be compared with one that is a root. */
export async function diffRuns(
  store: Pick<Store, "read" | "run">,
  oneId: string,
  otherId: string,
  signal?: AbortSignal,
): Promise<RunsDiff> {
  const left = partOf(await readRecording(store, oneId, signal), oneId);
  const right = partOf(await readRecording(store, otherId, signal), otherId);
  const ids = new IdMap();
  for (const [path, runs] of left.paths) {
    for (const [index, run] of runs.entries()) {
      const other = right.paths.get(path)?.[index];
      if (other === undefined) continue;
      ids.bind(run.start.agentId, other.start.agentId);
      ids.bind(run.runId, other.runId);
    }
  }
  const agents: AgentDiff[] = [];
  for (const path of mergedPaths([...left.paths.keys()], [...right.paths.keys()])) {
    signal?.throwIfAborted();
    agents.push(diffAgent(path, left, right, ids));
  }
  const isSame = agents.every(({ mark }) => mark === "same");
  return { left: sideOf(left), right: sideOf(right), isSame, agents };
}

function diffAgent(path: string, left: RecordingPart, right: RecordingPart, ids: IdMap): AgentDiff {
  const one = left.paths.get(path);
  const other = right.paths.get(path);
  const steps = one === undefined ? [] : stepsOf(one, left.pathOf);
  const otherSteps = other === undefined ? [] : stepsOf(other, right.pathOf);
  const rows = toRows(steps, otherSteps, ids);
  const isSame = rows.every(({ mark }) => mark === "same");
  const mark = one === undefined ? "only-right" : other === undefined ? "only-left" : isSame ? "same" : "changed";
  return { path, mark, left: one && agentSide(one), right: other && agentSide(other), rows };
}

function toRows(left: readonly RunStep[], right: readonly RunStep[], ids: IdMap): DiffRow[] {
  const leftSteps = left.map((step) => toComparable(step, undefined));
  const rightSteps = right.map((step) => toComparable(step, ids));
  const changes = (one: number, other: number): string[] | undefined => {
    const [step, otherStep] = [leftSteps[one], rightSteps[other]];
    return step && otherStep && changesOf(step, otherStep);
  };
  const likeness = (one: number, other: number): number => {
    const found = changes(one, other);
    if (found === undefined) return 0;
    if (found.length === 0) return SAME;
    // Another tool is another step; an answer that calls tools is not the one that ends.
    if (found.includes("toolName") || found.includes("from")) return 0;
    return found.includes("finish") ? 1 : 2;
  };
  return align(left.length, right.length, likeness).map(({ left: one, right: other }) => {
    if (one === undefined) return { mark: "only-right", left: undefined, right: right[other ?? 0], changes: [] };
    if (other === undefined) return { mark: "only-left", left: left[one], right: undefined, changes: [] };
    const found = changes(one, other) ?? [];
    return { mark: found.length === 0 ? "same" : "changed", left: left[one], right: right[other], changes: found };
  });
}

/** The paths of the left, with those that are only on the right behind whatever came before them there. */
function mergedPaths(left: readonly string[], right: readonly string[]): string[] {
  const merged = [...left];
  const known = new Set(left);
  let before = -1;
  for (const path of right) {
    if (known.has(path)) before = merged.indexOf(path);
    else merged.splice(++before, 0, path);
  }
  return merged;
}

function sideOf({ top, paths }: RecordingPart): DiffSide {
  const { agent, model, task } = top.start;
  const last = paths.values().next().value?.at(-1) ?? top;
  const totals = totalsOf([...paths.values()].flat(), last, paths.size);
  return { runId: top.runId, agent, model, task: textOf(task), totals };
}

function agentSide(runs: readonly RunRecording[]): AgentSide | undefined {
  const [first] = runs;
  const last = runs.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const { agentId, agent, label, model } = first.start;
  return { agentId, agent, label, model, totals: totalsOf(runs, last, 1) };
}

/** `last` is the run that says how it ended. */
function totalsOf(runs: readonly RunRecording[], last: RunRecording, agents: number): DiffTotals {
  const records = runs.map(({ events }) => foldRunRecord("", events)).filter((record) => record !== undefined);
  const from = runs.reduce((first, { start }) => Math.min(first, start.time), Number.POSITIVE_INFINITY);
  const to = runs.reduce((latest, { events }) => Math.max(latest, events.at(-1)?.time ?? 0), 0);
  return {
    status: last.end?.status ?? "interrupted",
    stopReason: last.end?.stopReason,
    agents,
    ...sumOfRuns(records),
    durationMs: Math.max(0, to - from),
  };
}

/** A step as it is compared: each field in words, once. */
type ComparableStep = { readonly kind: RunStep["kind"]; readonly fields: Readonly<Record<string, string>> };

/** `ids` are those of both sides; the right side is put into the ids of the left. */
function toComparable(step: RunStep, ids: IdMap | undefined): ComparableStep {
  const fields: Record<string, string> = {};
  for (const [key, value] of Object.entries(comparable(ids === undefined ? step : ids.toRecorded(step))))
    fields[key] = JSON.stringify(value) ?? "";
  return { kind: step.kind, fields };
}

/** The fields in which they differ; undefined for steps of different kinds. */
function changesOf(left: ComparableStep, right: ComparableStep): string[] | undefined {
  if (left.kind !== right.kind) return undefined;
  return Object.keys(left.fields).filter((key) => left.fields[key] !== right.fields[key]);
}

/** Removes the turn from an answer: it follows from the steps before it. */
function comparable(step: RunStep): Record<string, unknown> {
  if (step.kind === "answer") return { ...step, turn: undefined };
  if (step.kind !== "tool" || step.output === undefined) return { ...step };
  return { ...step, output: comparableOutput(step.toolName, step.output) };
}

/** One row: an index in each list, or in one of them. */
type Pair = { left: number | undefined; right: number | undefined };

/** More than this many cells of a table are not filled: then items are paired by their index. */
const MAX_CELLS = 1_000_000;

/** `likeness` is 0 for what never stands in one row. The sum over all rows is as large as can be. */
export function align(
  leftLength: number,
  rightLength: number,
  likeness: (left: number, right: number) => number,
): Pair[] {
  let before = 0;
  const isSame = (left: number, right: number) => likeness(left, right) >= SAME;
  while (before < Math.min(leftLength, rightLength) && isSame(before, before)) before += 1;
  let after = 0;
  const rest = Math.min(leftLength, rightLength) - before;
  while (after < rest && isSame(leftLength - 1 - after, rightLength - 1 - after)) after += 1;
  const middle = alignMiddle(leftLength - before - after, rightLength - before - after, (left, right) =>
    likeness(before + left, before + right),
  );
  return [
    ...Array.from({ length: before }, (_, index) => ({ left: index, right: index })),
    ...middle.map(({ left, right }) => ({ left: shifted(left, before), right: shifted(right, before) })),
    ...Array.from({ length: after }, (_, index) => ({
      left: leftLength - after + index,
      right: rightLength - after + index,
    })),
  ];
}

/** The likeness of two equals. */
export const SAME = 4;

function shifted(index: number | undefined, by: number): number | undefined {
  return index === undefined ? undefined : index + by;
}

function alignMiddle(rows: number, columns: number, likeness: (left: number, right: number) => number): Pair[] {
  if (rows * columns > MAX_CELLS) return pairInOrder(rows, columns, likeness);
  // best[row][column]: what the lists from there to their ends can come to.
  const best = Array.from({ length: rows + 1 }, () => new Float64Array(columns + 1));
  const at = (row: number, column: number) => best[row]?.[column] ?? 0;
  for (let row = rows - 1; row >= 0; row--) {
    for (let column = columns - 1; column >= 0; column--) {
      const like = likeness(row, column);
      const together = like > 0 ? like + at(row + 1, column + 1) : 0;
      const line = best[row];
      if (line !== undefined) line[column] = Math.max(together, at(row + 1, column), at(row, column + 1));
    }
  }
  const pairs: Pair[] = [];
  for (let row = 0, column = 0; row < rows || column < columns; ) {
    const like = row < rows && column < columns ? likeness(row, column) : 0;
    if (like > 0 && at(row, column) === like + at(row + 1, column + 1)) pairs.push({ left: row++, right: column++ });
    else if (row < rows && at(row, column) === at(row + 1, column)) pairs.push({ left: row++, right: undefined });
    else pairs.push({ left: undefined, right: column++ });
  }
  return pairs;
}

function pairInOrder(rows: number, columns: number, likeness: (left: number, right: number) => number): Pair[] {
  return Array.from({ length: Math.max(rows, columns) }, (_, index): Pair[] => {
    if (index >= rows) return [{ left: undefined, right: index }];
    if (index >= columns) return [{ left: index, right: undefined }];
    if (likeness(index, index) > 0) return [{ left: index, right: index }];
    return [
      { left: index, right: undefined },
      { left: undefined, right: index },
    ];
  }).flat();
}
