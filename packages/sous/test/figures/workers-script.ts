/** The answers of the model in a tree over several workers: each follows from the messages alone, whoever asks. */

import type { ChatMessage, ScriptedAnswer } from "./kill-script.ts";

/** How many children the runs of each level have: `[8, 8]` is a root with 8 leads, each with 8 scouts. */
export type Shape = readonly number[];

/** The agents of the levels, from the root downwards. The last level of a tree is always of scouts. */
const AGENTS = ["root", "lead", "scout"] as const;

/** Whose conversation it is: the words of the task, which are those of one run of one tree only. */
export function partOf(messages: readonly ChatMessage[]): string {
  return /^[\w.-]+/.exec(textOf(messages.find(({ role }) => role === "user")))?.[0] ?? "nobody";
}

/** The task of a root. `name` tells its tree from the others. */
export function taskOf(name: string, shape: Shape): string {
  return `${name} ${shape.join("x")}`;
}

/** The last words of a root whose children have all reported to it, once each. */
export function finalText(name: string, shape: Shape): string {
  return reportOf(name, shape[0] ?? 0);
}

/** The runs of a tree, the model calls and the tool calls that each scout makes. */
export const SCOUT = { modelCalls: 5, toolCalls: 4 };

export function runsOf(shape: Shape): number {
  let level = 1;
  let all = 1;
  for (const children of shape) {
    level *= children;
    all += level;
  }
  return all;
}

const call = (name: string, input: unknown = {}) => ({ name, input });

export function answerTo(messages: readonly ChatMessage[]): ScriptedAnswer {
  const said = messages.filter(({ role }) => role === "assistant").length;
  const [part = "", rest = ""] = textOf(messages.find(({ role }) => role === "user")).split(/\s+/);
  const shape = rest
    .split("x")
    .filter((text) => text !== "")
    .map(Number);
  const [children] = shape;
  if (children === undefined) {
    const tool = ["look", "note", "look", "pay"][said];
    return tool === undefined ? { text: reportOf(part, 0) } : { calls: [call(tool)] };
  }
  if (said === 0) {
    const name = shape.length === 1 ? "scout" : AGENTS[part.split(".").length];
    const below = shape.slice(1).join("x");
    return {
      calls: Array.from({ length: children }, (_, index) =>
        call(`subagent_${name}`, { task: `${part}.${index} ${below}` }),
      ),
    };
  }
  if (said === 1 && part.includes(".")) return { calls: [call("look")] };
  const results = messages.filter(({ role }) => role === "tool").map(textOf);
  const reported = Array.from({ length: children }, (_, index) => `${part}.${index}`).filter(
    (child) => results.filter((result) => result.includes(reportOf(child, shape[1] ?? 0))).length === 1,
  );
  return { text: reportOf(part, reported.length) };
}

function reportOf(part: string, children: number): string {
  return `Report of ${part}: ${children}.`;
}

function textOf(message: ChatMessage | undefined): string {
  const content = message?.content;
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((each: { text?: unknown }) => (typeof each.text === "string" ? each.text : "")).join("");
}
