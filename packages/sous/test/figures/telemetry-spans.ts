/** Derives the spans of a tree from its journal: which there must be, below which they lie, and what was spent in them. */

import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import type { EventOf, StoredEvent } from "../../src/core/event.ts";
import { completionStatus } from "../../src/core/outcome.ts";
import { FAN_OUT } from "../../src/core/spawn.ts";
import { spanIdOf, traceIdOf } from "../../src/core/trace-context.ts";

/** The journal, and which of its events a process has shown before it died. */
export type Told = { readonly journal: readonly StoredEvent[]; readonly shown: ReadonlySet<StoredEvent["seq"]> };

type Expected = { name: "invoke_agent" | "chat" | "execute_tool"; runId: string; parent: string | undefined };

/** Everything in which the spans of all processes differ from the tree of the journal. */
export function compareSpans(spans: readonly ReadableSpan[], told: Told): string[] {
  const starts = startsOf(told.journal);
  const expected = expectedSpans(told, starts);
  const problems: string[] = [];
  const seen = new Map<string, ReadableSpan>();
  for (const span of spans) {
    const { spanId } = span.spanContext();
    if (seen.has(spanId)) problems.push(`${span.name} has the id of another span, ${spanId}`);
    seen.set(spanId, span);
  }
  for (const [id, { name, runId, parent }] of expected) {
    const span = seen.get(id);
    const what = `${name} of ${starts.get(runId)?.path}`;
    if (span === undefined) {
      problems.push(`${what} has no span`);
      continue;
    }
    if (operationOf(span) !== name) problems.push(`${what} is the span ${span.name}`);
    const trace = traceIdOf(topmost(runId, starts));
    if (span.spanContext().traceId !== trace) problems.push(`${what} is in the trace of another tree`);
    const lies = span.parentSpanContext?.spanId;
    if (lies !== parent) problems.push(`${what} lies below ${seen.get(lies ?? "")?.name ?? lies}`);
    if (span.parentSpanContext !== undefined && span.parentSpanContext.traceId !== trace)
      problems.push(`${what} lies in another trace than its parent`);
  }
  return [...problems, ...strayProblems(spans, expected, told)];
}

/** Spans that the journal does not demand: calls of a model that came to no answer, and of tools that were left open. */
function strayProblems(spans: readonly ReadableSpan[], expected: ReadonlyMap<string, Expected>, told: Told): string[] {
  const ids = new Set(spans.map((span) => span.spanContext().spanId));
  const hidden = new Set(hiddenSpans(told));
  const begun = told.journal.filter((event) => event.type === "tool-call-start");
  const calls = new Set(begun.map(({ runId, callId }) => spanIdOf(runId, { callId })));
  return spans.flatMap((span) => {
    const parent = span.parentSpanContext?.spanId;
    const isOrphan = parent !== undefined && !ids.has(parent) && !hidden.has(parent);
    const orphan = isOrphan ? [`${span.name} has a parent that was not exported`] : [];
    if (expected.has(span.spanContext().spanId)) return orphan;
    const isKnown = operationOf(span) === "chat" || calls.has(span.spanContext().spanId);
    const stray = isKnown && parent !== undefined ? [] : [`${span.name} is nowhere in the journal`];
    return [...orphan, ...stray];
  });
}

/** A span for each run, answered turn and tool call whose end was shown. */
function expectedSpans(
  { journal, shown }: Told,
  starts: ReadonlyMap<string, EventOf<"run-start">>,
): Map<string, Expected> {
  const expected = new Map<string, Expected>();
  const askedAt = new Map<string, number>();
  for (const event of journal) {
    const { type, runId, seq } = event;
    if (type === "turn-start") askedAt.set(runId, seq);
    if (!shown.has(seq)) continue;
    if (type === "run-end") {
      const { parentId = null, call } = starts.get(runId) ?? {};
      // No tool was called for the children of a fan-out from code.
      const isCalled = call !== undefined && call.callId !== FAN_OUT;
      const above = parentId === null ? undefined : spanIdOf(parentId, isCalled ? { callId: call.callId } : "run");
      expected.set(spanIdOf(runId), { name: "invoke_agent", runId, parent: above });
    } else if (type === "message-end") {
      const id = spanIdOf(runId, { seq: askedAt.get(runId) ?? 0 });
      expected.set(id, { name: "chat", runId, parent: spanIdOf(runId) });
    } else if (type === "tool-call-end") {
      expected.set(spanIdOf(runId, { callId: event.callId }), { name: "execute_tool", runId, parent: spanIdOf(runId) });
    }
  }
  return expected;
}

/** Spans whose end was kept and that no process could show any more. */
function hiddenSpans({ journal, shown }: Told): string[] {
  const hidden: string[] = [];
  for (const event of journal) {
    if (shown.has(event.seq)) continue;
    if (event.type === "run-end") hidden.push(spanIdOf(event.runId));
    if (event.type === "tool-call-end") hidden.push(spanIdOf(event.runId, { callId: event.callId }));
  }
  return hidden;
}

/** Tokens and cost: those of the chat spans of each run are those that its end names. */
export function compareSpent(spans: readonly ReadableSpan[], { journal, shown }: Told): string[] {
  const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]));
  const spent = new Map<string, { input: number; output: number }>();
  const problems: string[] = [];
  for (const span of spans) {
    const input = numberOf(span, "gen_ai.usage.input_tokens");
    const output = numberOf(span, "gen_ai.usage.output_tokens");
    if (operationOf(span) !== "chat" && input + output > 0) problems.push(`${span.name} has tokens and is no chat`);
    const run = span.parentSpanContext?.spanId ?? "";
    const sum = spent.get(run) ?? { input: 0, output: 0 };
    spent.set(run, { input: sum.input + input, output: sum.output + output });
  }
  // What was spent in an event that no process has shown is in no span.
  const hidden = new Set(
    journal
      .filter(({ seq, type }) => !shown.has(seq) && /^(message-end|retry|resume)$/.test(type))
      .map(({ runId }) => runId),
  );
  for (const event of journal) {
    if (event.type !== "run-end" || !shown.has(event.seq)) continue;
    const { runId, path, usage, costUsd, status } = event;
    const sum = spent.get(spanIdOf(runId)) ?? { input: 0, output: 0 };
    const isSame = sum.input === usage.inputTokens && sum.output === usage.outputTokens;
    if (!isSame && !hidden.has(runId))
      problems.push(`${path} used ${usage.inputTokens}+${usage.outputTokens}, its chats ${sum.input}+${sum.output}`);
    const { attributes = {} } = byId.get(spanIdOf(runId)) ?? {};
    const cost = attributes["sous.cost.unknown"] === true ? null : attributes["sous.cost_usd"];
    if (cost !== costUsd) problems.push(`${path} cost ${costUsd}, its span says ${cost}`);
    if (attributes["sous.outcome"] !== completionStatus(status))
      problems.push(`${path} is ${status}, its span ${attributes["sous.outcome"]}`);
  }
  return problems;
}

function operationOf({ attributes }: ReadableSpan): unknown {
  return attributes["gen_ai.operation.name"];
}

function numberOf({ attributes }: ReadableSpan, name: string): number {
  return Number(attributes[name] ?? 0);
}

function startsOf(journal: readonly StoredEvent[]): Map<string, EventOf<"run-start">> {
  const starts = new Map<string, EventOf<"run-start">>();
  for (const event of journal) if (event.type === "run-start") starts.set(event.runId, event);
  return starts;
}

function topmost(runId: string, starts: ReadonlyMap<string, EventOf<"run-start">>): string {
  const above = starts.get(runId)?.parentId ?? null;
  return above === null ? runId : topmost(above, starts);
}
