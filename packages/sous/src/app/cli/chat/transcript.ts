/** A conversation as lines: those that are done and stay, and below them the run in progress. A fold over events. */

import type { SousEvent, StoredEvent } from "../../../core/event.ts";
import { textOf } from "../../../core/message.ts";
import { isSubagentToolName } from "../../../core/spawn.ts";
import { Takings } from "../stored/takings.ts";
import { colourOf, type Style, statusWords } from "../terminal/style.ts";
import { breakLine, cutToWidth, inert } from "../terminal/text.ts";
import { type LiveView, liveLines, treeMetrics } from "../view/live-lines.ts";
import { plainLine, warningLines } from "../view/plain-lines.ts";
import { type RunNode, RunTree } from "../view/run-tree.ts";
import { MarkdownStream } from "./markdown.ts";

const LOG_LINES = 6;
/** A list of more than this has one line for each. */
const MANY = 8;
const OUTPUT_LINES = 10;
/** The width for lines that are made and not shown. */
const UNSEEN_COLUMNS = 80;
const CUT_OFF = "(cut off; the answer begins again)";
/** Printed for every run, not only for the root. */
const SHOWN_FOR_ALL_RUNS: ReadonlySet<SousEvent["type"]> = new Set(["spawn-refused", "budget-warning", "budget-near"]);

export class Transcript {
  tree: RunTree;
  /** The workers that have, or had, its placed runs. */
  takings = new Takings();
  /** True shows what tools said, and what the children did last. */
  isExpanded = false;
  /** The state of the live run's limits, for the rows of those that wait. */
  limits: () => LiveView["limits"] = () => undefined;
  readonly #style: Style;
  readonly #markdown: MarkdownStream;
  /** Runs that are printed and no longer drawn. */
  readonly #printed = new Set<RunNode>();
  /** The last steps of a run, by its id. */
  readonly #log = new Map<string, string[]>();
  /** Real paths by what is shown of them; undefined when two look the same. */
  readonly #paths = new Map<string, string | undefined>();
  /** The text shown so far of the answer that is being written, over all attempts to get it. */
  #shown = "";
  /** The text of another attempt so far, while it only repeats what was shown; undefined in the first attempt. */
  #repeated: string | undefined;

  constructor(style: Style) {
    this.#style = style;
    this.tree = new RunTree(style.glyphs.arrow);
    this.#markdown = new MarkdownStream(style);
  }

  /** The run that is going on. */
  get root(): RunNode | undefined {
    const root = this.tree.roots.at(-1);
    return root?.status === "running" ? root : undefined;
  }

  /** Shows another conversation, of which this has happened before: in the tree, and not printed again. */
  startOver(earlier: Iterable<StoredEvent>): void {
    this.tree = new RunTree(this.#style.glyphs.arrow);
    this.takings = new Takings();
    this.#printed.clear();
    this.#log.clear();
    this.#paths.clear();
    for (const event of earlier) this.apply(event, UNSEEN_COLUMNS);
    this.tree.interrupt();
  }

  /** The path that a shown one stands for: a label may hold what is not shown. */
  realPath(shown: string): string | undefined {
    return this.#paths.get(shown);
  }

  /** Takes an event in; returns the lines that are done. */
  apply(event: SousEvent, columns: number): string[] {
    this.tree.apply(event);
    this.takings.add(event);
    const node = this.tree.get(event.runId);
    if (node === undefined) return [];
    if (event.type === "run-start" || event.type === "budget-wait") {
      const isOther = this.#paths.has(node.path) && this.#paths.get(node.path) !== event.path;
      this.#paths.set(node.path, isOther ? undefined : event.path);
    }
    this.#remember(event);
    if (SHOWN_FOR_ALL_RUNS.has(event.type)) return this.#plain(event, columns);
    if (event.depth > 0) return [];
    switch (event.type) {
      case "text-delta":
        return this.#hear(event.text, columns);
      case "message-end":
        return this.#endAnswer(textOf(event.message), columns);
      case "retry":
        // Shown text is not shown again: the next attempt mostly begins with the same words.
        this.#repeated = "";
        return this.#plain(event, columns);
      case "tool-call-end":
        return isSubagentToolName(event.toolName)
          ? this.#endedChildren(node, event.time, columns)
          : this.#toolLines(node, event, columns);
      case "prune":
        return this.#plain(event, columns);
      case "run-end":
        return this.#endLines(node, event, columns);
      default:
        return [];
    }
  }

  /** The line that is being written. */
  pending(columns: number, maxLines: number): string[] {
    return maxLines > 0 ? this.#markdown.pending(columns).slice(-maxLines) : [];
  }

  /** The work in progress: a head line, and two lines a child. */
  workLines(view: LiveView): string[] {
    const { root } = this;
    if (root === undefined) return [];
    const isWriting = this.#markdown.pending(view.columns).length > 0;
    const shown = { ...root, children: this.#unprinted(root) };
    if (isWriting) Object.assign(shown, { activity: "writes", result: "" });
    const lines = liveLines({ roots: [shown] }, { ...view, limits: this.limits() });
    return this.isExpanded ? [...lines, ...this.#details(view, view.maxLines - lines.length)] : lines;
  }

  /** The children that are drawn, in their order, by path. */
  drawnPaths(): string[] {
    const below = (node: RunNode): string[] => [node.path, ...node.children.flatMap(below)];
    return this.root === undefined ? [] : this.#unprinted(this.root).flatMap(below);
  }

  #unprinted(node: RunNode): RunNode[] {
    return node.children.filter((child) => !this.#printed.has(child));
  }

  #details({ columns, selected, style }: LiveView, room: number): string[] {
    const busy = this.tree.all().filter((node) => node.status === "running" && node.path === (selected ?? node.path));
    const lines = busy.flatMap((node) => this.#log.get(node.id) ?? []);
    return room <= 0 ? [] : lines.slice(-room).map((line) => style.paint("dim", cutToWidth(`   ${line}`, columns)));
  }

  #hear(text: string, columns: number): string[] {
    const repeated = this.#repeated;
    if (repeated === undefined) {
      this.#shown += text;
      return this.#markdown.push(text, columns);
    }
    const said = repeated + text;
    this.#repeated = said;
    if (this.#shown.startsWith(said)) return [];
    return said.startsWith(this.#shown) ? this.#showRest(said, columns) : this.#showOther(said, columns);
  }

  /** The attempt repeats everything that was shown, and says more. */
  #showRest(said: string, columns: number): string[] {
    const rest = said.slice(this.#shown.length);
    this.#shown = said;
    this.#repeated = undefined;
    return this.#markdown.push(rest, columns);
  }

  /** The attempt differs from what was shown. */
  #showOther(said: string, columns: number): string[] {
    const before = this.#markdown.end(columns);
    const line = this.#style.paint("dim", cutToWidth(CUT_OFF, columns, this.#style.glyphs.more));
    this.#shown = said;
    this.#repeated = undefined;
    return [...before, line, ...this.#markdown.push(said, columns)];
  }

  /** `text` is the whole answer: not every model says it in pieces. */
  #endAnswer(text: string, columns: number): string[] {
    const isSaid = this.#repeated === undefined ? this.#shown !== "" : this.#repeated !== "";
    const lines = isSaid ? [] : this.#hear(text, columns);
    const isOther = this.#repeated !== undefined && this.#repeated !== this.#shown;
    if (isOther) lines.push(...this.#showOther(this.#repeated ?? "", columns));
    return [...lines, ...this.#endText(columns)];
  }

  #endText(columns: number): string[] {
    this.#shown = "";
    this.#repeated = undefined;
    return this.#markdown.end(columns);
  }

  #remember(event: SousEvent): void {
    const line = plainLine(event, this.tree, { ...this.#style, paint: (_, text) => text });
    if (line === undefined) return;
    const log = this.#log.get(event.runId) ?? [];
    this.#log.set(event.runId, [...log, line].slice(-LOG_LINES));
    if (event.type === "run-end" && event.depth === 0) this.#log.clear();
  }

  #plain(event: SousEvent, columns: number): string[] {
    return warningLines(event, this.tree, this.#style, columns);
  }

  #toolLines(node: RunNode, event: Extract<SousEvent, { type: "tool-call-end" }>, columns: number): string[] {
    const { glyphs, paint } = this.#style;
    const status = event.isError ? "failed" : "completed";
    const text = cutToWidth(`${node.activity}${node.result}`, columns - 2, glyphs.more);
    const first = `${paint(colourOf(status), glyphs.status[status])} ${paint("dim", text)}`;
    if (!this.isExpanded) return [first];
    const output = inert(event.output).split("\n");
    const shown = output.slice(0, OUTPUT_LINES);
    const more = output.length > shown.length ? [`${glyphs.more} ${output.length - shown.length} more lines`] : [];
    return [first, ...[...shown, ...more].map((line) => paint("dim", cutToWidth(`    ${line}`, columns, glyphs.more)))];
  }

  /** Children that are done leave the live region and stay in the scrollback. */
  #endedChildren(root: RunNode, now: number, columns: number): string[] {
    const ended = this.#unprinted(root).filter(isOver);
    if (ended.length === 0) return [];
    for (const child of ended) this.#printed.add(child);
    const count = ended.reduce((sum, child) => sum + countOf(child), 0);
    const startedAt = Math.min(...ended.map((child) => child.startedAt));
    const status = ended.every((child) => child.status === "completed") ? "completed" : "incomplete";
    const head: RunNode = { ...root, children: ended, status, asks: false, startedAt, endedAt: now };
    const maxLines = count > MANY ? count + 1 : Number.POSITIVE_INFINITY;
    return liveLines({ roots: [head] }, { now, columns, maxLines, frame: 0, style: this.#style });
  }

  #endLines(node: RunNode, event: Extract<SousEvent, { type: "run-end" }>, columns: number): string[] {
    const { glyphs, paint } = this.#style;
    const said = [...this.#endText(columns), ...this.#endedChildren(node, event.time, columns)];
    const metrics = treeMetrics(node, event.time, glyphs.dot);
    if (event.status === "completed") return [...said, paint("dim", cutToWidth(`(${metrics})`, columns, glyphs.more))];
    const fault = event.fault === undefined ? "" : `: ${inert(event.fault.message).replaceAll("\n", " ")}`;
    const line = `${glyphs.status[event.status]} ${statusWords(node)}${fault} (${metrics})`;
    return [...said, ...breakLine(line, columns).map((each) => paint(colourOf(event.status), each))];
  }
}

function isOver(node: RunNode): boolean {
  return node.status !== "running" && node.status !== "queued" && node.children.every(isOver);
}

function countOf(node: RunNode): number {
  return node.children.reduce((sum, child) => sum + countOf(child), 1);
}
