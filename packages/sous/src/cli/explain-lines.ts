/** What `sous config explain` prints: one setting with its story, or a line for each of many. */

import type { Explanation } from "./assemble-configuration.ts";
import { inertLine } from "./inert.ts";
import type { Output } from "./output.ts";
import type { Style } from "./style.ts";
import { displayWidth, wrapToWidth } from "./width.ts";

const MAX_VALUE = 300;

export function explainLines(
  explanation: Explanation,
  { style, columns }: Pick<Output, "style" | "columns">,
): string[] {
  const { key, shown, where, behind, about } = explanation;
  const rows: [name: string, text: string][] = [
    ["from", inertLine(where, 1000)],
    ...behind.map((each): [string, string] => ["over", `${value(each.shown)} from ${inertLine(each.where, 1000)}`]),
    ["allowed", about.allowed],
    ["default", value(about.fallback)],
    ...(about.variable === undefined ? [] : [["variable", about.variable] satisfies [string, string]]),
    ["project", about.project],
  ];
  return [
    `${style.paint("bold", key)} = ${value(shown)}`,
    ...rows.map(([name, text]) => `  ${style.paint("dim", name.padEnd(8))}  ${asciiOf(text, style)}`),
    ...wrapToWidth(about.description, columns - 2).map((line) => `  ${line}`),
  ];
}

/** The key and its value, then where it comes from. */
export function settingLines(explanations: readonly Explanation[], style: Style): string[] {
  const said = explanations.map(({ key, shown }) => `${key} = ${value(shown)}`);
  const width = Math.min(MAX_WIDTH, Math.max(...said.map(displayWidth)));
  return explanations.map(({ where }, index) => {
    const line = said[index] ?? "";
    const gap = " ".repeat(Math.max(0, width - displayWidth(line)) + 2);
    return `${line}${gap}${style.paint("dim", inertLine(where, 1000))}`;
  });
}

const MAX_WIDTH = 60;

function value(shown: string): string {
  return inertLine(shown, MAX_VALUE);
}

function asciiOf(text: string, { glyphs }: Style): string {
  return glyphs.more === "..." ? text.replaceAll("–", "-") : text;
}
