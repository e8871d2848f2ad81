/** Compares what a tree that is killed again and again has kept with what the provider and the tools have seen of it. */

import type { EventOf, StoredEvent } from "../../src/core/event.ts";
import type { Usage } from "../../src/core/usage.ts";
import { checkHistory } from "../../src/testing/checker.ts";
import { type Asked, OUTPUT_TOKENS } from "./kill-provider.ts";
import { FINAL_TEXT, TOOL_CALLS } from "./kill-script.ts";

/** One line of the log: a tool has run. */
export type ToolRun = { name: string; runId: string; callId: string; pid: number };

/** What is known behind the end of a process. */
export type Remains = {
  readonly events: readonly StoredEvent[];
  /** Every tool that ran so far, in all processes. */
  readonly ran: readonly ToolRun[];
  /** The numbers of the events this process was shown. */
  readonly shown: readonly number[];
};

export class KillJudge {
  readonly problems: string[] = [];
  /** Everything the provider was asked, in all processes. */
  readonly #asked: Asked[] = [];
  /** Requests whose answer was in the database when the process before this one died, by content. */
  readonly #answered = new Map<string, number>();
  /** Calls whose result was in the database by then. */
  readonly #done = new Set<string>();
  #askedBefore = 0;
  #ranBefore = 0;
  /** Questions and calls that were made again, as they may. */
  repeatedQuestions = 0;
  repeatedCalls = 0;

  asked(asked: Asked): void {
    const serial = this.#answered.get(asked.hash);
    if (serial !== undefined) this.#problem(`${asked.part} asks again what ${serial} has answered`);
    if (this.#asked.some(({ hash }) => hash === asked.hash)) this.repeatedQuestions += 1;
    this.#asked.push(asked);
  }

  /** A process has ended, by a kill or by itself. */
  endLife({ events, ran, shown }: Remains): void {
    const kept = new Set(events.map(({ seq }) => seq));
    const lost = shown.filter((seq) => !kept.has(seq));
    if (lost.length > 0) this.#problem(`${lost.length} events were shown and are not kept: ${lost}`);
    this.#checkQuestions(events);
    this.#checkCalls(events, ran);
    for (const problem of checkHistory(events, { isUnfinished: true })) this.#problem(problem);
  }

  #checkQuestions(events: readonly StoredEvent[]): void {
    const answers = eventsOf(events, "message-end");
    const bySerial = new Map(this.#asked.map((each) => [each.serial, each]));
    for (const { usage, path } of answers) {
      const question = bySerial.get(usage.inputTokens);
      if (question === undefined) this.#problem(`${path} has an answer nobody gave: ${usage.inputTokens}`);
      else this.#answered.set(question.hash, question.serial);
    }
    const serials = answers.map(({ usage }) => usage.inputTokens);
    if (new Set(serials).size < serials.length) this.#problem("One answer is kept twice");
    // One question of each run may have been on its way.
    const unheard = new Set<string>();
    for (const { part, serial } of this.#asked.slice(this.#askedBefore)) {
      if (serials.includes(serial)) continue;
      if (unheard.has(part)) this.#problem(`${part} had two questions on their way`);
      unheard.add(part);
    }
    this.#askedBefore = this.#asked.length;
    if (this.#asked.length > 0 && events.length === 0) this.#problem("Asked before anything was kept");
  }

  #checkCalls(events: readonly StoredEvent[], ran: readonly ToolRun[]): void {
    const intended = new Set(eventsOf(events, "tool-call-start").map(keyOf));
    const seen = new Map<string, number>();
    for (const [index, run] of ran.entries()) {
      const key = keyOf(run);
      const what = `${run.name} ${run.callId}`;
      const times = (seen.get(key) ?? 0) + 1;
      seen.set(key, times);
      if (run.name === "pay" && times > 1) this.#problem(`${what} was paid ${times} times`);
      if (index < this.#ranBefore) continue;
      if (times > 1) this.repeatedCalls += 1;
      if (this.#done.has(key)) this.#problem(`${what} ran again, and its result was kept`);
      if (run.name !== "look" && !intended.has(key)) this.#problem(`${what} ran before it was kept that it should`);
    }
    for (const end of eventsOf(events, "tool-call-end")) this.#done.add(keyOf(end));
    this.#ranBefore = ran.length;
  }

  /** The tree is over; `result` is what its caller was told, unless it died between. */
  endTree({ events, ran }: Remains, result: { status: string; text: string; usage: Usage } | undefined): void {
    const facts = result === undefined ? {} : { resultUsage: result.usage };
    for (const problem of checkHistory(events, facts)) this.#problem(problem);
    const root = eventsOf(events, "run-end").find(({ parentId }) => parentId === null);
    for (const end of [root, result])
      if (end !== undefined && (end.status !== "completed" || end.text !== FINAL_TEXT))
        this.#problem(`The end is ${end.status}: ${end.text}`);
    this.#checkPayments(events, ran);
    this.#checkUsage(events);
    const sent = eventsOf(events, "report").map(({ childRunId }) => childRunId);
    const waitedFor = eventsOf(events, "tool-call-end").flatMap(({ metadata }) => metadata?.reported_runs ?? []);
    const behind = eventsOf(events, "run-start").filter(({ call }) => call?.background === true);
    const reported = [...sent, ...waitedFor].sort().join();
    if (
      reported !==
      behind
        .map(({ runId }) => runId)
        .sort()
        .join()
    )
      this.#problem(`Reports reached the lead: ${reported}`);
  }

  /** Every payment was made once, or the model was told that nobody knows. */
  #checkPayments(events: readonly StoredEvent[], ran: readonly ToolRun[]): void {
    const payments = eventsOf(events, "tool-call-end").filter(({ toolName }) => toolName === "pay");
    if (payments.length !== TOOL_CALLS.pay) this.#problem(`${payments.length} payments`);
    const paid = new Set(ran.filter(({ name }) => name === "pay").map(keyOf));
    for (const payment of payments) {
      if (!payment.isError && !paid.has(keyOf(payment))) this.#problem(`${payment.callId} was never paid`);
      if (payment.isError && !/outcome of this call is unknown/.test(payment.output))
        this.#problem(`${payment.callId} failed: ${payment.output}`);
    }
    const known = new Set(payments.map(keyOf));
    for (const key of paid) if (!known.has(key)) this.#problem(`${key} was paid, and nobody knows`);
  }

  /** What was heard is billed as the provider billed it; what was not heard is on top of it. */
  #checkUsage(events: readonly StoredEvent[]): void {
    const answers = eventsOf(events, "message-end");
    const heard = answers.reduce((sum, { usage }) => sum + usage.inputTokens + OUTPUT_TOKENS, 0);
    const unheard = eventsOf(events, "retry").reduce((sum, { spent }) => sum + spent.totalTokens, 0);
    const total = eventsOf(events, "run-end").reduce((sum, { usage }) => sum + usage.totalTokens, 0);
    if (total !== heard + unheard) this.#problem(`${total} tokens are billed: ${heard} heard, ${unheard} unheard`);
  }

  #problem(what: string): void {
    this.problems.push(what);
  }
}

function keyOf({ runId, callId }: { runId: string; callId: string }): string {
  return `${runId} ${callId}`;
}

function eventsOf<Type extends StoredEvent["type"]>(events: readonly StoredEvent[], type: Type) {
  return events.filter((event): event is Extract<StoredEvent, EventOf<Type>> => event.type === type);
}
