/** A tree as Markdown, to be read in a pull request: whatever a model or a tool said stays inside of fences. */

import { systemPrompt } from "../../../core/agent.ts";
import { stopReasonOf } from "../../../core/words/outcomes.ts";
import { type CallView, lastWords, type Part, type RunView, resultOf, SPEAKERS, type ViewEntry } from "./view.ts";
import { DAMAGED, figuresOf, fileInWords, showHidden, timeInWords, valueInWords } from "./words.ts";

/** `views` begin with the root. */
export function toMarkdownFile(views: readonly RunView[], damage?: string): string {
  const rows = views.map((view) => {
    const status = view.record.status.replaceAll("_", " ");
    return `| ${[nameInTree(view), status, ...figuresOf(view.record)].join(" | ")} |`;
  });
  const lost = views[0]?.record.lost;
  const sections = [
    "# A tree of sous",
    [
      "| Run | Status | Turns | Tools | Tokens | Cost | Time |",
      "| --- | --- | --: | --: | --: | --: | --: |",
      ...rows,
    ].join("\n"),
    ...(damage === undefined ? [] : [`**${DAMAGED}** ${inline(damage)}`]),
    ...(lost === undefined ? [] : [`**Not everything was kept:** ${inline(lost)}`]),
    ...views.map(runSection),
  ];
  return `${sections.join("\n\n")}\n`;
}

/** A table cell has no leading blanks of its own. */
function nameInTree({ record: { path, depth }, start: { origin } }: RunView): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return `${"&nbsp;&nbsp;".repeat(Math.min(depth, 20))}${depth > 0 ? "└ " : ""}${cell(name)}${origin === undefined ? "" : ` (${origin.kind})`}`;
}

function runSection(view: RunView): string {
  const { record, start, entries, end } = view;
  const { origin } = start;
  const instructions = systemPrompt(start);
  const facts = [
    `${record.status.replaceAll("_", " ")}, ${inline(record.model)}, started ${new Date(record.startedAt).toISOString()}, run ${inline(record.id)}`,
    ...(origin === undefined ? [] : [`Continues run ${inline(origin.runId)} (${origin.kind})`]),
  ];
  const parts = [
    `## ${inline(record.path)}`,
    facts.join("  \n"),
    ...(instructions === undefined ? [] : [folded("Instructions", fenced(instructions))]),
    ...entries.map((entry) => entrySection(entry, record.startedAt)),
    ...(end === undefined ? ["**No end was recorded.**"] : endSection(view, end)),
  ];
  return parts.join("\n\n");
}

function entrySection(entry: ViewEntry, startedAt: number): string {
  const time = `+${timeInWords(entry.time - startedAt)}`;
  if (entry.kind === "remark") return `> ${entry.isBad ? "**!** " : ""}${inline(entry.text)} (${time})`;
  if (entry.kind === "activity") return `**By itself** (${time})\n\n${callSection(entry.call)}`;
  const { number, from, parts, calls } = entry;
  const title = `**${number}. ${SPEAKERS[from]}** (${time})`;
  return [title, ...parts.flatMap(partSection), ...calls.map(callSection)].join("\n\n");
}

function partSection(part: Part): string[] {
  switch (part.type) {
    case "text":
      return part.text === "" ? [] : [fenced(part.text)];
    case "reasoning":
      return [folded("Thinking", fenced(part.text))];
    case "file":
      return [`File: ${inline(fileInWords(part))}`];
    default:
      return part satisfies never;
  }
}

function callSection(view: CallView): string {
  const { call, approval, result, children } = view;
  const { text, state, files } = resultOf(view);
  const took = result?.durationMs === undefined ? "" : `, ${timeInWords(result.durationMs)}`;
  const asked = approval === undefined ? "" : `, ${inline(approval)}`;
  const words = { done: "✓", failed: "✗ **failed**", open: "**no result**" }[state];
  const runs = children.map(({ path }) => `, run ${inline(path)}`).join("");
  const json = typeof call.input === "string" ? "text" : "json";
  return [
    `→ ${inline(call.toolName)} ${words}${took}${asked}${runs}`,
    fenced(valueInWords(call.input), json),
    fenced(text),
    ...files.map((file) => `File: ${inline(fileInWords(file))}`),
  ].join("\n\n");
}

function endSection(view: RunView, end: NonNullable<RunView["end"]>): string[] {
  const { status, stopReason, fault, output, durationMs } = end;
  const reason = stopReasonOf(end) === undefined ? "" : ` (${stopReason})`;
  const said = lastWords(view);
  return [
    `**Ended: ${status.replaceAll("_", " ")}${reason}** after ${timeInWords(durationMs)}`,
    ...(fault === undefined ? [] : [`**!** ${inline(`${fault.type}: ${fault.message}`)}`]),
    ...(said === "" ? [] : [fenced(said)]),
    ...(output === undefined ? [] : ["Output:", fenced(valueInWords(output), "json")]),
  ];
}

function folded(title: string, content: string): string {
  return `<details><summary>${title}</summary>\n\n${content}\n\n</details>`;
}

/** A fence that no line of the text can close. */
function fenced(text: string, language = "text"): string {
  const shown = showHidden(text).trimEnd();
  const fence = "`".repeat(Math.max(3, longestTicks(shown) + 1));
  return `${fence}${language}\n${shown}\n${fence}`;
}

/** One line of code: no mark-up, mention or address in it is taken for one. */
function inline(text: string): string {
  const line = showHidden(text).replace(/\s+/g, " ").trim();
  const ticks = "`".repeat(longestTicks(line) + 1);
  return line === "" ? "(nothing)" : `${ticks} ${line} ${ticks}`.replace(/^` (?!`)(.*)(?<!`) `$/, "`$1`");
}

/** Escapes bars: in a table a bar ends the cell, also inside of code. */
function cell(text: string): string {
  return inline(text).replaceAll("|", "\\|");
}

function longestTicks(text: string): number {
  let longest = 0;
  for (const [ticks] of text.matchAll(/`+/g)) longest = Math.max(longest, ticks.length);
  return longest;
}
