/** A question on the screen: whole where it fits, else page by page. A yes counts once its end was in sight. */

import type { Style } from "../terminal/style.ts";
import { cutToWidth, joinToWidth, plural } from "../terminal/text.ts";
import { wholeRows } from "../terminal/whole-rows.ts";
import type { ApprovalQuestion } from "./questions.ts";

export type QuestionScene = {
  first: ApprovalQuestion;
  count: number;
  /** The keys are for the line, until Esc says otherwise. */
  isHeld: boolean;
  /** The first row in sight while the person reads it page by page. */
  top: number | undefined;
};

export type QuestionPage = {
  lines: string[];
  /** The last row of the question is in sight. */
  isEndShown: boolean;
  /** The last row has no room here, with all that belongs around it. */
  isTooSmall: boolean;
  /** The rows that one page shows, and the first row of the last page. */
  rows: number;
  lastTop: number;
  /** The width that its rows were broken at. */
  columns: number;
};

/** Takes at most `maxLines`, where that is enough for one row of the question and all that belongs around it. */
export function questionPage(scene: QuestionScene, columns: number, maxLines: number, style: Style): QuestionPage {
  const { action } = scene.first;
  const all = [
    ...action.lines.flatMap((line) => wholeRows(line, columns, { indent: "  " })),
    ...action.why.flatMap((line) => wholeRows(line, columns, { indent: "  ", atWords: true })),
  ];
  const head = wholeRows(`${style.glyphs.status.asks} ${titleOf(scene)}`, columns, { atWords: true });
  const choices = choiceLines(scene, "may allow", columns, style);
  const whole = head.length + all.length + choices.length;
  if (whole <= maxLines) {
    const lines = framed(head, all, choices, style);
    return { lines, isEndShown: true, isTooSmall: false, rows: all.length, lastTop: 0, columns };
  }
  if (scene.top === undefined) {
    const keys = choiceLines(scene, "must read", columns, style);
    const rows = Math.max(0, maxLines - head.length - keys.length - 1);
    const more = style.paint("dim", `  ${style.glyphs.more} ${plural(all.length - rows, "more row")}`);
    const lines = framed(head, [...all.slice(0, rows), more], keys, style);
    return { lines, isEndShown: false, isTooSmall: false, rows, lastTop: 0, columns };
  }
  const end = endLines(all.length, all.length, all.length, scene, columns, style);
  const rows = Math.max(1, maxLines - head.length - end.length - choices.length);
  const lastTop = Math.max(0, all.length - rows);
  const top = Math.min(scene.top, lastTop);
  const isLast = top === lastTop;
  const foot = isLast ? end : endLines(top + 1, top + rows, all.length, scene, columns, style);
  const keys = choiceLines(scene, isLast ? "may allow" : "reads", columns, style);
  const lines = framed(head, [...all.slice(top, top + rows), ...foot], keys, style);
  const isTooSmall = isLast && lines.length > maxLines;
  return { lines, isEndShown: isLast && !isTooSmall, isTooSmall, rows, lastTop, columns };
}

function framed(head: string[], rows: string[], choices: string[], { paint }: Style): string[] {
  return [...head.map((line) => paint("yellow", line)), ...rows, ...choices.map((line) => paint("bold", line))];
}

/** Behind the last row stands the digest. */
function endLines(
  from: number,
  to: number,
  of: number,
  { first }: QuestionScene,
  columns: number,
  style: Style,
): string[] {
  const where =
    to === of ? `end of the question ${first.request.digest ?? ""}`.trimEnd() : `rows ${from} to ${to} of ${of}`;
  const lines = joinToWidth(
    [where, ...(to === of ? [] : ["Space and arrows move"]), "Esc closes"],
    style.glyphs.dot,
    columns - 2,
  );
  return lines.map((line) => style.paint("dim", `  ${cutToWidth(line, columns - 2, style.glyphs.more)}`));
}

function titleOf({ first, count }: QuestionScene): string {
  return `${first.action.title}${count > 1 ? ` (1 of ${count})` : ""}`;
}

/**
 * Breaks the choices into as many lines as needed: a choice must not be cut. What a tool asks by itself is approved for good,
 * not once.
 */
function choiceLines(
  { first, isHeld }: QuestionScene,
  state: "may allow" | "must read" | "reads",
  columns: number,
  { glyphs }: Style,
): string[] {
  if (isHeld) return ["  Esc to answer"];
  const yes = first.request.isFromTool === true ? "y approve" : "y once";
  const keys = {
    "may allow": [yes, ...(first.action.rule === undefined ? [] : ["a always for this agent"])],
    "must read": ["v read all of it"],
    reads: [],
  }[state];
  return joinToWidth([...keys, "n no", "r no, and why"], glyphs.dot, columns - 2).map((line) => `  ${line}`);
}
