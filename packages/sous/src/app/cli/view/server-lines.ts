/** One server in `sous mcp list` and `sous acp list`. */

import type { Output } from "../terminal/output.ts";
import type { Colour } from "../terminal/style.ts";
import { breakLine, cutStart, cutToWidth, displayWidth, inertLine } from "../terminal/text.ts";

export type ListedServer = {
  readonly name: string;
  /** As rules, agent files and models call it. */
  readonly shortName: string;
  readonly state: { readonly text: string; readonly colour?: Colour | undefined };
  /** Why it cannot be used; shown whole. */
  readonly problem?: string | undefined;
  readonly reachedBy: string;
  /** The file and the line of its entry. */
  readonly origin: string | undefined;
};

type Item = { readonly text: string; readonly colour?: Colour | undefined; readonly isPath?: boolean };

const INDENT = "  ";

/** Broken between its parts where they do not fit. A part that is wider than the terminal is cut. */
export function listedServerLines(
  { name, shortName, state, problem, reachedBy, origin = "" }: ListedServer,
  { style, columns, isTerminal }: Pick<Output, "style" | "columns" | "isTerminal">,
): string[] {
  const why = problem === undefined ? [] : [inertLine(problem, 1000)];
  const about: Item[] = [{ text: inertLine(reachedBy, 300) }];
  if (origin !== "") about.push({ text: inertLine(origin, 300), isPath: true });
  const head: Item[] = [{ text: inertLine(name, 60), colour: "bold" }, { text: shortName }, state];
  const { dot } = style.glyphs;
  return [
    ...joinItems(head, "  ", columns, style).map((line, index) => (index === 0 ? line : INDENT + line)),
    ...(isTerminal ? why.flatMap((text) => breakLine(text, columns - INDENT.length)) : why).map(
      (line) => INDENT + line,
    ),
    ...joinItems(about, dot, columns, style).map((line) => INDENT + line),
  ];
}

/** `joinToWidth` for coloured items, with room for the indent. */
function joinItems(
  items: readonly Item[],
  separator: string,
  columns: number,
  { paint, glyphs }: Output["style"],
): string[] {
  const room = columns - INDENT.length;
  const lines: string[] = [];
  let used = 0;
  for (const { text, colour, isPath = false } of items) {
    const cut = (isPath ? cutStart : cutToWidth)(text, room, glyphs.more);
    const shown = colour === undefined ? cut : paint(colour, cut);
    const width = displayWidth(cut);
    const fits = lines.length > 0 && used + displayWidth(separator) + width <= room;
    used = fits ? used + displayWidth(separator) + width : width;
    if (fits) lines.push(`${lines.pop()}${separator}${shown}`);
    else lines.push(shown);
  }
  return lines;
}
