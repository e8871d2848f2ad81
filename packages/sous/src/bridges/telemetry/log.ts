/** Lifecycle logs: what becomes of children, one line a fact, with field names that dashboards and scripts can rely on. */

import { visibleJson } from "../../core/clean-text.ts";
import { UserError } from "../../core/errors.ts";
import type { EventListener, EventOf, RunIdentity, SousEvent } from "../../core/event.ts";
import { FLAG, functionOf, type OptionKinds, wordOf } from "../../core/option-kinds.ts";
import { checkOptions } from "../../core/options.ts";
import { completionStatus, isSuccess } from "../../core/outcome.ts";
import { shownLimit } from "../../core/units.ts";
import { DEFAULT_LIMITS, type DelegationLimits } from "../../core/words/limits.ts";
import { isOutOfTurns } from "../../core/words/outcomes.ts";

/** The destination of the lines of a log, and their form. */
export type LifecycleLogOptions = {
  /** Is given one line without its end. */
  write: (line: string) => void;
  /** Lines for programs (`json`, the default) or for people. */
  format?: "json" | "pretty" | undefined;
  /** Less than this is left out; `info` when unset. */
  level?: LogLevel | undefined;
  /** False silences everything, as `agent.subagent.telemetry_enabled` does on the command line. */
  enabled?: boolean | undefined;
};

/** A log that listens to the events of a tree. */
export type LifecycleLog = {
  onEvent: EventListener;
  /** Call it after a tree has ended, with whether all of it was stored: `subagent.persisted` is logged only then. */
  settle(isStored: boolean): void;
};

/** Logs what becomes of children, one line a fact: give its `onEvent` to the run. For one tree, or several after each other. */
export function createLifecycleLog(options: LifecycleLogOptions): LifecycleLog {
  checkOptions("createLifecycleLog()", options, OPTIONS);
  if (options.write === undefined)
    throw new UserError("createLifecycleLog() needs write, a function that takes a line");
  if (options.enabled === false) return { onEvent: () => {}, settle: () => {} };
  return new LifecycleFold(options);
}

const LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

const OPTIONS: OptionKinds<LifecycleLogOptions> = {
  write: functionOf(),
  format: wordOf("json", "pretty"),
  level: wordOf(...LEVELS),
  enabled: FLAG,
};

type KnownRun = Pick<EventOf<"run-start">, "label" | "depth" | "maxTurns"> & {
  /** The fan-out that made it. */
  fanOut: FanOut | undefined;
};

type FanOut = { readonly head: Head & { task_count: number; max_concurrent: number }; successful: number };

type Head = { readonly label: string; readonly depth: number };

type EndedRun = { readonly head: Head; readonly conversationId: string; readonly time: number };

class LifecycleFold implements LifecycleLog {
  readonly #write: LifecycleLogOptions["write"];
  readonly #format: "json" | "pretty";
  readonly #least: number;
  readonly #runs = new Map<string, KnownRun>();
  /** Live calls of `parallel_subagent`, by run and call. */
  readonly #fanOuts = new Map<string, FanOut>();
  /** Ended, and perhaps kept. */
  #ended: EndedRun[] = [];
  #limits: Pick<DelegationLimits, "maxDepth" | "maxConcurrent"> = DEFAULT_LIMITS;

  constructor({ write, format = "json", level = "info" }: LifecycleLogOptions) {
    this.#write = write;
    this.#format = format;
    this.#least = LEVELS.indexOf(level);
  }

  readonly onEvent = (event: SousEvent): void => {
    switch (event.type) {
      // First, because they come by the hundred.
      case "text-delta":
      case "reasoning-delta":
      case "tool-progress":
        break;
      case "run-start":
        this.#start(event);
        break;
      case "run-end":
        this.#end(event);
        break;
      case "tool-call-start":
        this.#callStart(event);
        break;
      case "tool-call-end":
        this.#callEnd(event);
        break;
      case "park":
        this.#park(event);
        break;
      case "spawn-refused":
        this.#refused(event);
        break;
      case "truncation":
        this.#truncated(event);
        break;
      case "outside-session":
        this.#session(event);
        break;
      case "outside-call":
        this.#externalCall(event);
        break;
      case "budget-wait":
        this.#limit("debug", "budget.wait", event);
        break;
      case "rate-wait":
        this.#say("debug", "rate.wait", event.time, { ...this.#headOf(event), seconds: event.delayMs / 1000 });
        break;
      case "budget-near":
        this.#limit("warn", "budget.near", event);
        break;
      default:
    }
  };

  readonly settle = (isStored: boolean): void => {
    const ended = this.#ended;
    this.#ended = [];
    if (!isStored) return;
    for (const { head, conversationId: conversation_id, time } of ended) {
      this.#say("info", "subagent.persisted", time, { ...head, conversation_id });
    }
  };

  #start({ runId, parentId, label, depth, maxTurns, rights, call, terms, time }: EventOf<"run-start">): void {
    if (terms !== undefined) this.#limits = terms.limits;
    const fanOut = call === undefined ? undefined : this.#fanOuts.get(callKey(parentId, call.callId));
    this.#runs.set(runId, { label, depth, maxTurns, fanOut });
    if (depth === 0) return;
    this.#say("info", "subagent.spawn", time, { label, depth, max_turns: maxTurns, allowed_tools: rights.use });
  }

  #end(event: EventOf<"run-end">): void {
    const { runId, depth, status, turns, usage, fault, time } = event;
    const known = this.#runs.get(runId);
    const head = this.#headOf(event);
    this.#runs.delete(runId);
    if (depth === 0) return;
    if (known?.fanOut !== undefined && isSuccess(event)) known.fanOut.successful += 1;
    if (isOutOfTurns(event)) {
      this.#say("warn", "subagent.max_turns_exceeded", time, { ...head, max_turns: known?.maxTurns ?? turns });
    }
    if (!isSuccess(event)) this.#say("error", "subagent.error", time, { ...head, error: fault?.message ?? status });
    this.#say("info", "subagent.complete", time, {
      ...head,
      turns_used: turns,
      tokens_consumed: usage.totalTokens,
      status: completionStatus(status),
    });
    this.#ended.push({ head, conversationId: runId, time });
  }

  /** Drops the run: this process is done with it, and the process that resumes it says how it ends. */
  #park(event: EventOf<"park">): void {
    const { runId, depth, time } = event;
    const head = this.#headOf(event);
    this.#runs.delete(runId);
    for (const key of this.#fanOuts.keys()) if (key.startsWith(`${runId} `)) this.#fanOuts.delete(key);
    if (depth > 0) this.#say("info", "subagent.park", time, head);
  }

  #callStart(event: EventOf<"tool-call-start">): void {
    const { runId, callId, toolName, input, time } = event;
    if (toolName !== "parallel_subagent") return;
    const { tasks, max_concurrent: asked } = (input ?? {}) as { tasks?: unknown; max_concurrent?: unknown };
    const taskCount = Array.isArray(tasks) ? tasks.length : 0;
    const { maxConcurrent: limit } = this.#limits;
    const maxConcurrent = typeof asked === "number" ? Math.min(asked, limit) : limit;
    const head = { ...this.#headOf(event), task_count: taskCount, max_concurrent: maxConcurrent };
    this.#fanOuts.set(callKey(runId, callId), { head, successful: 0 });
    this.#say("info", "parallel_subagent.start", time, head);
  }

  #callEnd({ runId, callId, durationMs, time }: EventOf<"tool-call-end">): void {
    const key = callKey(runId, callId);
    const fanOut = this.#fanOuts.get(key);
    if (fanOut === undefined) return;
    this.#fanOuts.delete(key);
    const { head, successful } = fanOut;
    const counts = { successful, failed: head.task_count - successful, duration_ms: Math.round(durationMs) };
    this.#say("info", "parallel_subagent.complete", time, { ...head, ...counts });
  }

  #session(event: EventOf<"outside-session">): void {
    const { depth, server, sessionId, continued, time } = event;
    if (depth === 0) return;
    const session = { server, session_id: sessionId, continued };
    this.#say("info", "subagent.session", time, { ...this.#headOf(event), ...session });
  }

  /** A call that an external agent made by itself, when it has ended. */
  #externalCall(event: EventOf<"outside-call">): void {
    const { depth, phase, name, kind, isError, time } = event;
    if (depth === 0 || phase === "start") return;
    const status = isError === true ? "failed" : "completed";
    this.#say("debug", "subagent.outside_call", time, { ...this.#headOf(event), name, kind, status });
  }

  /** No child was made; the depth is the one it would have had. */
  #refused({ label, errorType, message, depth: parentDepth, time }: EventOf<"spawn-refused">): void {
    const head = { label, depth: parentDepth + 1 };
    if (errorType === "depth_limit") {
      const limits = { current_depth: parentDepth, max_depth: this.#limits.maxDepth };
      this.#say("debug", "subagent.depth_limit", time, { ...head, ...limits });
    } else this.#say("error", "subagent.error", time, { ...head, error: message });
  }

  #truncated(event: EventOf<"truncation">): void {
    const { subject, depth, originalBytes, keptBytes, time } = event;
    if (subject !== "report" || depth === 0) return;
    const sizes = { original_size: originalBytes, truncated_size: keptBytes };
    this.#say("warn", "subagent.truncation", time, { ...this.#headOf(event), ...sizes });
  }

  /** A limit that any run meets, the root too: its limits are those of the children. One that waits to start is not known yet. */
  #limit(level: LogLevel, name: string, event: EventOf<"budget-wait" | "budget-near">): void {
    const shown = shownLimit(event.limit);
    const unit = shown.unit === "costUsd" ? "cost_usd" : shown.unit;
    this.#say(level, name, event.time, { ...this.#headOf(event), ...shown, unit });
  }

  /** A run that continues after a restart began in another process, and only its path is known. */
  #headOf({ runId, path, depth }: RunIdentity): Head {
    return { label: this.#runs.get(runId)?.label ?? path.slice(path.lastIndexOf("/") + 1), depth };
  }

  /** One fact as one line: JSON for programs, words for people. Nothing in it can act on a terminal. */
  #say(level: LogLevel, event: string, time: number, fields: LogFields): void {
    if (LEVELS.indexOf(level) < this.#least) return;
    const ts = new Date(time).toISOString();
    if (this.#format === "json") {
      this.#write(toJson({ ts, level, event, ...fields }));
      return;
    }
    const words = Object.entries(fields).map(([name, value]) => `${name}=${toWord(value)}`);
    this.#write([ts, level.toUpperCase().padEnd(5), event, ...words].join(" "));
  }
}

function callKey(runId: string | null, callId: string): string {
  return `${runId} ${callId}`;
}

/** The importance of a line. */
export type LogLevel = "debug" | "info" | "warn" | "error";

type LogFields = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** Leaves a text as it is when it is unambiguous; puts others in quotes. */
function toWord(value: LogFields[string]): string {
  const text = typeof value === "object" ? value.join(",") : String(value);
  return /^[\w.,:/#@+-]+$/.test(text) ? text : toJson(text);
}

function toJson(value: unknown): string {
  return visibleJson(JSON.stringify(value));
}
