/** The answers of the model in a tree that is killed: each follows from the messages alone, whoever asks. */

import type { Random } from "../../src/core/clock.ts";
import { between } from "../../src/testing/world.ts";

/** A message as chat completions have it. */
export type ChatMessage = { role: string; content?: unknown; tool_call_id?: string };

export type ScriptedAnswer = { text: string } | { calls: readonly { name: string; input: unknown }[] };

/** Words of the task say who asks; how much was said says what comes next. */
export function answerTo(messages: readonly ChatMessage[]): ScriptedAnswer {
  const said = messages.filter(({ role }) => role === "assistant").length;
  const part = partOf(messages);
  const line = part === "lead" ? LEAD[said]?.(messages) : PARTS[part]?.[said];
  return line ?? { text: `${part} has nothing to say after ${said} answers.` };
}

/** Whose conversation it is. */
export function partOf(messages: readonly ChatMessage[]): string {
  const task = textOf(messages.find(({ role }) => role === "user"));
  return /^Part (\w+)\./.exec(task)?.[1] ?? "lead";
}

/** The last words of the lead, when everybody has reported to it exactly once. */
export const FINAL_TEXT = "All have reported: a1 a2 b1 c1 slow1 slow2.";

const REPORTS = ["a1", "a2", "b1", "c1", "slow1", "slow2"] as const;

/** How often each tool runs in a life that is not killed. */
export const TOOL_CALLS = { look: 5, note: 2, pay: 7 } as const;

const call = (name: string, input: unknown = {}) => ({ name, input });
const calls = (...given: { name: string; input: unknown }[]): ScriptedAnswer => ({ calls: given });
const child = (part: string) => ({ label: part, task_prompt: `Part ${part}.` });

const PARTS: Record<string, readonly ScriptedAnswer[]> = {
  a: [calls(call("look")), calls(call("note")), { text: "Report a1." }, calls(call("pay")), { text: "Report a2." }],
  b: [calls(call("pay"), call("look"), call("pay")), { text: "Report b1." }],
  c: [calls(call("subagent", child("deep"))), { text: "Report c1." }],
  deep: [calls(call("pay"), call("look")), { text: "Deep." }],
  slow1: [calls(call("look")), calls(call("pay")), { text: "Report slow1." }],
  slow2: [calls(call("pay")), calls(call("look")), { text: "Report slow2." }],
};

const LEAD: readonly ((messages: readonly ChatMessage[]) => ScriptedAnswer)[] = [
  () =>
    calls(
      call("subagent", { ...child("slow1"), background: true }),
      call("subagent", { ...child("slow2"), background: true }),
      call("parallel_subagent", { tasks: ["a", "b", "c"].map(child) }),
    ),
  () => calls(call("pay"), call("note")),
  (messages) => calls(call("subagent_send", { subagent_id: idOf("a", messages), message: "And more?" })),
  (messages) => calls(call("subagent_wait", { subagent_ids: [idOf("slow1", messages)] })),
  (messages) => (reportsIn(messages).includes("slow2") ? finalAnswer(messages) : { text: "One is missing." }),
  finalAnswer,
];

function finalAnswer(messages: readonly ChatMessage[]): ScriptedAnswer {
  return { text: `All have reported: ${reportsIn(messages).sort().join(" ")}.` };
}

/** Every report in the history, as often as it is there. */
function reportsIn(messages: readonly ChatMessage[]): string[] {
  const texts = messages.filter(({ role }) => role !== "assistant").map(textOf);
  return REPORTS.flatMap((word) => texts.flatMap((text) => text.split(`Report ${word}.`).slice(1)).map(() => word));
}

function idOf(label: string, messages: readonly ChatMessage[]): string {
  const results = messages.filter(({ role }) => role === "tool").map(textOf);
  for (const text of results) {
    const listed = new RegExp(`"subagent_id":"(\\w+)","subagent_label":"${label}"`).exec(text)?.[1];
    const started = new RegExp(`^${label} runs in the background \\(subagent_id: (\\w+)\\)`).exec(text)?.[1];
    const found = listed ?? started;
    if (found !== undefined) return found;
  }
  return "unknown";
}

function textOf(message: ChatMessage | undefined): string {
  const content = message?.content;
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: { text?: unknown }) => (typeof part.text === "string" ? part.text : "")).join("");
}

/** The pieces of a text as they come over the wire. */
export function piecesOf(text: string, random: Random): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; ) {
    const length = between(random, 3, 20);
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
}
