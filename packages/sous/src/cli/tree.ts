/** The finished tree: every run with its ending, turns, tools, tokens and time, and what was refused. */

import { cost, duration, plural, tokens } from "./figures.ts";
import { type RunNode, type RunTree, statusWords } from "./run-tree.ts";
import { type Colour, colourOf, type Style } from "./style.ts";
import { cutToWidth, displayWidth, fitToWidth, wrapToWidth } from "./width.ts";

export function treeLines(tree: RunTree, columns: number, style: Style): string[] {
  const rows = tree.roots.flatMap((root) => rowsOf(root, "", "", style));
  const lines = columns >= WIDE ? wideLines(rows, columns, style) : narrowLines(rows, columns, style);
  return [...lines, style.paint("dim", cutToWidth(totalLine(tree, style), columns, style.glyphs.more))];
}

/** Below this a run takes two lines. */
const WIDE = 76;

/** `figures` is empty for a child that was refused. */
type Row = {
  before: string;
  after: string;
  name: string;
  glyph: string;
  status: string;
  colour: Colour;
  figures: string[];
};

function rowsOf(node: RunNode, before: string, after: string, style: Style): Row[] {
  const { glyphs } = style;
  const figures = [
    plural(node.turns, "turn"),
    plural(node.toolCount, "tool"),
    tokens(node.tokens, node.isEstimated),
    cost(node.costUsd),
    duration((node.endedAt ?? node.startedAt) - node.startedAt),
  ];
  const glyph = node.status === "running" ? "?" : glyphs.status[node.status];
  const own: Row = {
    before,
    after,
    name: node.label,
    glyph,
    status: statusWords(node),
    colour: colourOf(node.status),
    figures,
  };
  const below = [
    ...node.children.map((child) => (first: string, rest: string) => rowsOf(child, first, rest, style)),
    ...node.refusals.map((refusal) => (first: string, rest: string) => [refusalRow(refusal, first, rest, style)]),
  ];
  const rows = below.flatMap((make, index) => {
    const isLast = index === below.length - 1;
    return make(
      after + (isLast ? glyphs.lastBranch : glyphs.branch),
      after + (isLast ? " ".repeat(glyphs.line.length) : glyphs.line),
    );
  });
  return [own, ...rows];
}

function refusalRow({ label, message }: RunNode["refusals"][number], before: string, after: string, style: Style): Row {
  const glyph = style.glyphs.status["refused-spawn"];
  return {
    before,
    after,
    name: label,
    glyph,
    status: `refused: ${message}`,
    colour: colourOf("refused-spawn"),
    figures: [],
  };
}

function wideLines(rows: readonly Row[], columns: number, style: Style): string[] {
  const { paint, glyphs } = style;
  const nameWidth = Math.min(Math.max(...rows.map(({ before, name }) => displayWidth(before + name))), 40);
  const withFigures = rows.filter((row) => row.figures.length > 0);
  const statusWidth = Math.max(...withFigures.map(({ status }) => displayWidth(status)));
  const widths = (withFigures[0]?.figures ?? []).map((_, column) =>
    Math.max(...withFigures.map(({ figures }) => displayWidth(figures[column] ?? ""))),
  );
  return rows.flatMap(({ before, after, name, glyph, status, colour, figures }) => {
    const label = fitToWidth(name, nameWidth - displayWidth(before), glyphs.more);
    const start = `${paint("dim", before)}${label}  ${paint(colour, glyph)} `;
    if (figures.length === 0) {
      const rest = paint("dim", fitToWidth(after, nameWidth + 4));
      const [first = "", ...more] = wrapToWidth(status, columns - nameWidth - 4).map((line) => paint(colour, line));
      return [start + first, ...more.map((line) => rest + line)];
    }
    // A column in which nobody has anything, such as the cost of a model without a price, is left out.
    const numbers = figures
      .map((figure, column) => figure.padStart(widths[column] ?? 0))
      .filter((figure) => figure !== "");
    return `${start}${paint(colour, fitToWidth(status, statusWidth))}  ${numbers.join("  ")}`;
  });
}

function narrowLines(rows: readonly Row[], columns: number, { paint, glyphs }: Style): string[] {
  return rows.flatMap(({ before, after, name, glyph, status, colour, figures }) => {
    const room = columns - displayWidth(before) - 2;
    const label = cutToWidth(name, room, glyphs.more);
    const start = `${paint("dim", before)}${paint(colour, glyph)} ${label}`;
    if (figures.length === 0) {
      const words = wrapToWidth(status, columns - displayWidth(after) - 2);
      return [start, ...words.map((line) => `${paint("dim", after)}  ${paint(colour, line)}`)];
    }
    const words = cutToWidth(status, room - displayWidth(label) - 2, glyphs.more);
    const first = `${start}  ${paint(colour, words)}`.trimEnd();
    const numbers = wrapToWidth(
      figures.filter((figure) => figure !== "").join(", "),
      columns - displayWidth(after) - 2,
    );
    return [first, ...numbers.map((line) => paint("dim", `${after}  ${line}`))];
  });
}

function totalLine(tree: RunTree, { glyphs }: Style): string {
  const nodes = tree.all();
  const sum = (pick: (node: RunNode) => number): number => nodes.reduce((total, node) => total + pick(node), 0);
  const costs = nodes.map((node) => node.costUsd);
  const spent = costs.includes(null) ? null : costs.reduce<number>((total, each) => total + (each ?? 0), 0);
  return [
    plural(nodes.length, "agent"),
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
