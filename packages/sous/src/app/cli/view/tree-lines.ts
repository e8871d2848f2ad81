/** The finished tree: every run with its ending, turns, tools, tokens and time, and what was refused. */

import { type Colour, colourOf, type Style, statusWords } from "../terminal/style.ts";
import { cost, cutToWidth, displayWidth, duration, fitToWidth, plural, tokens, wrapToWidth } from "../terminal/text.ts";
import { sumOf } from "./live-lines.ts";
import type { RunNode, RunTree } from "./run-tree.ts";

type TreeLineOptions = {
  /** Shows the ids, for a look at one of the runs. */
  withIds?: boolean;
  /** The times of a rerun say nothing. */
  withoutTimes?: boolean;
  /** A further line about a run, by its id, in harmless words. */
  noteOf?: (runId: string) => string | undefined;
};

export function treeLines(tree: RunTree, columns: number, style: Style, options: TreeLineOptions = {}): string[] {
  const rows = tree.roots.flatMap((root) => rowsOf(root, "", "", style, options));
  const widths = measure(rows, columns);
  const lines = widths === undefined ? narrowLines(rows, columns, style) : wideLines(rows, columns, style, widths);
  return [...lines, style.paint("dim", cutToWidth(totalLine(tree, style), columns, style.glyphs.more))];
}

/** `metrics` is empty for a child that was refused. */
type Row = {
  /** Empty when ids are not asked for, and for a child that was refused. */
  id: string;
  before: string;
  after: string;
  name: string;
  glyph: string;
  status: string;
  colour: Colour;
  metrics: string[];
  note?: string | undefined;
};

function rowsOf(node: RunNode, before: string, after: string, style: Style, options: TreeLineOptions): Row[] {
  const { glyphs } = style;
  const { withIds = false, withoutTimes = false } = options;
  const metrics = [
    plural(node.turns, "turn"),
    plural(node.toolCount, "tool"),
    tokens(node.tokens, node.isEstimated),
    cost(node.costUsd),
    withoutTimes ? "" : duration((node.endedAt ?? node.heardAt) - node.startedAt),
  ];
  const own: Row = {
    id: withIds ? node.id : "",
    before,
    after: `${after}  `,
    name: node.label,
    glyph: glyphs.status[node.status],
    status: statusWords(node),
    colour: colourOf(node.status),
    metrics,
    note: options.noteOf?.(node.id),
  };
  const below = [...node.children, ...node.refusals];
  const rows = below.flatMap((each, index) => {
    const isLast = index === below.length - 1;
    const first = after + (isLast ? glyphs.lastBranch : glyphs.branch);
    const rest = after + (isLast ? " ".repeat(glyphs.line.length) : glyphs.line);
    return "message" in each ? [refusalRow(each, first, rest, style)] : rowsOf(each, first, rest, style, options);
  });
  // The line to its children begins beside what is said about it.
  if (below.length > 0) own.after = after + glyphs.line;
  return [own, ...rows];
}

function refusalRow({ label, message }: RunNode["refusals"][number], before: string, after: string, style: Style): Row {
  const [glyph, colour] = [style.glyphs.status["refused-spawn"], colourOf("refused-spawn")];
  const status = `refused: ${message}`;
  return { id: "", before, after: `${after}  `, name: label, glyph, status, colour, metrics: [] };
}

/** The width below which a run takes several lines. */
const WIDE = 76;
const MAX_NAME = 40;
const MIN_NAME = 16;

type Widths = { name: number; status: number; metrics: number[] };

/** Undefined when a line has no room for everything that belongs on it. */
function measure(rows: readonly Row[], columns: number): Widths | undefined {
  const withMetrics = rows.filter((row) => row.metrics.length > 0);
  const status = widest(withMetrics.map((row) => row.status));
  const metrics = (withMetrics[0]?.metrics ?? []).map((_, column) =>
    widest(withMetrics.map((row) => row.metrics[column] ?? "")),
  );
  const longest = Math.min(widest(rows.map(({ before, name }) => before + name)), MAX_NAME);
  const room = columns - status - metrics.reduce((sum, width) => sum + width + (width > 0 ? 2 : 0), 0) - 4;
  return columns >= WIDE && room >= Math.min(longest, MIN_NAME)
    ? { name: Math.min(longest, room), status, metrics }
    : undefined;
}

function widest(texts: readonly string[]): number {
  return texts.reduce((width, text) => Math.max(width, displayWidth(text)), 0);
}

function wideLines(rows: readonly Row[], columns: number, style: Style, widths: Widths): string[] {
  const { paint, glyphs } = style;
  const nameWidth = widths.name;
  return rows.flatMap(({ id, before, after, name, glyph, status, colour, metrics, note }) => {
    const label = fitToWidth(name, nameWidth - displayWidth(before), glyphs.more);
    const start = `${paint("dim", before)}${label}  ${paint(colour, glyph)} `;
    if (metrics.length === 0) {
      const rest = paint("dim", fitToWidth(after, nameWidth + 4));
      const [first = "", ...more] = wrapToWidth(status, columns - nameWidth - 4).map((line) => paint(colour, line));
      return [start + first, ...more.map((line) => rest + line)];
    }
    // A column that is empty in every row, such as the cost of a model without a price, is left out.
    const numbers = metrics
      .map((metric, column) => metric.padStart(widths.metrics[column] ?? 0))
      .filter((metric) => metric !== "")
      .join("  ");
    const line = `${start}${paint(colour, fitToWidth(status, widths.status))}  ${numbers}`;
    const notes = noteLines(note, after, columns, style);
    if (id === "") return [line, ...notes];
    const width = nameWidth + widths.status + numbers.length + 6;
    if (width + 2 + displayWidth(id) <= columns) return [`${line}  ${paint("dim", id)}`, ...notes];
    return [line, paint("dim", after + id), ...notes];
  });
}

function noteLines(note: string | undefined, after: string, columns: number, { paint }: Style): string[] {
  const lines = note === undefined ? [] : wrapToWidth(note, columns - displayWidth(after));
  return lines.map((line) => paint("dim", after + line));
}

function narrowLines(rows: readonly Row[], columns: number, style: Style): string[] {
  const { paint, glyphs } = style;
  return rows.flatMap(({ id, before, after, name, glyph, status, colour, metrics, note }) => {
    const room = columns - displayWidth(before) - 2;
    const label = cutToWidth(name, room, glyphs.more);
    const start = `${paint("dim", before)}${paint(colour, glyph)} ${label}`;
    if (metrics.length === 0) {
      const words = wrapToWidth(status, columns - displayWidth(after));
      return [start, ...words.map((line) => `${paint("dim", after)}${paint(colour, line)}`)];
    }
    const words = cutToWidth(status, room - displayWidth(label) - 2, glyphs.more);
    const first = `${start}  ${paint(colour, words)}`.trimEnd();
    const numbers = wrapToWidth(metrics.filter((metric) => metric !== "").join(", "), columns - displayWidth(after));
    const below = id === "" ? numbers : [...numbers, id];
    return [first, ...below.map((line) => paint("dim", after + line)), ...noteLines(note, after, columns, style)];
  });
}

function totalLine(tree: RunTree, { glyphs }: Style): string {
  const nodes = tree.all();
  const { turns, toolCount, tokens: used, isEstimated, costUsd } = sumOf(nodes);
  // A run that continues after its end is another run of the same agent.
  const agents = new Set(nodes.map((node) => node.path)).size;
  const counts = [plural(agents, "agent"), plural(turns, "turn"), plural(toolCount, "tool")];
  return [...counts, tokens(used, isEstimated), cost(costUsd)].filter((metric) => metric !== "").join(glyphs.dot);
}
