/** The live region: a head line and two lines a child, never wider or higher than the terminal lets it be. */

import type { LimitState } from "../../../core/limits.ts";
import { addCost } from "../../../core/usage.ts";
import { colourOf, type Style, statusWords } from "../terminal/style.ts";
import { cost, cutToWidth, displayWidth, duration, fitToWidth, plural, tokens } from "../terminal/text.ts";
import { asItStands, shortTokens, waitWords } from "./limit-lines.ts";
import type { RunNode, RunTree } from "./run-tree.ts";

export type LiveView = {
  now: number;
  columns: number;
  /** The most lines it may take. */
  maxLines: number;
  /** Counts up with every frame. */
  frame: number;
  style: Style;
  /** The path of the child that a person has chosen. */
  selected?: string | undefined;
  /** The limits as they stand, where that is known: what runs wait for. */
  limits?: readonly LimitState[] | undefined;
};

export function liveLines(tree: Pick<RunTree, "roots">, view: LiveView): string[] {
  const root = tree.roots.at(-1);
  if (root === undefined) return [];
  const head = headLine(root, view);
  // Less and less is said about each child until all of them fit.
  for (const detail of DETAILS) {
    const lines = [head, ...childLines(root, view, detail)];
    if (lines.length <= view.maxLines) return lines;
  }
  const lines = [head, ...childLines(root, view, "running only")];
  const shown = lines.slice(0, Math.max(1, view.maxLines - 1));
  const left = lines.length - shown.length;
  return [...shown, view.style.paint("dim", cutToWidth(`   ${view.style.glyphs.more} ${left} more`, view.columns))];
}

const DETAILS = ["all", "one line when ended", "one line", "running only"] as const;
type Detail = (typeof DETAILS)[number];

function headLine(root: RunNode, { now, columns, frame, style, limits }: LiveView): string {
  const { glyphs, paint } = style;
  const time = duration(endOf(root, now) - root.startedAt);
  const room = Math.max(1, columns - time.length - 4);
  const below = descendants(root);
  const left = Math.max(0, room - displayWidth(root.label) - 2);
  const waits = root.waitsFor && waitWords(asItStands(root.waitsFor, limits), left);
  const what =
    below.length === 0
      ? `${root.label}  ${waits ?? activityWithin(root.activity, root.result, left, glyphs.more)}`
      : `sous  ${countWords(below, glyphs.dot)}`;
  const text = fitToWidth(what, room, glyphs.more);
  return `${glyphOf(root, frame, style)} ${text} ${paint("dim", time)}`;
}

/** `3 children · 1 running, 1 done, 1 waiting for you`. */
function countWords(nodes: readonly RunNode[], dot: string): string {
  const asking = nodes.filter((node) => node.asks).length;
  const queued = nodes.filter((node) => node.status === "queued").length;
  const running = nodes.filter((node) => node.status === "running").length - asking;
  const done = nodes.length - running - queued - asking;
  const counts = [
    [running, "running"],
    [done, "done"],
    [queued, "queued"],
    [asking, "waiting for you"],
  ] as const;
  const words = counts.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`);
  return `${plural(nodes.length, "child", "children")}${dot}${words.join(", ")}`;
}

type Row = { node: RunNode; before: string; after: string };

function childLines(root: RunNode, view: LiveView, detail: Detail): string[] {
  const rows = rowsBelow(root, "", view, detail);
  const { columns } = view;
  const longest = Math.max(...rows.map(({ node, before }) => displayWidth(before) + displayWidth(node.label) + 4), 0);
  const nameWidth = Math.min(longest, Math.max(12, Math.floor(columns / 3)));
  const taskWidth = columns >= 90 ? Math.floor((columns - nameWidth) * 0.4) : 0;
  return rows.flatMap((row) => {
    const isShort =
      detail === "one line" || detail === "running only" || (detail === "one line when ended" && !isBusy(row.node));
    if (columns >= NARROW) return rowLines(row, view, { nameWidth, taskWidth }, isShort);
    return isShort
      ? rowLines(row, view, { nameWidth: Math.min(longest, columns >> 1), taskWidth }, true)
      : narrowLines(row, view);
  });
}

/** The width below which a child's name shares its line with the numbers, so that its activity has a whole one. */
const NARROW = 60;

function rowsBelow(node: RunNode, indent: string, view: LiveView, detail: Detail): Row[] {
  const { glyphs } = view.style;
  const shown = detail === "running only" ? mattering(node.children.filter(isBusy), view.selected) : node.children;
  return shown.flatMap((child, index) => {
    const isLast = index === shown.length - 1;
    const after = indent + (isLast ? " ".repeat(glyphs.line.length) : glyphs.line);
    const branch = isLast ? glyphs.lastBranch : glyphs.branch;
    const before = indent + (child.path === view.selected ? `${branch.slice(0, -1)}>` : branch);
    return [{ node: child, before, after }, ...rowsBelow(child, after, view, detail)];
  });
}

/** Order when not all fit: runs that wait for the person first, then the chosen one. */
function mattering(nodes: readonly RunNode[], selected: string | undefined): RunNode[] {
  const rank = (node: RunNode): number => (hasQuestion(node) ? 0 : holds(node, selected) ? 1 : 2);
  return nodes.toSorted((one, other) => rank(one) - rank(other));
}

function hasQuestion(node: RunNode): boolean {
  return node.asks || node.children.some(hasQuestion);
}

function holds(node: RunNode, path: string | undefined): boolean {
  return node.path === path || node.children.some((child) => holds(child, path));
}

function rowLines(
  row: Row,
  view: LiveView,
  widths: { nameWidth: number; taskWidth: number },
  isShort: boolean,
): string[] {
  const { node, before, after } = row;
  const { nameWidth, taskWidth } = widths;
  const { style, columns, frame, now } = view;
  const { paint, glyphs } = style;
  const name = fitToWidth(node.label, nameWidth - displayWidth(before) - 3, glyphs.more);
  const quoted = `"${cutToWidth(node.task, taskWidth - 4, glyphs.more)}"`;
  // One that waits to start has not said what its task is.
  const task = taskWidth === 0 || node.task === "" ? "" : `${fitToWidth(quoted, taskWidth - 1)} `;
  const activity = paintActivity(node, columns - nameWidth - displayWidth(task), view);
  const first =
    `${paint("dim", before)}${glyphOf(node, frame, style)} ${name} ${paint("dim", task)}${activity}`.trimEnd();
  if (isShort) return [first];
  const numbers = cutToWidth(metricsOf(node, now, glyphs.dot), columns - nameWidth, glyphs.more);
  // The line to its children begins beside the numbers.
  const line = node.children.length > 0 ? after + glyphs.line : after;
  return [first, paint("dim", fitToWidth(line, nameWidth) + numbers)];
}

function narrowLines({ node, before, after }: Row, view: LiveView): string[] {
  const { style, columns, frame, now } = view;
  const { paint, glyphs } = style;
  const room = columns - displayWidth(before) - 2;
  const name = cutToWidth(node.label, room, glyphs.more);
  const numbers = cutToWidth(metricsOf(node, now, glyphs.dot), room - displayWidth(name) - 2, glyphs.more);
  const line = node.children.length > 0 ? after + glyphs.line : `${after}  `;
  return [
    `${paint("dim", before)}${glyphOf(node, frame, style)} ${name}  ${paint("dim", numbers)}`.trimEnd(),
    `${paint("dim", line)}${paintActivity(node, columns - displayWidth(line), view)}`.trimEnd(),
  ];
}

function activityOf(node: RunNode): string {
  const speaksForItself = node.status === "running" || node.status === "completed";
  return speaksForItself ? node.activity : `${statusWords(node)}: ${node.activity}`;
}

function paintActivity(node: RunNode, columns: number, { style, limits }: LiveView): string {
  const { paint, glyphs } = style;
  if (node.waitsFor !== undefined) {
    const words = waitWords(asItStands(node.waitsFor, limits), columns);
    return paint("dim", cutToWidth(words, columns, glyphs.more));
  }
  const activity = activityWithin(activityOf(node), node.result, columns, glyphs.more);
  if (node.asks) return paint("yellow", activity);
  return node.status === "running" || node.status === "completed" ? activity : paint(colourOf(node.status), activity);
}

/** The activity is cut first: what came of it, or how far it is, is newer. */
function activityWithin(activity: string, result: string, columns: number, more: string): string {
  const end = cutToWidth(result, columns, more);
  return cutToWidth(activity, columns - displayWidth(end), more) + end;
}

/** Metrics that are still zero are left out. */
function metricsOf(node: RunNode, now: number, dot: string): string {
  return [
    node.toolCount === 0 ? "" : plural(node.toolCount, "tool"),
    node.tokens === 0 ? "" : tokens(node.tokens, node.isEstimated),
    node.reserved === 0 ? "" : `${shortTokens(node.reserved)} reserved`,
    cost(node.costUsd),
    duration(endOf(node, now) - node.startedAt),
  ]
    .filter((metric) => metric !== "")
    .join(dot);
}

/** The sums of a run that has ended and everything below it: `5 turns · 3 tools · 105.6k tok · $0.36 · 14s, with 3 children`. */
export function treeMetrics(node: RunNode, now: number, dot: string): string {
  const below = descendants(node).filter(({ status }) => status !== "queued");
  const sum: RunNode = { ...node, ...sumOf([node, ...below]) };
  const metrics = [plural(sum.turns, "turn"), metricsOf(sum, now, dot)].join(dot);
  return below.length === 0 ? metrics : `${metrics}, with ${plural(below.length, "child", "children")}`;
}

/** The usage of these runs together. */
export function sumOf(nodes: readonly RunNode[]): RunSum {
  const sum: RunSum = { turns: 0, toolCount: 0, tokens: 0, isEstimated: false, costUsd: 0 };
  for (const node of nodes) {
    sum.turns += node.turns;
    sum.toolCount += node.toolCount;
    sum.tokens += node.tokens;
    sum.isEstimated ||= node.isEstimated;
    sum.costUsd = addCost(sum.costUsd, node.costUsd);
  }
  return sum;
}

type RunSum = Pick<RunNode, "turns" | "toolCount" | "tokens" | "isEstimated" | "costUsd">;

/** The end of a run; now, while it runs. */
export function endOf({ endedAt, status, heardAt }: RunNode, now: number): number {
  return endedAt ?? (status === "interrupted" || status === "waiting" ? heardAt : now);
}

function glyphOf(node: RunNode, frame: number, { glyphs, paint }: Style): string {
  if (node.asks) return paint("yellow", glyphs.status.asks);
  if (node.status !== "running") return paint(colourOf(node.status), glyphs.status[node.status]);
  return paint("cyan", glyphs.spinner[frame % glyphs.spinner.length] ?? "");
}

/** It runs or is queued, or something below it is. */
function isBusy(node: RunNode): boolean {
  return node.status === "running" || node.status === "queued" || node.children.some(isBusy);
}

function descendants(node: RunNode): RunNode[] {
  return node.children.flatMap((child) => [child, ...descendants(child)]);
}
