/** One server in `sous mcp list` and `sous acp list`. */

import type { Output } from "../terminal/output.ts";
import type { Colour } from "../terminal/style.ts";
import { breakLine, cutStart, cutToWidth, inertLine, joinToWidth } from "../terminal/text.ts";

export type ListedServer = {
  readonly name: string;
  /** The name in rules, agent files and models. */
  readonly shortName: string;
  readonly state: { readonly text: string; readonly colour?: Colour | undefined };
  /** The reason why it cannot be used; shown whole. */
  readonly problem?: string | undefined;
  readonly reachedBy: string;
  /** The file and the line of its entry. */
  readonly origin: string | undefined;
};

const INDENT = "  ";

/** Broken between its parts where they do not fit. A part that is wider than the terminal is cut. */
export function listedServerLines(
  { name, shortName, state, problem, reachedBy, origin = "" }: ListedServer,
  { style, columns, isTerminal }: Pick<Output, "style" | "columns" | "isTerminal">,
): string[] {
  const { paint, glyphs } = style;
  const room = columns - INDENT.length;
  const cut = (text: string): string => cutToWidth(text, room, glyphs.more);
  const why = problem === undefined ? [] : [inertLine(problem, 1000)];
  const about = [cut(inertLine(reachedBy, 300))];
  if (origin !== "") about.push(cutStart(inertLine(origin, 300), room, glyphs.more));
  const head = [paint("bold", cut(inertLine(name, 60))), cut(shortName), paint(state.colour, cut(state.text))];
  const [first = "", ...rest] = joinToWidth(head, "  ", room);
  const below = [
    ...rest,
    ...(isTerminal ? why.flatMap((text) => breakLine(text, room)) : why),
    ...joinToWidth(about, glyphs.dot, room),
  ];
  return [first, ...below.map((line) => INDENT + line)];
}
