/** Events, one line each, for a pipe, a log or a screen reader: nothing moves and nothing is drawn over. */

import { withoutDataMark } from "../../../core/data-mark.ts";
import type { SousEvent, ToolProgress } from "../../../core/event.ts";
import type { ExternalCall } from "../../../core/external-agent.ts";
import { shownToolName } from "../../../core/mcp-names.ts";
import { isSubagentToolName } from "../../../core/spawn.ts";
import { countsIn, describeCounts } from "../../../core/tool-log.ts";
import { lineOf } from "../../../core/words/event-rows.ts";
import { aboutInput } from "../../../core/words/tools.ts";
import { colourOf, type Style, statusWords } from "../terminal/style.ts";
import { breakLine, inertLine } from "../terminal/text.ts";
import { limitLine } from "./limit-lines.ts";
import { treeMetrics } from "./live-lines.ts";
import type { RunTree } from "./run-tree.ts";

/** The line about an event the tree has already taken in; undefined for events that are not shown. */
export function plainLine(event: SousEvent, tree: RunTree, { glyphs, paint }: Style): string | undefined {
  const node = tree.get(event.runId);
  if (node === undefined) return undefined;
  const say = (text: string): string => `${paint("bold", node.path)}  ${text}`;
  switch (event.type) {
    case "run-start":
      return say(`starts: ${node.task}`);
    case "tool-call-end":
      return isSubagentToolName(event.toolName) ? undefined : say(node.activity + node.result);
    case "outside-call":
      return event.phase === "start" ? undefined : say(node.activity + node.result);
    case "run-end": {
      const metrics = treeMetrics(node, event.time, glyphs.dot);
      const status = paint(colourOf(event.status), `${glyphs.status[event.status]} ${statusWords(node)}`);
      // The answer of a root is shown as the result; here it would be there twice.
      const text = event.parentId === null || node.activity === "" ? "" : `: ${inertLine(node.activity, 160)}`;
      return say(`${status}${text} ${paint("dim", `(${metrics})`)}`);
    }
    case "approval-request":
    case "retry":
      return say(node.activity);
    case "park":
      // Nothing new is said of those that wait for its answer.
      return node.activity.startsWith("wants: ") ? say("waits for an answer that comes later") : undefined;
    case "budget-wait":
      return say(`waits for its budget: ${limitLine(event.limit)}`);
    case "budget-near":
      return say(paint("yellow", `most of a limit is spent: ${limitLine(event.limit)}`));
    default: {
      const line = lineOf(event, inertLine);
      if (line === undefined) return undefined;
      return say(event.type === "spawn-refused" ? paint("yellow", line) : line);
    }
  }
}

/** The same as a warning that stays: broken between words, in one colour. */
export function warningLines(event: SousEvent, tree: RunTree, style: Style, columns: number): string[] {
  const line = plainLine(event, tree, { ...style, paint: (_, text) => text });
  return line === undefined ? [] : breakLine(line, columns).map((each) => style.paint("yellow", each));
}

export function describeInput(input: unknown): string {
  return inertLine(aboutInput(input), 120);
}

/** A call that an external agent makes by itself: its title says more than its input, where it has one. */
export function describeExternalCall({ name, title, input }: Pick<ExternalCall, "name" | "title" | "input">): string {
  const about = title === name ? describeInput(input) : inertLine(title, 120);
  return `${inertLine(name, 80)}  ${about}`.trim();
}

export function describeTool(toolName: string): string {
  return inertLine(shownToolName(toolName), 80);
}

/** `3/10 Compiling`: what a call that runs says of itself. */
export function describeProgress({ text, done, total }: Pick<ToolProgress, "text" | "done" | "total">): string {
  const count = done === undefined ? "" : `${done}${total === undefined ? "" : `/${total}`}`;
  return `${count} ${inertLine(text, 60)}`.trim();
}

type CallEnd = {
  output: string;
  isError: boolean;
  metadata?: Readonly<Record<string, unknown>> | undefined;
};

/** The count that the tool gave, or the beginning of its answer. */
export function describeOutput({ output, isError, metadata }: CallEnd): string {
  // People read the name of the server before it.
  const said = withoutDataMark(output);
  if (isError) return `failed: ${inertLine(said, 120)}`;
  return describeCounts(countsIn(metadata)) ?? inertLine(said === "" ? "no text" : said, 60);
}
