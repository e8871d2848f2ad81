/** Spans of turns: one for each question to a model, with the tokens of all its attempts. */

import type { EventOf, StoredEvent } from "../../core/event.ts";
import { addUsage, type Usage } from "../../core/usage.ts";
import { answered, type ContentWriter, contentOf, FINISH_REASONS } from "./span-content.ts";
import type { SpanMaker } from "./span-maker.ts";
import type { SpanAttributes } from "./span-names.ts";
import { type OpenChat, type TracedRun, usageAttributes } from "./traced-run.ts";

export class TurnSpans {
  readonly #make: SpanMaker;
  readonly #content: ContentWriter | undefined;

  constructor(make: SpanMaker, content: ContentWriter | undefined) {
    this.#make = make;
    this.#content = content;
  }

  start(run: TracedRun, { seq, turn, time }: EventOf<"turn-start">): void {
    // A prompt that was too long is asked again, shorter.
    this.abandon(run, time, "context_length");
    const pending = run.pending?.take() ?? [];
    const input = pending.length > 0 && this.#content && { "gen_ai.input.messages": this.#content.json(pending) };
    run.chat = this.#make.startChat(run, seq, time, { "sous.turn": turn, ...input });
  }

  end(run: TracedRun, { seq, turn, message, finish, usage, time }: EventOf<"message-end">): void {
    const chat = run.chat ?? this.#make.startChat(run, seq, time, { "sous.turn": turn });
    addUsage(chat.usage, usage);
    const reason = FINISH_REASONS[finish];
    const output = this.#content?.json([answered(contentOf(message), reason)]);
    this.#endChat(run, chat, time, {
      "gen_ai.response.finish_reasons": [reason],
      ...(output !== undefined && { "gen_ai.output.messages": output }),
    });
  }

  #endChat(run: TracedRun, chat: OpenChat, time: number, answer?: SpanAttributes): void {
    if (run.chat === chat) run.chat = undefined;
    if (run.counted !== undefined) addUsage(run.counted, chat.usage);
    chat.span.set({ ...answer, ...usageAttributes(chat.usage) });
    chat.span.end(time);
  }

  abandon(run: TracedRun, time: number, errorType: string, message?: string): void {
    const { chat } = run;
    if (chat === undefined) return;
    chat.span.fail(errorType, message);
    this.#endChat(run, chat, time);
  }

  /** Without an open turn it is a question from before a crash, booked now. */
  retry(run: TracedRun, event: EventOf<"retry">): void {
    const { time, attempt, delayMs, kind, message, spent } = event;
    const { chat } = run;
    if (chat === undefined) {
      this.bookUnanswered(run, event, spent, kind);
      return;
    }
    addUsage(chat.usage, spent);
    chat.failure = kind;
    chat.span.event("sous.retry", time, { kind, attempt, delay_ms: delayMs, message });
  }

  /** Tokens of a question without an answer, on a span of their own. */
  bookUnanswered(run: TracedRun, { seq, time }: StoredEvent, usage: Usage, errorType: string): void {
    const chat = this.#make.startChat(run, seq, time, { "sous.unanswered": true });
    addUsage(chat.usage, usage);
    chat.span.fail(errorType);
    this.#endChat(run, chat, time);
  }

  /** Tokens of attempts that failed for good are in the sum of the run alone. */
  countRest(run: TracedRun, end: EventOf<"run-end">): void {
    const { counted, chat } = run;
    if (counted === undefined) return;
    const rest = restOf(end.usage, counted, chat?.usage);
    if (rest.inputTokens <= 0 && rest.outputTokens <= 0) return;
    if (chat !== undefined) addUsage(chat.usage, rest);
    else this.bookUnanswered(run, end, rest, "model");
  }
}

/** The part of the sum that is not yet on spans. */
function restOf(sum: Usage, counted: Usage, open: Usage | undefined): Usage {
  const left = (name: "inputTokens" | "outputTokens" | "cachedInputTokens" | "cacheWriteTokens" | "totalTokens") =>
    Math.max(0, sum[name] - counted[name] - (open?.[name] ?? 0));
  return {
    inputTokens: left("inputTokens"),
    outputTokens: left("outputTokens"),
    cachedInputTokens: left("cachedInputTokens"),
    cacheWriteTokens: left("cacheWriteTokens"),
    totalTokens: left("totalTokens"),
    estimated: sum.estimated,
  };
}
