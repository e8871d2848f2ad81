/** A tree as one HTML file: no script, nothing from elsewhere, and every character of a run shown as what it is. */

import { systemPrompt } from "../../../core/agent.ts";
import type { FilePart } from "../../../core/message.ts";
import { type RunRecord, sumOfRuns } from "../../../core/store.ts";
import { isUnended, OUTCOMES, stopReasonOf } from "../../../core/words/outcomes.ts";
import { HTML_STYLE } from "./html-style.ts";
import { type CallView, lastWords, type Part, type RunView, resultOf, SPEAKERS, type ViewEntry } from "./view.ts";
import {
  costInWords,
  countInWords,
  DAMAGED,
  durationInWords,
  figuresOf,
  fileInWords,
  pictureAddress,
  showHidden,
  timeInWords,
  tokensInWords,
  valueInWords,
} from "./words.ts";

/** The anchor of each run in the file. */
type Anchors = ReadonlyMap<string, string>;

/** `views` begin with the root. */
export function toHtmlFile(views: readonly RunView[], damage?: string): string {
  const [root] = views;
  const title = root === undefined ? "An empty tree" : firstLine(root.record.task) || root.record.path;
  const anchors = new Map(views.map(({ record }, index) => [record.id, `run-${index + 1}`]));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>${escaped(showHidden(title))}</title>
<style>${HTML_STYLE}</style>
</head>
<body>
${header(title, views)}${damage === undefined ? "" : `\n<p class="remark bad">${DAMAGED} ${visible(damage)}</p>`}
${overview(views, anchors)}
<main>
${views.map((view, index) => runSection(view, anchors, index === 0)).join("\n")}
</main>
<footer>Exported by sous. This file holds everything it shows and loads nothing.</footer>
</body>
</html>
`;
}

function header(title: string, views: readonly RunView[]): string {
  const [root] = views;
  if (root === undefined) return `<header><h1>${visible(title)}</h1></header>`;
  const sums = figureSpans(sumOfRuns(views.map(({ record }) => record)));
  const [runs, time] = [countInWords(views.length, "run"), durationInWords(root.record)];
  const { startedAt, lost } = root.record;
  const loss = lost === undefined ? "" : `<p class="remark bad">Not everything was kept: ${visible(lost)}</p>`;
  return `<header>
<p class="kicker">${badge(root.record.status)} <time datetime="${moment(startedAt)}">${moment(startedAt)}</time></p>
<h1 dir="auto">${visible(title)}</h1>
<p class="figures"><span>${escaped(runs)}</span> ${sums} <span>${escaped(time)}</span></p>
${loss}</header>`;
}

function overview(views: readonly RunView[], anchors: Anchors): string {
  const rows = views.map(({ record, start: { origin } }) => {
    const name = record.path.slice(record.path.lastIndexOf("/") + 1);
    const cells = [badge(record.status), ...figuresOf(record)];
    const link = `<a href="#${anchors.get(record.id)}" title="${visibleAttribute(record.path)}">${visible(name)}</a>`;
    const from = origin === undefined ? "" : ` <span class="time">${origin.kind}</span>`;
    return `<tr class="${kindOf(record.status)}"><th scope="row" style="--depth:${Math.min(record.depth, 20)}">${link}${from}</th>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`;
  });
  return `<nav aria-label="Runs of this tree"><div class="scroll"><table>
<thead><tr><th scope="col">Run</th><th scope="col">Status</th><th scope="col">Turns</th><th scope="col">Tools</th><th scope="col">Tokens</th><th scope="col">Cost</th><th scope="col">Time</th></tr></thead>
<tbody>
${rows.join("\n")}
</tbody></table></div></nav>`;
}

function runSection(view: RunView, anchors: Anchors, isOpen: boolean): string {
  const { record, entries, end } = view;
  // The anchor is inside: a browser opens a closed element when a link leads into it.
  return `<details class="run ${kindOf(record.status)}"${isOpen ? " open" : ""}>
<summary><span class="path">${visible(record.path)}</span> ${badge(record.status)} <span class="figures">${figureSpans(record)}</span></summary>
<div class="inside" id="${anchors.get(record.id)}">
${facts(view, anchors)}
<ol class="entries">
${entries.map((entry) => entryItem(entry, record.startedAt, anchors)).join("\n")}
</ol>
${end === undefined ? '<p class="remark bad">No end was recorded.</p>' : ending(view, end)}
</div>
</details>`;
}

function figureSpans({ turns, toolCount, usage, costUsd }: ReturnType<typeof sumOfRuns>): string {
  const counts = [countInWords(turns, "turn"), countInWords(toolCount, "tool call")];
  const figures = [...counts, tokensInWords(usage), costInWords(costUsd)];
  return figures.map((each) => `<span>${escaped(each)}</span>`).join(" ");
}

function facts({ record, start }: RunView, anchors: Anchors): string {
  const { origin } = start;
  const runLink = (runId: string) => {
    const anchor = anchors.get(runId);
    return anchor === undefined ? visible(runId) : `<a href="#${anchor}">${visible(runId)}</a>`;
  };
  const all: [name: string, value: string | undefined][] = [
    ["Id", visible(record.id)],
    ["Agent", visible(record.agent)],
    ["Model", visible(record.model)],
    ["Started", moment(record.startedAt)],
    ["Started by", record.parentId === null ? undefined : runLink(record.parentId)],
    ["Continues", origin === undefined ? undefined : `${runLink(origin.runId)} (${origin.kind})`],
    ["Tools", record.allowedTools.length === 0 ? "none" : record.allowedTools.map(visible).join(", ")],
    ["Turns allowed", String(start.maxTurns)],
    ["Summary", record.summaryPrompt === undefined ? undefined : visible(record.summaryPrompt)],
  ];
  const shown = all.flatMap(([name, value]) =>
    value === undefined ? [] : [`<div><dt>${name}</dt><dd>${value}</dd></div>`],
  );
  const instructions = systemPrompt(start);
  const system = instructions === undefined ? "" : more("Instructions", block(instructions));
  return `<dl class="facts">${shown.join("")}</dl>${system}`;
}

function entryItem(entry: ViewEntry, startedAt: number, anchors: Anchors): string {
  const time = `<span class="time">+${timeInWords(entry.time - startedAt)}</span>`;
  if (entry.kind === "remark")
    return `<li class="remark${entry.isBad ? " bad" : ""}">${visible(entry.text)} ${time}</li>`;
  if (entry.kind === "activity")
    return `<li class="message outside"><div class="by">By itself ${time}</div>\n${callBlock(entry.call, anchors)}</li>`;
  const { number, from, parts, calls } = entry;
  return `<li class="message ${from}"><div class="by"><span class="number">${number}</span> ${SPEAKERS[from]} ${time}</div>
${parts.map(partBlock).join("\n")}${calls.map((call) => callBlock(call, anchors)).join("\n")}</li>`;
}

function partBlock(part: Part): string {
  switch (part.type) {
    case "text":
      return part.text === "" ? "" : textBlock(part.text);
    case "reasoning":
      return more("Thinking", textBlock(part.text));
    case "file":
      return fileBlock(part);
    default:
      return part satisfies never;
  }
}

function callBlock(view: CallView, anchors: Anchors): string {
  const { call, approval, result, children } = view;
  const { text, state, files } = resultOf(view);
  const words = { done: "✓", failed: "✗ failed", open: "no result" }[state];
  const links = children.map(({ id, path }) => `<a class="child" href="#${anchors.get(id)}">${visible(path)}</a>`);
  const took = result?.durationMs === undefined ? "" : `<span class="time">${timeInWords(result.durationMs)}</span>`;
  const asked = approval === undefined ? "" : `<span class="approval">${visible(approval)}</span>`;
  const stack = result?.stack === undefined ? "" : more("Stack", block(result.stack));
  return `<section class="call ${state}">
<h3><code>${visible(call.toolName)}</code> <span class="state">${words}</span> ${asked} ${took} ${links.join(" ")}</h3>
<div class="sides"><div><h4>Input</h4>${block(valueInWords(call.input))}</div><div><h4>Result</h4>${block(text)}${files.map(fileBlock).join("")}${stack}</div></div>
</section>`;
}

function fileBlock(file: FilePart): string {
  const address = pictureAddress(file);
  const words = visible(fileInWords(file));
  if (address === undefined) return `<p class="file">${words}</p>`;
  return `<figure><img src="${address}" alt="${visibleAttribute(fileInWords(file))}"><figcaption>${words}</figcaption></figure>`;
}

function ending(view: RunView, end: NonNullable<RunView["end"]>): string {
  const { fault, output, durationMs } = end;
  const reason = stopReasonOf(end);
  const why = reason === undefined ? "" : ` (${reason.aside})`;
  const said = lastWords(view);
  return `<section class="end"><h3>${badge(view.record.status)}${why} <span class="time">after ${timeInWords(durationMs)}</span></h3>
${fault === undefined ? "" : `<p class="remark bad">${visible(`${fault.type}: ${fault.message}`)}</p>`}
${fault?.stack === undefined ? "" : more("Stack", block(fault.stack))}
${said === "" ? "" : textBlock(said)}
${output === undefined ? "" : `<h4>Output</h4>${block(valueInWords(output))}`}</section>`;
}

/** The kind decides the colour, the word says the same without it. */
function badge(status: RunRecord["status"]): string {
  return `<span class="badge ${kindOf(status)}">${status.replaceAll("_", " ")}</span>`;
}

function kindOf(status: RunRecord["status"]): "good" | "half" | "bad" | "open" {
  if (isUnended(status)) return "open";
  const { kind } = OUTCOMES[status];
  return kind === "done" ? "good" : kind === "partial" ? "half" : "bad";
}

function moment(time: number): string {
  return new Date(time).toISOString();
}

function more(title: string, content: string): string {
  return `<details class="more"><summary>${title}</summary>${content}</details>`;
}

function textBlock(text: string): string {
  return `<div class="text" dir="auto">${visible(text)}</div>`;
}

function block(text: string): string {
  return `<pre dir="auto" tabindex="0">${visible(text)}</pre>`;
}

function firstLine(text: string): string {
  const [line = ""] = text.trim().split("\n", 1);
  return line.length <= 160 ? line : `${line.slice(0, 160).toWellFormed()}…`;
}

/** Text as HTML that is nothing but this text. */
function visible(text: string): string {
  return showHidden(escaped(text), (name) => `<span class="hidden">${name}</span>`);
}

function visibleAttribute(text: string): string {
  return showHidden(escaped(text));
}

function escaped(text: string): string {
  return text.replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`);
}
