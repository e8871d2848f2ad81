/** The lines of `sous stats` for people: the sums of all runs, and a table for each way to group them. */

import { RUN_STATUSES, UNENDED_STATUSES } from "../../../core/words/outcomes.ts";
import { shortFolder } from "../files/paths.ts";
import { GROUPINGS } from "../table/stored-entries.ts";
import { colourOf, statusWords } from "../terminal/style.ts";
import { cost, cutStart, cutToWidth, duration, inertLine, tokens } from "../terminal/text.ts";
import { countOf, type Group, type Grouping, type Stats, type Sums } from "./sums.ts";
import { type Cell, type Column, flowLines, type Sheet, type Table, tableLines } from "./table.ts";

type StatsView = {
  readonly since: number | undefined;
  /** Only this table. */
  readonly by: Grouping | undefined;
  readonly output: Sheet;
};

/** Rows of a table among others, and of one that was asked for. */
const FEW_ROWS = 10;
const MANY_ROWS = 100;

export function statsLines(stats: Stats, { since, by, output }: StatsView): string[] {
  const rows = by === undefined ? FEW_ROWS : MANY_ROWS;
  const tables = (by === undefined ? GROUPINGS : [by]).flatMap((grouping) => {
    const lines = groupLines(stats, grouping, rows, output);
    return lines.length === 0 ? [] : ["", ...lines];
  });
  const span = flowLines([{ text: spanWords(stats, since), colour: "dim" }], output);
  return [...span, ...totalLines(stats.total, output), ...damagedLines(stats, output), ...tables];
}

function damagedLines({ damaged }: Stats, sheet: Sheet): string[] {
  if (damaged === 0) return [];
  const text = `${many(damaged, "run")} left out because ${damaged === 1 ? "it is" : "they are"} damaged: sous doctor`;
  return flowLines([{ text, colour: colourOf("damaged") }], sheet);
}

function spanWords(stats: Stats, since: number | undefined): string {
  if (since !== undefined) return `since ${new Date(since).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  const first = stats.groups("day")[0]?.name;
  return first === undefined ? "all runs" : `all runs, the first on ${first}`;
}

/** The best ending first, and what has not ended last. */
const SHOWN_STATUSES = [...RUN_STATUSES, ...UNENDED_STATUSES];

function totalLines(total: Sums, sheet: Sheet): string[] {
  const endings = SHOWN_STATUSES.filter((status) => total.statuses[status] > 0).map((status) => ({
    text: `${count(total.statuses[status])} ${status === "incomplete" ? status : statusWords({ status, stopReason: undefined })}`,
    colour: colourOf(status),
  }));
  const spent = [
    tokens(total.usage.totalTokens, total.usage.estimated),
    costWords(total),
    total.durationMs > 0 ? `${duration(total.durationMs)} at work` : "",
  ];
  const hasOtherErrors = countOf(total.errorTypes) > countOf(total.refusals);
  return [
    ...flowLines([{ text: many(total.runs, "run"), colour: "bold" }, ...endings], sheet),
    ...flowLines(spent.filter((text) => text !== "").map(plainCell), sheet),
    ...(hasOtherErrors ? errorLines(["error", "errors"], total.errorTypes, sheet) : []),
    ...errorLines(["child refused", "children refused"], total.refusals, sheet),
  ];
}

/** `$1.20 + 3 runs of unknown cost`. */
function costWords({ costUsd, unpricedRuns }: Sums): string {
  const known = cost(costUsd);
  if (unpricedRuns === 0) return known;
  const unknown = `${many(unpricedRuns, "run")} of unknown cost`;
  return known === "" ? unknown : `${known} + ${unknown}`;
}

function errorLines([one, more]: readonly [string, string], errorTypes: Sums["errorTypes"], sheet: Sheet): string[] {
  const found = Object.entries(errorTypes)
    .filter(([, number]) => number > 0)
    .sort(([, first], [, second]) => second - first);
  const words = found.map(([type, number]) => `${type} ${count(number)}`);
  const [first, ...others] = words;
  if (first === undefined) return [];
  return flowLines([`${many(countOf(errorTypes), one, more)}: ${first}`, ...others].map(plainCell), sheet);
}

function plainCell(text: string): Cell {
  return { text };
}

function groupLines(stats: Stats, by: Grouping, maxRows: number, sheet: Sheet): string[] {
  const all = stats.groups(by);
  const shown = by === "day" ? lastDays(all, maxRows) : all.slice(0, maxRows);
  if (shown.length === 0) return [];
  const names = shown.map(({ name }) => shownName(by, name));
  const bars = by === "day" ? barsOf(shown) : undefined;
  const table: Table = {
    head: by === "day" ? "day (UTC)" : by,
    names,
    cutName: cutNameOf(by, sheet),
    columns: columnsOf(shown),
    bars,
  };
  const left = all.length - shown.filter(({ sums }) => sums !== undefined).length;
  const more = left === 0 ? [] : flowLines([{ text: moreWords(by, left, maxRows), colour: "dim" }], sheet);
  return [...tableLines(table, sheet), ...more];
}

/** A day between others on which nothing ran has no sums. */
type Row = { readonly name: string | undefined; readonly sums: Sums | undefined };

/** The calendar up to the last day, so that a bar stands for a day and a gap for days without runs. */
function lastDays(groups: readonly Group[], maxRows: number): Row[] {
  const sums = new Map(groups.map((group) => [group.name, group.sums]));
  const dated = groups.filter(({ name }) => !Number.isNaN(Date.parse(name ?? "")));
  const [first, last] = [dated.at(0)?.name, dated.at(-1)?.name];
  if (first === undefined || last === undefined) return groups.slice(0, maxRows);
  const rows: Row[] = [];
  for (let day = Date.parse(last); rows.length < maxRows && day >= Date.parse(first); day -= DAY_MS) {
    const name = new Date(day).toISOString().split("T")[0];
    rows.unshift({ name, sums: sums.get(name) });
  }
  return rows;
}

const DAY_MS = 86_400_000;

/** Measures the bars by cost, or by tokens when no cost is known. */
function barsOf(rows: readonly Row[]): number[] {
  const costs = rows.map(({ sums }) => sums?.costUsd ?? 0);
  const values = costs.some((each) => each > 0) ? costs : rows.map(({ sums }) => sums?.usage.totalTokens ?? 0);
  const most = Math.max(...values);
  return values.map((value) => (most > 0 ? value / most : 0));
}

function shownName(by: Grouping, name: string | undefined): string {
  if (name === undefined) return "(unknown)";
  return by === "project" ? shortFolder(name) : inertLine(name, 200) || "(no name)";
}

/** The end of a folder and of a model tells most, and a day without its year is still a day. */
function cutNameOf(by: Grouping, { style: { glyphs } }: Sheet): Table["cutName"] {
  switch (by) {
    case "project":
    case "model":
      return (name, columns) => cutStart(name, columns, glyphs.more);
    case "day":
      return (name, columns) => (columns < name.length ? name.slice("2026-".length).slice(0, columns) : name);
    case "agent":
      return (name, columns) => cutToWidth(name, columns, glyphs.more);
    default:
      return by satisfies never;
  }
}

/** Columns that say nothing are left out. */
function columnsOf(rows: readonly Row[]): Column[] {
  const column = (head: string, rank: number, cell: (sums: Sums) => Cell): Column => {
    return { head, rank, cells: rows.map(({ sums }) => (sums === undefined ? { text: "" } : cell(sums))) };
  };
  const hasCost = rows.some(({ sums }) => sums !== undefined && costCell(sums) !== "");
  const columns = [
    column("runs", 2, ({ runs }) => ({ text: number(runs) })),
    column("completed", 5, ({ statuses }) => ({ text: number(statuses.completed), colour: colourOf("completed") })),
    column("errors", 3, ({ errorTypes }) => ({ text: number(countOf(errorTypes)), colour: colourOf("failed") })),
    column("tokens", hasCost ? 4 : 1, ({ usage }) => ({ text: tokenCell(usage) })),
    column("cost", 0, (sums) => ({ text: costCell(sums) })),
  ];
  return columns.filter(({ cells }) => cells.some(({ text }) => text !== ""));
}

function tokenCell({ totalTokens, estimated }: Sums["usage"]): string {
  return totalTokens === 0 ? "" : tokens(totalTokens, estimated).replace(" tok", "");
}

/** `$1.20 + $?`: a part of the runs has a cost that is not known. */
function costCell({ costUsd, unpricedRuns }: Sums): string {
  const known = cost(costUsd);
  if (unpricedRuns === 0) return known;
  return known === "" ? "$?" : `${known} + $?`;
}

function moreWords(by: Grouping, left: number, maxRows: number): string {
  const words = many(left, `more ${by}`);
  return maxRows === FEW_ROWS ? `${words}: --by ${by}` : `${words}: --json has all`;
}

/** Empty for zero: in a table of many it is what is not there. */
function number(value: number): string {
  return value === 0 ? "" : count(value);
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}

function many(value: number, one: string, more = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : more}`;
}
