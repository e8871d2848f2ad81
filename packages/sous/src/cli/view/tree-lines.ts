/** The finished tree: every run with its ending, turns, tools, tokens and time, and what was refused. */

import { cost, duration, plural, tokens } from "../terminal/figures.ts";
import { type Colour, colourOf, type Style } from "../terminal/style.ts";
import { cutToWidth, displayWidth, fitToWidth, wrapToWidth } from "../terminal/width.ts";
import { type RunNode, type RunTree, statusWords } from "./run-tree.ts";

export type TreeOptions = {
  /** For a look at one of the runs. */
  withIds?: boolean;
  /** What was played again took no time that would say anything. */
  withoutTimes?: boolean;
};

export function treeLines(tree: RunTree, columns: number, style: Style, options: TreeOptions = {}): string[] {
  const rows = tree.roots.flatMap((root) => rowsOf(root, "", "", style, options));
  const widths = measure(rows, columns);
  const lines = widths === undefined ? narrowLines(rows, columns, style) : wideLines(rows, columns, style, widths);
  return [...lines, style.paint("dim", cutToWidth(totalLine(tree, style), columns, style.glyphs.more))];
}

/** `figures` is empty for a child that was refused. */
type Row = {
  /** Empty when ids are not asked for, and for a child that was refused. */
  id: string;
  before: string;
  after: string;
  name: string;
  glyph: string;
  status: string;
  colour: Colour;
  figures: string[];
};

function rowsOf(node: RunNode, before: string, after: string, style: Style, options: TreeOptions): Row[] {
  const { glyphs } = style;
  const { withIds = false, withoutTimes = false } = options;
  const figures = [
    plural(node.turns, "turn"),
    plural(node.toolCount, "tool"),
    tokens(node.tokens, node.isEstimated),
    cost(node.costUsd),
    withoutTimes ? "" : duration((node.endedAt ?? node.heardAt) - node.startedAt),
  ];
  const glyph = glyphs.status[node.status];
  const own: Row = {
    id: withIds ? node.id : "",
    before,
    after: `${after}  `,
    name: node.label,
    glyph,
    status: statusWords(node),
    colour: colourOf(node.status),
    figures,
  };
  const below = [
    ...node.children.map((child) => (first: string, rest: string) => rowsOf(child, first, rest, style, options)),
    ...node.refusals.map((refusal) => (first: string, rest: string) => [refusalRow(refusal, first, rest, style)]),
  ];
  const rows = below.flatMap((make, index) => {
    const isLast = index === below.length - 1;
    return make(
      after + (isLast ? glyphs.lastBranch : glyphs.branch),
      after + (isLast ? " ".repeat(glyphs.line.length) : glyphs.line),
    );
  });
  // The line to its children begins beside what is said about it.
  if (below.length > 0) own.after = after + glyphs.line;
  return [own, ...rows];
}

function refusalRow({ label, message }: RunNode["refusals"][number], before: string, after: string, style: Style): Row {
  const glyph = style.glyphs.status["refused-spawn"];
  return {
    id: "",
    before,
    after: `${after}  `,
    name: label,
    glyph,
    status: `refused: ${message}`,
    colour: colourOf("refused-spawn"),
    figures: [],
  };
}

/** Below this a run takes several lines. */
const WIDE = 76;
const MAX_NAME = 40;
const MIN_NAME = 16;

type Widths = { name: number; status: number; figures: number[] };

/** Undefined when a line has no room for everything that belongs on it. */
function measure(rows: readonly Row[], columns: number): Widths | undefined {
  const withFigures = rows.filter((row) => row.figures.length > 0);
  const status = widest(withFigures.map((row) => row.status));
  const figures = (withFigures[0]?.figures ?? []).map((_, column) =>
    widest(withFigures.map((row) => row.figures[column] ?? "")),
  );
  const longest = Math.min(widest(rows.map(({ before, name }) => before + name)), MAX_NAME);
  const room = columns - status - figures.reduce((sum, width) => sum + width + (width > 0 ? 2 : 0), 0) - 4;
  return columns >= WIDE && room >= Math.min(longest, MIN_NAME)
    ? { name: Math.min(longest, room), status, figures }
    : undefined;
}

function widest(texts: readonly string[]): number {
  return texts.reduce((width, text) => Math.max(width, displayWidth(text)), 0);
}

function wideLines(rows: readonly Row[], columns: number, style: Style, widths: Widths): string[] {
  const { paint, glyphs } = style;
  const nameWidth = widths.name;
  return rows.flatMap(({ id, before, after, name, glyph, status, colour, figures }) => {
    const label = fitToWidth(name, nameWidth - displayWidth(before), glyphs.more);
    const start = `${paint("dim", before)}${label}  ${paint(colour, glyph)} `;
    if (figures.length === 0) {
      const rest = paint("dim", fitToWidth(after, nameWidth + 4));
      const [first = "", ...more] = wrapToWidth(status, columns - nameWidth - 4).map((line) => paint(colour, line));
      return [start + first, ...more.map((line) => rest + line)];
    }
    // A column that is empty in every row, such as the cost of a model without a price, is left out.
    const numbers = figures
      .map((figure, column) => figure.padStart(widths.figures[column] ?? 0))
      .filter((figure) => figure !== "")
      .join("  ");
    const line = `${start}${paint(colour, fitToWidth(status, widths.status))}  ${numbers}`;
    if (id === "") return line;
    const width = nameWidth + widths.status + numbers.length + 6;
    if (width + 2 + displayWidth(id) <= columns) return `${line}  ${paint("dim", id)}`;
    return [line, paint("dim", after + id)];
  });
}

function narrowLines(rows: readonly Row[], columns: number, { paint, glyphs }: Style): string[] {
  return rows.flatMap(({ id, before, after, name, glyph, status, colour, figures }) => {
    const room = columns - displayWidth(before) - 2;
    const label = cutToWidth(name, room, glyphs.more);
    const start = `${paint("dim", before)}${paint(colour, glyph)} ${label}`;
    if (figures.length === 0) {
      const words = wrapToWidth(status, columns - displayWidth(after));
      return [start, ...words.map((line) => `${paint("dim", after)}${paint(colour, line)}`)];
    }
    const words = cutToWidth(status, room - displayWidth(label) - 2, glyphs.more);
    const first = `${start}  ${paint(colour, words)}`.trimEnd();
    const numbers = wrapToWidth(figures.filter((figure) => figure !== "").join(", "), columns - displayWidth(after));
    const below = id === "" ? numbers : [...numbers, id];
    return [first, ...below.map((line) => paint("dim", after + line))];
  });
}

function totalLine(tree: RunTree, { glyphs }: Style): string {
  const nodes = tree.all();
  const sum = (pick: (node: RunNode) => number): number => nodes.reduce((total, node) => total + pick(node), 0);
  const costs = nodes.map((node) => node.costUsd);
  const spent = costs.includes(null) ? null : costs.reduce<number>((total, each) => total + (each ?? 0), 0);
  return [
    // A run that continues after its end is another run of the same agent.
    plural(new Set(nodes.map((node) => node.path)).size, "agent"),
    plural(
      sum((node) => node.turns),
      "turn",
    ),
    plural(
      sum((node) => node.toolCount),
      "tool",
    ),
    tokens(
      sum((node) => node.tokens),
      nodes.some((node) => node.isEstimated),
    ),
    cost(spent),
  ]
    .filter((figure) => figure !== "")
    .join(glyphs.dot);
}
