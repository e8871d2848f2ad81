/** Passes on what an agent says and does during one prompt, in bounded pieces. Everything here is a claim of the agent. */

import { cleanText } from "../../core/clean-text.ts";
import type { ExternalCall, ExternalHost } from "../../core/external-agent.ts";
import { truncateUtf8 } from "../../core/truncate.ts";
import { oneLine } from "./one-line.ts";
import { chunk, plan, type ToolCallData, toolCall } from "./schema.ts";

/** Units of text of one prompt; texts and thoughts are counted apart. */
const MAX_TEXT = 4 * 1024 * 1024;
const MAX_TITLE = 200;
const MAX_NAME = 100;
const MAX_KIND = 20;
const MAX_INPUT_BYTES = 4096;
const MAX_OUTPUT_BYTES = 4096;
const MAX_PLAN_STEPS = 50;
/** Max calls of one prompt. Each of them is recorded. */
const MAX_CALLS = 2000;

type Sink = Pick<ExternalHost, "onText" | "onThought" | "onPlan" | "onCall">;

/** A call that has begun; what later updates say replaces what was said before. */
export type OpenCall = { readonly callId: string; readonly data: ToolCallData };

export class Activity {
  readonly #sink: Sink;
  readonly #newId: () => string;
  readonly #open = new Map<string, OpenCall>();
  readonly #ended = new Set<string>();
  #calls = 0;
  #texts = 0;
  #thoughts = 0;

  constructor(sink: Sink, newId: () => string) {
    this.#sink = sink;
    this.#newId = newId;
  }

  /** Updates of other kinds, and those of a wrong shape, change nothing. */
  update(kind: string, given: unknown): void {
    switch (kind) {
      case "agent_message_chunk":
        this.#texts = this.#pass(given, this.#texts, (text) => this.#sink.onText(text));
        return;
      case "agent_thought_chunk":
        this.#thoughts = this.#pass(given, this.#thoughts, (text) => this.#sink.onThought(text));
        return;
      case "plan": {
        const { data } = plan.safeParse(given);
        if (data !== undefined) this.#sink.onPlan(data.entries.slice(0, MAX_PLAN_STEPS).map(stepText));
        return;
      }
      case "tool_call":
      case "tool_call_update": {
        const { data } = toolCall.safeParse(given);
        if (data !== undefined) this.#call(data);
        return;
      }
    }
  }

  /** Returns the call as it was announced, with what a question about it says. */
  known(asked: ToolCallData): OpenCall {
    const open = this.#open.get(asked.toolCallId);
    return { callId: open?.callId ?? this.#newId(), data: merged(open?.data, asked) };
  }

  /** The prompt is over: a call without an end gets one. */
  end(): void {
    for (const { callId, data } of this.#open.values()) {
      this.#sink.onCall({ ...described(callId, data), phase: "end", output: "", isError: true });
    }
  }

  #pass(given: unknown, before: number, pass: (text: string) => void): number {
    const { data } = chunk.safeParse(given);
    if (data === undefined || data.content.text === "" || before >= MAX_TEXT) return before;
    const { text } = data.content;
    const left = MAX_TEXT - before;
    pass(cleanText(text.length > left ? `${text.slice(0, left)}\n[the rest was too long and left out]` : text));
    return before + text.length;
  }

  #call(data: ToolCallData): void {
    const { toolCallId } = data;
    if (this.#ended.has(toolCallId)) return;
    const before = this.#open.get(toolCallId);
    if (before === undefined && this.#calls >= MAX_CALLS) return;
    const call: OpenCall = { callId: before?.callId ?? this.#newId(), data: merged(before?.data, data) };
    if (before === undefined) {
      this.#calls += 1;
      this.#sink.onCall({ ...described(call.callId, call.data), phase: "start" });
    }
    const { status } = call.data;
    if (status !== "completed" && status !== "failed") {
      this.#open.set(toolCallId, call);
      return;
    }
    this.#open.delete(toolCallId);
    this.#ended.add(toolCallId);
    this.#sink.onCall({
      ...described(call.callId, call.data),
      phase: "end",
      output: outputOf(call.data),
      isError: status === "failed",
    });
  }
}

/** Merges an update: a field that it does not name stays as it was. */
function merged(before: ToolCallData | undefined, now: ToolCallData): ToolCallData {
  const said = Object.entries(now).filter(([, value]) => value !== undefined && value !== null);
  return { ...(before ?? now), ...Object.fromEntries(said) };
}

function described(callId: string, data: ToolCallData): Omit<ExternalCall, "phase"> {
  const kind = oneLine(data.kind ?? "other", MAX_KIND);
  return {
    callId,
    name: oneLine(data.name ?? kind, MAX_NAME),
    kind,
    title: oneLine(data.title ?? data.name ?? kind, MAX_TITLE),
    input: boundedJson(data.rawInput, MAX_INPUT_BYTES),
  };
}

/** The value, or the beginning of its JSON when that is too long. */
function boundedJson(value: unknown, maxBytes: number): unknown {
  if (value === undefined || value === null) return {};
  const json = JSON.stringify(value);
  const { text, truncated } = truncateUtf8(json, maxBytes);
  return truncated ? `${text}… [cut]` : value;
}

function outputOf({ content = [], rawOutput, status }: ToolCallData): string {
  const change = status === "failed" ? "not changed" : "changed";
  const texts = content.map((each) =>
    each.type === "diff" ? `[${change}: ${each.path}]` : withoutFence(each.content.text),
  );
  const said = texts.length > 0 ? texts.join("\n") : typeof rawOutput === "string" ? rawOutput : "";
  const whole = said !== "" || rawOutput === undefined || rawOutput === null ? said : JSON.stringify(rawOutput);
  const { text, truncated } = truncateUtf8(cleanText(whole.slice(0, MAX_OUTPUT_BYTES)), MAX_OUTPUT_BYTES);
  return truncated || whole.length > MAX_OUTPUT_BYTES ? `${text}… [cut]` : text;
}

/** Many agents put what a tool gave into a fence of Markdown. */
function withoutFence(text: string): string {
  const [first = "", ...rest] = text.trim().split("\n");
  const fence = /^`{3,}/.exec(first)?.[0];
  return fence !== undefined && rest.at(-1) === fence ? rest.slice(0, -1).join("\n") : text;
}

function stepText({ content, status }: { content: string; status?: string | undefined }): string {
  const text = oneLine(content, MAX_TITLE);
  return status === "completed" ? `[done] ${text}` : text;
}
