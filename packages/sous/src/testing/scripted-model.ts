/**
 * A model that answers from a script: no network, no key, the same every time. It drives demos, examples and tests.
 *
 *   scriptedModel([says("I look."), calls("grep", { pattern: "retry" })], says("Found it."))
 *   scriptedModel({ lead: [calls("subagent", { … }), says("Done.")], "lead/*": [says("Nothing here.")] })
 *
 * Answers are kept per agent path, so the order in which parallel children ask does not matter. A run that continues
 * in another process continues with the answer of its turn, and its calls with the next number.
 */

import { type Clock, forever, sleep, untilSignal } from "../core/clock.ts";
import { messageBytes } from "../core/conversation.ts";
import { ModelError } from "../core/errors.ts";
import type { AssistantMessage, Message } from "../core/message.ts";
import type { FinishReason, Model, ModelAnswer, ModelRequest, OnDelta, ToolDefinition } from "../core/model.ts";
import { functionOf, type OptionKinds, TEXT, wholeNumber, withFunctions } from "../core/option-kinds.ts";
import { checkOptions } from "../core/options.ts";
import { addUsage, noUsage, PRICE, type Price, type Usage, utf8Length } from "../core/usage.ts";
import { systemClock } from "../machine/host.ts";
import { findLines, type Script, type ScriptedUsage, type ScriptLines, type ScriptTurn, type Step } from "./steps.ts";

/** Clock, order and price of a scripted model. */
export type ScriptedModelOptions = {
  /** `scripted/model` when unset. */
  id?: string;
  price?: Price;
  contextWindow?: number;
  /** The clock that `after` waits on; the machine's own when unset. */
  clock?: Clock;
  /** Called before every part of an answer; the part comes when the promise resolves. A world hooks in here. */
  schedule?: (path: string) => Promise<void> | undefined;
  /** Sees every request as it arrives, before it is answered. */
  onRequest?: (request: ModelRequest) => void;
};

const OPTIONS: OptionKinds<ScriptedModelOptions> = {
  id: TEXT,
  price: PRICE,
  contextWindow: wholeNumber(1),
  clock: withFunctions("now", "monotonic", "timer"),
  schedule: functionOf(),
  onRequest: functionOf(),
};

/** One request as the model saw it. */
export type RecordedRequest = {
  readonly path: string;
  readonly runId: string;
  /** 1 for the first request of this agent; follow-ups continue the count. */
  readonly turn: number;
  readonly instructions: string | undefined;
  readonly mayCallTools: boolean;
  /** The names of the tools that were offered. */
  readonly tools: readonly string[];
  /** The messages as they were then, copied when you look. */
  readonly messages: readonly Message[];
};

/** A model that answers from a script and records what it was asked. */
export type ScriptedModel = Model & {
  /** The first 10,000 requests in the order they came. */
  readonly requests: readonly RecordedRequest[];
  /** All requests, also those that are not kept. */
  readonly requestCount: number;
  /** The sum of all usage this model has reported. */
  readonly reported: Readonly<Usage>;
};

/** Each argument is one answer, for whichever agent asks: every agent begins with the first. */
export function scriptedModel(...turns: readonly ScriptTurn[]): ScriptedModel;
/** Answers by agent path: `lead/scout` before `lead/*` before `**`. `*` stands for one segment, `**` for any number. */
export function scriptedModel(script: Script, options?: ScriptedModelOptions): ScriptedModel;
export function scriptedModel(
  ...given: readonly (ScriptTurn | Script | ScriptedModelOptions | undefined)[]
): ScriptedModel {
  const [first, second] = given;
  if (first !== undefined && isScript(first)) {
    checkOptions("scriptedModel()", second ?? {}, OPTIONS);
    return modelOf(first, (second ?? {}) as ScriptedModelOptions);
  }
  return modelOf({ "**": given as readonly ScriptTurn[] }, {});
}

function isScript(value: ScriptTurn | Script | ScriptedModelOptions): value is Script {
  return typeof value === "object" && !Array.isArray(value) && typeof (value as { step?: unknown }).step !== "string";
}

const REQUESTS_KEPT = 10_000;

/** The progress of one agent. The agent id stays the same over its follow-ups. */
type Progress = { lines: ScriptLines; turns: number; calls: number };

function modelOf(script: Script, options: ScriptedModelOptions): ScriptedModel {
  const { id = "scripted/model", price, contextWindow, onRequest } = options;
  const progressOf = new Map<string, Progress>();
  const requests: RecordedRequest[] = [];
  const reported = noUsage();
  const counter = new TokenCounter();
  let requestCount = 0;

  async function answer(request: ModelRequest, onDelta: OnDelta): Promise<ModelAnswer> {
    onRequest?.(request);
    const { agentId, path } = request.caller;
    let progress = progressOf.get(agentId);
    if (progress === undefined) {
      progress = { lines: findLines(script, path), ...doneBefore(request) };
      progressOf.set(agentId, progress);
    }
    progress.turns += 1;
    requestCount += 1;
    if (requests.length < REQUESTS_KEPT) requests.push(recordOf(request, progress.turns));
    const answered = await perform(stepsOf(progress, request), { request, onDelta, options, progress, counter });
    if (answered.usage !== undefined) addUsage(reported, answered.usage);
    return answered;
  }

  return {
    id,
    price,
    contextWindow,
    requests,
    reported,
    takesProviderTool: () => true,
    answer,
    get requestCount() {
      return requestCount;
    },
  };
}

/** The progress of an agent that asks this model for the first time: more than nothing after a restart. */
function doneBefore({ caller, mayCallTools, settings, messages }: ModelRequest): Pick<Progress, "turns" | "calls"> {
  const idStart = callIdOf(caller.path, "");
  let calls = 0;
  for (const message of messages) {
    if (message.role !== "assistant") continue;
    for (const part of message.content) {
      if (part.type !== "tool-call" || !part.callId.startsWith(idStart)) continue;
      calls = Math.max(calls, Number(part.callId.slice(idStart.length)) || 0);
    }
  }
  // A summary and last words have the number of the turn before them; a repair of the output has its own.
  const isCounted = mayCallTools || settings.outputSchema !== undefined || settings.toolChoice === "none";
  return { turns: Math.max(0, isCounted ? caller.turn - 1 : caller.turn), calls };
}

/** Histories only grow, so the record remembers how long this one was instead of copying it. */
function recordOf(request: ModelRequest, turn: number): RecordedRequest {
  const { messages, tools, instructions, mayCallTools, caller } = request;
  const count = messages.length;
  return {
    path: caller.path,
    runId: caller.runId,
    turn,
    instructions,
    mayCallTools,
    get tools() {
      return tools.map(({ name }) => name);
    },
    get messages() {
      return messages.slice(0, count);
    },
  };
}

function stepsOf({ lines, turns }: Progress, request: ModelRequest): readonly Step[] {
  const line = typeof lines === "function" ? lines : lines[turns - 1];
  if (line === undefined) {
    throw new ModelError("invalid_request", `The script for ${request.caller.path} has no answer ${turns}`);
  }
  const turn = typeof line === "function" ? line(request) : line;
  return "step" in turn ? [turn] : turn;
}

type Performance = {
  request: ModelRequest;
  onDelta: OnDelta;
  options: ScriptedModelOptions;
  progress: Progress;
  counter: TokenCounter;
};

async function perform(steps: readonly Step[], performance: Performance): Promise<ModelAnswer> {
  const { request, onDelta, options, progress, counter } = performance;
  const content: AssistantMessage["content"][number][] = [];
  let finish: FinishReason | undefined;
  let usage: ScriptedUsage | "estimated" | undefined = "estimated";
  for (const step of steps) {
    const ready = options.schedule?.(request.caller.path);
    if (ready !== undefined) await untilSignal(ready, request.signal);
    switch (step.step) {
      case "text":
        for (const [index, chunk] of step.chunks.entries()) {
          const next = index === 0 ? undefined : options.schedule?.(request.caller.path);
          if (next !== undefined) await untilSignal(next, request.signal);
          onDelta("text", chunk);
        }
        content.push({ type: "text", text: step.chunks.join("") });
        break;
      case "reasoning":
        onDelta("reasoning", step.text);
        content.push({ type: "reasoning", text: step.text });
        break;
      case "call": {
        progress.calls += 1;
        const callId = step.callId ?? callIdOf(request.caller.path, progress.calls);
        content.push({ type: "tool-call", callId, toolName: step.toolName, input: step.input });
        onDelta("tool-input", step.toolName + (JSON.stringify(step.input) ?? ""));
        break;
      }
      case "call-begin":
        onDelta("tool-input", step.toolName + step.json);
        break;
      case "hidden":
        onDelta("hidden", "");
        break;
      case "fail":
        throw step.error;
      case "hang":
        return forever(request.signal);
      case "finish":
        finish = step.finish;
        break;
      case "usage":
        usage = step.usage;
        break;
      case "answer":
        for (const part of step.answer.message.content)
          if (part.type === "text" || part.type === "reasoning") onDelta(part.type, part.text);
        return step.answer;
      case "wait":
        await sleep(step.delayMs, options.clock ?? systemClock, request.signal);
        break;
      default:
        step satisfies never;
    }
  }
  const message: AssistantMessage = { role: "assistant", content };
  finish ??= content.some((part) => part.type === "tool-call") ? "tool-calls" : "stop";
  if (usage === "estimated") return { message, finish, usage: counter.count(request, message) };
  return { message, finish, usage: usage && statedUsage(usage) };
}

/** Named by its agent, because a fork brings its parent's calls along and ids must be unique among them. */
function callIdOf(path: string, call: number | ""): string {
  return `call_${path.replaceAll(/[^A-Za-z0-9]+/g, "_")}_${call}`;
}

function statedUsage({ input, output, cached = 0, cacheWrite = 0 }: ScriptedUsage): Usage {
  return {
    inputTokens: input,
    outputTokens: output,
    cachedInputTokens: cached,
    cacheWriteTokens: cacheWrite,
    totalTokens: input + output,
    estimated: false,
  };
}

/** Counts bytes ÷ 3 of everything sent and answered. A history is read once as it grows, not once a turn. */
class TokenCounter {
  readonly #histories = new WeakMap<readonly Message[], { count: number; bytes: number }>();
  readonly #tools = new WeakMap<readonly ToolDefinition[], number>();

  count({ instructions = "", messages, tools }: ModelRequest, answer: AssistantMessage): Usage {
    const promptBytes = utf8Length(instructions) + this.#historyBytes(messages) + this.#toolBytes(tools);
    return statedUsage({ input: Math.ceil(promptBytes / 3), output: Math.ceil(messageBytes(answer) / 3) });
  }

  #historyBytes(messages: readonly Message[]): number {
    const known = this.#histories.get(messages) ?? { count: 0, bytes: 0 };
    for (const message of messages.slice(known.count)) known.bytes += messageBytes(message);
    known.count = messages.length;
    this.#histories.set(messages, known);
    return known.bytes;
  }

  #toolBytes(tools: readonly ToolDefinition[]): number {
    const known = this.#tools.get(tools) ?? utf8Length(JSON.stringify(tools));
    this.#tools.set(tools, known);
    return known;
  }
}
