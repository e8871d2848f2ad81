/** `sous replay --diff`: two runs of one task side by side. */

import { type AgentDiff, type DiffRow, diffRuns, type RunsDiff } from "../../../storage/replay/diff-runs.ts";
import type { RunStep } from "../../../storage/replay/run-steps.ts";
import type { ReplayRequest } from "../commands/replay.ts";
import { openRuns } from "../stored/database.ts";
import { findToRead } from "../stored/find-run.ts";
import { snakeCase, withSnakeCase } from "../stored/run-json.ts";
import { printJson } from "../terminal/output.ts";
import { type Colour, colourOf, type Style, statusWords } from "../terminal/style.ts";
import {
  breakLine,
  commonStart,
  cost,
  cutToWidth,
  duration,
  fitToWidth,
  inert,
  inertLine,
  joinToWidth,
  plural,
  tokens,
} from "../terminal/text.ts";

export async function replayDiff({ values, file, output, otherId }: ReplayRequest): Promise<number> {
  await using store = await openRuns(file, "read");
  const left = await findToRead(store, values.diff ?? "");
  const right = await findToRead(store, otherId);
  const diff = await diffRuns(store, left.id, right.id);
  if (values.json) printJson(diffJson(diff));
  else output.print(diffLines(diff, output.columns, output.style));
  return 0;
}

function diffJson({ left, right, isSame, agents }: RunsDiff): unknown {
  const sideJson = ({ runId, agent, model, task, totals }: RunsDiff["left"]): unknown => ({
    run_id: runId,
    agent,
    model,
    task,
    totals: totalsJson(totals),
  });
  const agentJson = (side: AgentDiff["left"]): unknown =>
    side === undefined ? null : { agent_id: side.agentId, label: side.label, totals: totalsJson(side.totals) };
  return {
    schema: "sous.diff.v1",
    is_same: isSame,
    left: sideJson(left),
    right: sideJson(right),
    agents: agents.map((agent) => ({
      path: agent.path,
      mark: agent.mark,
      left: agentJson(agent.left),
      right: agentJson(agent.right),
      rows: agent.rows.map(({ mark, changes, left: one, right: two }) => ({
        mark,
        changes: changes.map(snakeCase),
        left: stepJson(one),
        right: stepJson(two),
      })),
    })),
  };
}

function totalsJson(totals: RunsDiff["left"]["totals"]): unknown {
  return withSnakeCase({ ...totals, stopReason: totals.stopReason ?? null });
}

/** The names of its fields, and not what a model wrote as input, are ours to spell. */
function stepJson(step: RunStep | undefined): unknown {
  if (step === undefined) return null;
  return Object.fromEntries(Object.entries(step).map(([name, value]) => [snakeCase(name), value ?? null]));
}

export function diffLines(diff: RunsDiff, columns: number, style: Style): string[] {
  const { left, right, agents } = diff;
  const { paint } = style;
  const sheet: Sheet = { columns, style };
  return [
    ...besideLines(headCells(left, sheet), headCells(right, sheet), sheet),
    ...agents.flatMap((agent) => ["", ...agentLines(agent, sheet)]),
    "",
    ...(diff.isSame
      ? [paint("green", "Both did the same.")]
      : breakLine(sumUp(agents), columns).map((line) => paint("yellow", line))),
  ];
}

type Sheet = { columns: number; style: Style };

/** One line on one side. */
type Cell = { text: string; colour?: Colour };

function headCells({ runId, totals }: RunsDiff["left"], sheet: Sheet): Cell[] {
  const { glyphs } = sheet.style;
  const { status, stopReason, turns, toolCount, usage, costUsd, durationMs } = totals;
  const metrics = [
    plural(turns, "turn"),
    plural(toolCount, "tool"),
    tokens(usage.totalTokens, usage.estimated),
    cost(costUsd),
    duration(durationMs),
  ].filter((metric) => metric !== "");
  return [
    { text: inertLine(runId, 60), colour: "bold" },
    { text: `${glyphs.status[status]} ${statusWords({ status, stopReason })}`, colour: colourOf(status) },
    ...joinToWidth(metrics, glyphs.dot, sideWidth(sheet)).map((text) => ({ text })),
  ];
}

/** `2 of 5 agents differ: lead/files, lead/reader`. */
function sumUp(agents: readonly AgentDiff[]): string {
  const different = agents.filter(({ mark }) => mark !== "same").map(({ path }) => inertLine(path, 80));
  const names = different.slice(0, 5).join(", ");
  const more = different.length > 5 ? ", and others" : "";
  return `${different.length} of ${plural(agents.length, "agent")} ${different.length === 1 ? "differs" : "differ"}: ${names}${more}`;
}

const MARKS: Readonly<Record<DiffRow["mark"], { sign: string; words: string; colour: Colour }>> = {
  same: { sign: "=", words: "same", colour: "green" },
  changed: { sign: "~", words: "differs", colour: "yellow" },
  "only-left": { sign: "<", words: "only on the left", colour: "red" },
  "only-right": { sign: ">", words: "only on the right", colour: "cyan" },
};

function agentLines({ path, mark, rows }: AgentDiff, sheet: Sheet): string[] {
  const { paint } = sheet.style;
  const { words, colour } = MARKS[mark];
  const count = mark === "same" ? ` (${plural(rows.length, "step")})` : "";
  const head = `${paint("bold", inertLine(path, 200))}  ${paint(colour, words)}${count}`;
  const shown = rows.filter((row, index) => !isSaidAlready(row, rows[index - 1]));
  return mark === "same" ? [head] : [head, ...groupRows(shown).flatMap((group) => groupLines(group, sheet))];
}

/** A run ends with its last answer. */
function isSaidAlready({ mark, left, changes }: DiffRow, before: DiffRow | undefined): boolean {
  const isEndText = mark === "changed" && left?.kind === "end" && changes.every((name) => name === "text");
  return isEndText && before?.mark === "changed" && before.left?.kind === "answer";
}

/** Rows that are the same and follow each other are one group. */
function groupRows(rows: readonly DiffRow[]): DiffRow[][] {
  const groups: DiffRow[][] = [];
  for (const row of rows) {
    const last = groups.at(-1);
    if (row.mark === "same" && last?.[0]?.mark === "same") last.push(row);
    else groups.push([row]);
  }
  return groups;
}

function groupLines(rows: readonly DiffRow[], sheet: Sheet): string[] {
  const [first] = rows;
  if (first === undefined) return [];
  const { paint } = sheet.style;
  if (first.mark === "same") return [paint("dim", `= ${plural(rows.length, "step")} the same`)];
  const { sign, colour } = MARKS[first.mark];
  const step = first.left ?? first.right;
  const head = `${paint(colour, sign)} ${step === undefined ? "" : stepName(step)}`;
  const names = first.changes.filter((name) => name !== "children");
  const [one, other] = [first.left, first.right].map((each) => (each === undefined ? {} : fieldsOf(each)));
  const fields = first.mark === "changed" ? names : Object.keys(one ?? {}).concat(Object.keys(other ?? {}));
  return [head, ...fields.flatMap((name) => fieldLines(name, one?.[name], other?.[name], sheet))];
}

function stepName(step: RunStep): string {
  switch (step.kind) {
    case "task":
      return "the task";
    case "answer":
      return `turn ${step.turn}, the answer`;
    case "tool":
      return `${inertLine(step.toolName, 80)}`;
    case "heard":
      return `hears: ${step.from}`;
    case "refused":
      return `the refusal of ${inertLine(step.label, 80)}`;
    case "end":
      return "the end";
    default:
      return step satisfies never;
  }
}

/** The fields of a step that are shown, as text; empty ones are left out. */
function fieldsOf(step: RunStep): Record<string, string> {
  const { kind, ...fields } = step;
  const words: Record<string, string> = {};
  for (const [name, value] of Object.entries(fields)) {
    const isQuiet =
      name === "turn" || name === "label" || name === "from" || name === "toolName" || name === "children";
    const isOrdinary = name === "finish" && (value === "stop" || value === "tool-calls");
    if (isQuiet || isOrdinary || value === undefined || value === "" || value === false) continue;
    words[name] = typeof value === "string" ? value : JSON.stringify(value);
  }
  return words;
}

const TITLES: Readonly<Record<string, string>> = { isError: "failed", stopReason: "stop reason" };
/** Max lines of each text, on each side. */
const MAX_LINES = 4;
const BEFORE = 24;

function fieldLines(name: string, left: string | undefined, right: string | undefined, sheet: Sheet): string[] {
  const { paint } = sheet.style;
  const [one, other] = left === undefined || right === undefined ? [0, 0] : startOfDifference(left, right);
  const cells = (text: string | undefined, from: number): Cell[] =>
    text === undefined ? [] : excerpt(text, Math.max(0, from - BEFORE), sheet);
  return [paint("dim", `  ${TITLES[name] ?? name}`), ...besideLines(cells(left, one), cells(right, other), sheet)];
}

/** Ids and times, which differ in every run. */
const IRRELEVANT = /([0-9A-HJKMNP-TV-Z]{26}|duration_ms":\d+)/;

/** The position at which two texts begin to differ, in each of them. */
function startOfDifference(left: string, right: string): [number, number] {
  const [parts, others] = [left.split(IRRELEVANT), right.split(IRRELEVANT)];
  let [one, other] = [0, 0];
  for (let index = 0; index < parts.length; index++) {
    const [part = "", otherPart = ""] = [parts[index], others[index]];
    // Every second part is one that does not matter.
    if (index % 2 === 0 && part !== otherPart) {
      const same = commonStart(part, otherPart);
      return [one + same, other + same];
    }
    one += part.length;
    other += otherPart.length;
  }
  return [one, other];
}

function excerpt(text: string, from: number, sheet: Sheet): Cell[] {
  const { more } = sheet.style.glyphs;
  const width = sideWidth(sheet);
  const part = text.slice(from, from + width * MAX_LINES * 2).toWellFormed();
  const lines = inert(from > 0 ? more + part : part)
    .split("\n")
    .flatMap((line) => breakLine(line, width));
  const isCut = lines.length > MAX_LINES || from + part.length < text.length;
  const kept = lines.slice(0, MAX_LINES);
  if (isCut) kept.push(`${cutToWidth(kept.pop() ?? "", width - more.length, "")}${more}`);
  return kept.map((line) => ({ text: line }));
}

/** The width below which the right side is shown under the left. */
const WIDE = 76;

function sideWidth({ columns }: Sheet): number {
  return columns >= WIDE ? Math.floor((columns - 7) / 2) : columns - 6;
}

function besideLines(left: readonly Cell[], right: readonly Cell[], sheet: Sheet): string[] {
  const { paint, glyphs } = sheet.style;
  const painted = ({ text, colour }: Cell): string => paint(colour, text);
  if (sheet.columns < WIDE) {
    return [
      ...left.map((cell) => `    ${paint("red", "<")} ${painted(cell)}`),
      ...right.map((cell) => `    ${paint("cyan", ">")} ${painted(cell)}`),
    ];
  }
  const width = sideWidth(sheet);
  return Array.from({ length: Math.max(left.length, right.length) }, (_, index) => {
    const { text, colour }: Cell = left[index] ?? { text: "" };
    const first = paint(colour, fitToWidth(text, width));
    const second = painted(right[index] ?? { text: "" });
    return `    ${first} ${paint("dim", glyphs.line.trimEnd())} ${second}`.trimEnd();
  });
}
