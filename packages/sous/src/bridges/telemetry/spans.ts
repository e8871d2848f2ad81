/** Traces: one span per run, turn and tool call, made from the events of trees. */

import { diag, type Link, type SpanContext, SpanKind } from "@opentelemetry/api";
import type { EventListener, EventOf, ResumedRun, RunIdentity } from "../../core/event.ts";
import { isExternalModel } from "../../core/model.ts";
import { checkOptions } from "../../core/options.ts";
import { completionStatus, errorTypeOf } from "../../core/outcome.ts";
import type { RunOrigin } from "../../core/run-start.ts";
import { spanIdOf, traceIdOf } from "../../core/trace-context.ts";
import { noUsage, usageWithout } from "../../core/usage.ts";
import { stopReasonOf } from "../../core/words/outcomes.ts";
import { type KnownModels, ModelNames } from "./model-names.ts";
import { providerName, requestModel } from "./names.ts";
import { rememberIn } from "./remember-in.ts";
import { answered, ContentWriter, contentOf, PendingInput, resultMessage, said, textPart } from "./span-content.ts";
import { isTraced, type NotedEvent, noteOnSpan } from "./span-events.ts";
import { type NewCall, remoteSpan, SpanMaker } from "./span-maker.ts";
import { LINK_ATTRIBUTE, type LINKS, type SpanAttributes } from "./span-names.ts";
import { TRACE_OPTIONS, type TraceOptions } from "./trace-options.ts";
import { TracedRun, unknownRun } from "./traced-run.ts";
import { TurnSpans } from "./turn-spans.ts";

/**
 * A listener that makes spans of the events it hears, of any number of trees: give it to a runtime or to runs as `onEvent`.
 * Never throws. A span is exported when it ends: the process that ends a run exports its span, and a run that never ends has
 * none.
 */
export function traceRuns(options: TraceOptions = {}): EventListener {
  checkOptions("traceRuns()", options, TRACE_OPTIONS);
  return tracesOf(options);
}

/** The same for a caller that has the table of prices. */
export function tracesOf(options: TraceOptions, pricedName?: KnownModels["pricedName"]): EventListener {
  const fold = new SpanFold(options, pricedName);
  return (event) => {
    // Deltas are many, and on no span; the worker of a placed run makes its spans.
    if (!isTraced(event) || "journalId" in event) return;
    try {
      fold.add(event);
    } catch (error) {
      diag.error(`sous: ${event.type} of ${event.path} is missing in its trace`, error);
    }
  };
}

/** Spans of ended runs that later ones may be linked to. */
const MAX_ENDED_RUNS = 1000;

/** The facts of a run that starts or continues. */
type OpenedRun = Pick<ResumedRun, "agent" | "model" | "call" | "traceparent" | "startedAt"> & {
  /** The name by which its model is shown. */
  readonly shownModel: string;
  readonly links: Link[];
  readonly attributes: SpanAttributes;
};

class SpanFold {
  readonly #make: SpanMaker;
  readonly #content: ContentWriter | undefined;
  readonly #turns: TurnSpans;
  readonly #names: ModelNames;
  readonly #runs = new Map<string, TracedRun>();
  readonly #ended = new Map<string, SpanContext>();

  constructor({ captureContent, redact, models, ...options }: TraceOptions, pricedName: KnownModels["pricedName"]) {
    this.#names = new ModelNames({ models, pricedName });
    this.#make = new SpanMaker(options);
    this.#content = captureContent === true ? new ContentWriter(redact) : undefined;
    this.#turns = new TurnSpans(this.#make, this.#content);
  }

  add(event: NotedEvent | EventOf<"run-start">): void {
    if (event.type === "tool-call-start") this.#names.called(event);
    if (event.type === "run-end" || event.type === "park") this.#names.ended(event);
    if (event.type === "run-start") this.#startRun(event);
    else this.#note(event);
  }

  #note(event: NotedEvent): void {
    if (event.type === "resume") this.#resumeRun(event);
    const run = this.#runs.get(event.runId);
    if (run !== undefined) this.#addTo(run, event);
    // A child that waits to start has no span yet.
    else if (event.parentId !== null) noteOnSpan(this.#runs.get(event.parentId)?.span, event, this.#content);
  }

  #addTo(run: TracedRun, event: NotedEvent): void {
    switch (event.type) {
      case "turn-start":
        this.#turns.start(run, event);
        break;
      case "message-end":
        this.#turns.end(run, event);
        break;
      case "retry":
        this.#turns.retry(run, event);
        break;
      case "tool-call-start":
        this.#startCall(run, event);
        break;
      case "tool-call-end":
        this.#endCall(run, event);
        break;
      case "outside-call":
        this.#externalCall(run, event);
        break;
      case "run-end":
        this.#endRun(run, event);
        break;
      case "park":
        // The span is not ended here: the process that ends the run exports it.
        this.#runs.delete(event.runId);
        break;
      case "approval-end":
        if (!event.allowed) run.denied.add(event.callId);
        noteOnSpan(spanFor(run, event), event, this.#content);
        break;
      case "steer":
      case "notice":
      case "report":
        run.pending?.add(said("user", event.text));
        noteOnSpan(run.span, event, this.#content);
        break;
      default:
        noteOnSpan(spanFor(run, event), event, this.#content);
    }
  }

  #startRun(event: EventOf<"run-start">): void {
    const { agent, model, call, traceparent, origin, time, task, instructions } = event;
    const content = this.#content && {
      "gen_ai.input.messages": this.#content.json([contentOf(task)]),
      ...(instructions !== undefined && {
        "gen_ai.system_instructions": this.#content.json([textPart(instructions)]),
      }),
    };
    const links = origin === undefined ? [] : [this.#linkToRun(origin, event)];
    const attributes = content ?? {};
    const shownModel = this.#names.started(event);
    const run = this.#open(event, { agent, model, shownModel, call, traceparent, startedAt: time, links, attributes });
    run.pending?.add(contentOf(task));
  }

  /** A run that another process began: the same span again, if ids follow from runs. */
  #resumeRun(event: EventOf<"resume">): void {
    if (this.#runs.has(event.runId)) return;
    const { path, time, usedMs, run: known, worker, attempt } = event;
    const { agent, model, call, traceparent, startedAt, usage, answeredSeq } = known ?? unknownRun(path, time - usedMs);
    const retried = known?.retried ?? noUsage();
    const shownModel = known === undefined ? model : this.#names.resumed(event, known);
    const attributes: SpanAttributes = attempt === undefined ? {} : { "sous.worker": worker, "sous.attempt": attempt };
    const run = this.#open(event, { agent, model, shownModel, call, traceparent, startedAt, links: [], attributes });
    run.counted = usage && usageWithout(usage, retried); // guard: tokens-of-earlier-processes
    // They were on the span of a turn that ended with its process.
    if (retried.totalTokens > 0) this.#turns.bookUnanswered(run, event, retried, "interrupted");
    const answered = answeredSeq === undefined ? undefined : run.placeOf({ seq: answeredSeq });
    if (answered !== undefined) run.span.link({ context: answered, attributes: { [LINK_ATTRIBUTE]: "resume" } });
  }

  #open(event: RunIdentity, given: OpenedRun): TracedRun {
    const { runId, agentId, parentId, path, depth } = event;
    const { agent, shownModel: model, call, traceparent, startedAt, links, attributes } = given;
    const parent = parentId === null ? undefined : this.#runs.get(parentId);
    const conversationId = parent?.facts.conversationId ?? agentId;
    const who = { runId, agentId, parentId, path, depth };
    const shared = { "gen_ai.conversation.id": conversationId, "gen_ai.agent.name": agent };
    const ofModel = { "gen_ai.provider.name": providerName(given.model), "gen_ai.request.model": requestModel(model) };
    const place = { "gen_ai.agent.id": agentId, "sous.run.path": path, "sous.run.depth": depth };
    const facts = { who, agent, model, conversationId, shared, ofModel };
    const above = parent === undefined ? this.#make.remoteParent(traceparent) : parent.contextOf(call?.callId);
    const about = {
      operation: "invoke_agent",
      of: agent,
      who,
      part: "run",
      parent: above && this.#make.below(above),
      time: startedAt,
      attributes: { ...shared, ...ofModel, ...place, ...attributes },
    } as const;
    const span = this.#make.start(about, isExternalModel(model) ? SpanKind.CLIENT : SpanKind.INTERNAL, links);
    const run = new TracedRun(facts, span, this.#make.below(span.context), this.#content && new PendingInput());
    this.#runs.set(runId, run);
    return run;
  }

  /** A root that neither this process nor the event knows is taken for the beginning of its own trace. */
  #linkToRun(origin: RunOrigin, { parentId }: RunIdentity): Link {
    const { kind, runId: earlierId } = origin;
    const known = this.#runs.get(earlierId)?.span.context ?? this.#ended.get(earlierId);
    const recorded = kind === "fork" ? undefined : remoteSpan(origin.traceparent);
    const parent = parentId === null || kind === "branch" ? undefined : this.#runs.get(parentId);
    const guessed = { traceId: parent?.span.context.traceId ?? traceIdOf(earlierId), spanId: spanIdOf(earlierId) };
    const context = known ?? recorded ?? { ...guessed, traceFlags: 1, isRemote: true };
    return { context, attributes: { [LINK_ATTRIBUTE]: kind satisfies keyof typeof LINKS } };
  }

  #startCall(run: TracedRun, event: EventOf<"tool-call-start">): void {
    const { callId, toolName, input, time } = event;
    if (run.calls.has(callId)) return;
    const about: NewCall = { callId, name: toolName, type: "function", input: this.#content?.json(input) };
    run.calls.set(callId, this.#make.startTool(run, { callId }, time, about));
  }

  /** The span of a call that began in another process is made at its end. */
  #endCall(run: TracedRun, event: EventOf<"tool-call-end">): void {
    const { callId, toolName, output, isError, durationMs, time } = event;
    const about: NewCall = { callId, name: toolName, type: "function", input: undefined };
    const span = run.calls.get(callId) ?? this.#make.startTool(run, { callId }, time - durationMs, about);
    const wasDenied = run.denied.delete(callId);
    if (isError) span.fail(wasDenied ? "consent" : "tool");
    if (this.#content !== undefined) span.set({ "gen_ai.tool.call.result": this.#content.text(output) });
    span.end(time);
    run.endCall(callId, span.context);
    run.pending?.add(resultMessage(event));
  }

  #externalCall(run: TracedRun, event: EventOf<"outside-call">): void {
    const { seq, callId, phase, name, input, output, isError, time } = event;
    const about: NewCall = { callId, name, type: "extension", input: this.#content?.json(input) };
    const span = run.externalCalls.get(callId) ?? this.#make.startTool(run, { seq }, time, about);
    run.externalCalls.set(callId, span);
    if (phase === "start") return;
    run.externalCalls.delete(callId);
    if (isError === true) span.fail("tool");
    if (output !== undefined && this.#content) span.set({ "gen_ai.tool.call.result": this.#content.text(output) });
    span.end(time);
  }

  #endRun(run: TracedRun, event: EventOf<"run-end">): void {
    const { runId, status, turns, costUsd, text, fault, time } = event;
    const stopReason = stopReasonOf(event) && event.stopReason;
    this.#runs.delete(runId);
    rememberIn(this.#ended, runId, run.span.context, MAX_ENDED_RUNS);
    const errorType = errorTypeOf(event);
    const finish = errorType === undefined ? (stopReason ?? "stop") : "error";
    for (const call of [...run.calls.values(), ...run.externalCalls.values()]) {
      call.fail(errorType ?? "cancelled");
      call.end(time);
    }
    this.#turns.countRest(run, event);
    const failure = errorType === undefined || errorType === "model" ? run.chat?.failure : undefined;
    this.#turns.abandon(run, time, failure ?? errorType ?? "cancelled", fault?.message);
    run.span.set({
      ...{ "sous.outcome": completionStatus(status), "sous.turns": turns },
      ...(stopReason !== undefined && { "sous.stop_reason": stopReason }),
      ...(costUsd === null ? { "sous.cost.unknown": true } : { "sous.cost_usd": costUsd }),
      ...(this.#content && {
        "gen_ai.output.messages": this.#content.json([answered(said("assistant", text), finish)]),
      }),
    });
    if (errorType !== undefined) run.span.fail(errorType, fault?.message);
    run.span.end(time);
  }
}

function spanFor(run: TracedRun, event: NotedEvent) {
  if (event.type === "approval-request" || event.type === "approval-end")
    return run.calls.get(event.callId) ?? run.externalCalls.get(event.callId) ?? run.span;
  if (event.type === "spawn-refused") return run.onlyCall ?? run.span;
  return event.type === "budget-wait" || event.type === "rate-wait" || event.type === "stalled"
    ? run.current
    : run.span;
}
