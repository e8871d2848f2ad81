/** A tree of runs told in events by hand: what the screens under test are drawn from. */

import type { SousEvent, StoredBody, ToolProgress } from "../../../../src/core/event.ts";
import type { LimitState } from "../../../../src/core/limits.ts";
import { userMessage } from "../../../../src/core/message.ts";
import type { RunOutcome } from "../../../../src/core/outcome.ts";
import type { Usage } from "../../../../src/core/usage.ts";

export const START = Date.UTC(2026, 10, 15, 12);

/** Events of one tree, numbered, at seconds since its start; a run is named by its path. */
export class Story {
  readonly events: SousEvent[] = [];
  readonly #listener: ((event: SousEvent) => void) | undefined;

  constructor(listener?: (event: SousEvent) => void) {
    this.#listener = listener;
  }

  starts(path: string, seconds: number, task: string, maxTurns = 10): void {
    this.tell(path, seconds, {
      type: "run-start",
      agent: "subagent",
      nickname: undefined,
      label: path.split("/").at(-1) ?? "",
      task: userMessage(task),
      model: "scripted/model",
      price: undefined,
      contextWindow: undefined,
      tools: { hash: "none", shown: [], bytes: 2, isDeepest: false },
      outputSchema: undefined,
      instructions: undefined,
      notes: undefined,
      maxTurns,
      rights: { use: [], delegate: [], deny: [], spawn: true },
      origin: undefined,
      call: undefined,
      summaryPrompt: undefined,
      timeoutMs: undefined,
      budget: undefined,
      terms: undefined,
      cwd: undefined,
    });
    this.tell(path, seconds, { type: "turn-start", turn: 1, promptTokens: 100, reserved: 0 });
  }

  answers(path: string, seconds: number, totalTokens: number, costUsd: number | null): void {
    const message = { role: "assistant", content: [] } as const;
    this.tell(path, seconds, {
      type: "message-end",
      turn: 1,
      message,
      finish: "stop",
      usage: usageOf(totalTokens),
      costUsd,
    });
  }

  calls(path: string, seconds: number, toolName: string, input: unknown): void {
    this.tell(path, seconds, { type: "tool-call-start", callId: `${path} ${toolName}`, toolName, input });
  }

  gets(path: string, seconds: number, toolName: string, output: string, metadata?: Record<string, unknown>): void {
    const callId = `${path} ${toolName}`;
    this.tell(path, seconds, {
      type: "tool-call-end",
      callId,
      toolName,
      output,
      isError: false,
      durationMs: 5,
      metadata,
    });
  }

  ends(path: string, seconds: number, outcome: Partial<RunOutcome> & { text: string }): void {
    const startedAt = this.events.findLast((event) => event.type === "run-start" && event.path === path)?.time ?? START;
    this.tell(path, seconds, {
      type: "run-end",
      status: "completed",
      stopReason: undefined,
      fault: undefined,
      turns: 3,
      toolCount: 2,
      usage: usageOf(1000),
      costUsd: 0,
      durationMs: START + seconds * 1000 - startedAt,
      ...outcome,
    });
  }

  says(path: string, seconds: number, text: string): void {
    this.#add({ ...identity(path), time: START + seconds * 1000, type: "text-delta", text });
  }

  /** Live events are not numbered. */
  limit(path: string, seconds: number, type: "budget-wait" | "budget-near", limit: LimitState): void {
    this.#add({ ...identity(path), time: START + seconds * 1000, type, limit });
  }

  progresses(
    path: string,
    seconds: number,
    toolName: string,
    said: Pick<ToolProgress, "text" | "done" | "total">,
  ): void {
    const head = { ...identity(path), time: START + seconds * 1000 };
    this.#add({ ...head, type: "tool-progress", callId: `${path} ${toolName}`, toolName, ...said });
  }

  tell(path: string, seconds: number, body: StoredBody): void {
    // The union of bodies and the union of events differ only in the head, which every event has.
    this.#add({ ...body, ...identity(path), time: START + seconds * 1000, seq: this.events.length } as SousEvent);
  }

  #add(event: SousEvent): void {
    this.events.push(event);
    this.#listener?.(event);
  }
}

function usageOf(totalTokens: number, estimated = false): Usage {
  return {
    inputTokens: totalTokens,
    outputTokens: 0,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    totalTokens,
    estimated,
  };
}

/** The three children of the contract's picture, after 72 seconds. */
export function threeChildren(listener?: (event: SousEvent) => void): Story {
  const story = new Story(listener);
  story.starts("main", 0, "Review the payments module");
  story.calls("main", 1, "parallel_subagent", { tasks: [] });
  story.starts("main/security", 14, "secrets, authz, injection");
  story.starts("main/tests", 20, "coverage of refunds");
  story.starts("main/api-docs", 35, "openapi vs. handlers");
  story.answers("main/security", 50, 48_200, 0.09);
  story.calls("main/security", 60, "terminal", { command: 'rg -n "secret" src/pay' });
  story.gets("main/security", 61, "terminal", "3 hits");
  story.ends("main/tests", 61, {
    text: "2 gaps: refund_partial, retry_on_409",
    toolCount: 9,
    usage: usageOf(31_000),
    costUsd: 0.05,
  });
  story.answers("main/api-docs", 62, 12_700, 0.02);
  story.calls("main/api-docs", 63, "terminal", { command: "npm run openapi:build" });
  story.tell("main/api-docs", 63, {
    type: "approval-request",
    callId: "main/api-docs terminal",
    toolName: "terminal",
    input: { command: "npm run openapi:build" },
  });
  return story;
}

/** What the children of `sixOfTenThousand` share. */
export const TEN_THOUSAND: LimitState = { of: "children", unit: "tokens", limit: 10_000, spent: 600, reserved: 8074 };

/** Six children of 10,000 tokens: one has ended, one asks, one waits between two calls, two wait to start, one was refused. */
export function sixOfTenThousand(listener?: (event: SousEvent) => void): Story {
  const story = new Story(listener);
  story.starts("sous", 0, "Compare six modules");
  story.calls("sous", 1, "parallel_subagent", { tasks: [] });
  story.starts("sous/auth", 1, "How does auth retry?");
  for (const label of ["pay", "mail", "search", "queue"]) story.limit(`sous/${label}`, 1, "budget-wait", TEN_THOUSAND);
  story.ends("sous/auth", 4, { text: "Three times.", usage: usageOf(600) });
  story.starts("sous/pay", 4, "How does pay retry?");
  story.tell("sous/pay", 4, { type: "turn-start", turn: 1, promptTokens: 3978, reserved: 8074 });
  story.starts("sous/mail", 4, "How does mail retry?");
  story.limit("sous/mail", 5, "budget-wait", TEN_THOUSAND);
  story.limit("sous/admin", 5, "budget-wait", TEN_THOUSAND);
  const message = "Token limit exceeded: 13165/10000 (spent 600, reserved 8074, asked 4491: it was not started)";
  story.tell("sous", 6, {
    type: "spawn-refused",
    label: "admin",
    childPath: "sous/admin",
    errorType: "quota",
    message,
  });
  return story;
}

/** Nested children, every ending, and a child that was refused. */
export function everyEnding(listener?: (event: SousEvent) => void): Story {
  const story = new Story(listener);
  story.starts("lead", 0, "Look everywhere");
  story.starts("lead/files", 1, "Count the files");
  story.starts("lead/files/closest", 2, "Look at one of them");
  story.calls("lead/files/closest", 2, "read_file", { path: "src/index.ts" });
  story.gets("lead/files/closest", 2.2, "read_file", "1\tx", { lines: 93, truncated: true });
  const message = "Maximum subagent recursion depth (2) exceeded. Current depth: 2. Do this part of the work yourself.";
  story.tell("lead/files/closest", 2.5, {
    type: "spawn-refused",
    label: "subagent",
    errorType: "depth_limit",
    message,
  });
  story.ends("lead/files/closest", 3, { text: "It has 93 lines." });
  story.ends("lead/files", 4, { text: "289 files.", turns: 2, toolCount: 1 });
  story.starts("lead/reader", 1, "Read them all", 3);
  story.ends("lead/reader", 5, { status: "incomplete", stopReason: "turns", text: "Read 2 of 242 files." });
  story.starts("lead/漢字", 1, "宽的");
  const crash = { type: "crash", message: "boom\u001b[2J\u202e" } as const;
  story.ends("lead/漢字", 6, { status: "failed", text: "", fault: crash, costUsd: null });
  story.starts("lead/slow", 1, "Take your time");
  story.tell("lead/slow", 61, { type: "stalled", seconds: 60, waitingFor: "the model" });
  const timeout = { type: "timeout", message: "Subagent timed out" } as const;
  story.ends("lead/slow", 301, { status: "timeout", text: "", fault: timeout, usage: usageOf(1_250_000, true) });
  story.starts("lead/poor", 2, "Spend");
  const quota = { type: "quota", message: "Token limit exceeded: 10450/10000" } as const;
  story.ends("lead/poor", 3, { status: "budget_exceeded", text: "", fault: quota });
  story.ends("lead", 302, { text: "Done.", turns: 2, toolCount: 1, costUsd: 1.234 });
  return story;
}

function identity(path: string): {
  runId: string;
  agentId: string;
  parentId: string | null;
  path: string;
  depth: number;
} {
  const names = path.split("/");
  const parent = names.slice(0, -1).join("/");
  return { runId: path, agentId: path, parentId: parent === "" ? null : parent, path, depth: names.length - 1 };
}
