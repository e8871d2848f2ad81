/** A span that has not ended, with a bounded number of events. */

import {
  type Attributes,
  type HrTime,
  type Link,
  type Span,
  type SpanContext,
  SpanStatusCode,
} from "@opentelemetry/api";
import type { Usage } from "../core/usage.ts";
import { cutText } from "./span-content.ts";
import type { EventAttributes, SpanAttributes, SpanEventName } from "./span-names.ts";

/** The most events of one span. */
export const MAX_EVENTS = 100;
const MAX_MESSAGE_BYTES = 1024;

export class OpenSpan {
  readonly #span: Span;
  #events = 0;

  constructor(span: Span) {
    this.#span = span;
  }

  get context(): SpanContext {
    return this.#span.spanContext();
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes(attributes as Attributes);
  }

  link(link: Link): void {
    this.#span.addLink(link);
  }

  event<Name extends SpanEventName>(name: Name, time: number, attributes: EventAttributes<Name>): void {
    this.#events += 1;
    if (this.#events <= MAX_EVENTS) this.#span.addEvent(name, attributes as Attributes, hrTime(time));
  }

  fail(errorType: string, message?: string | undefined): void {
    this.set({ "error.type": errorType });
    const words = message === undefined ? {} : { message: cutText(message, MAX_MESSAGE_BYTES) };
    this.#span.setStatus({ code: SpanStatusCode.ERROR, ...words });
  }

  end(time: number): void {
    if (this.#events > MAX_EVENTS) this.set({ "sous.events.left_out": this.#events - MAX_EVENTS });
    this.#span.end(hrTime(time));
  }
}

/** The tokens of a turn. */
export function usageAttributes(usage: Readonly<Usage>): SpanAttributes {
  return {
    "gen_ai.usage.input_tokens": usage.inputTokens,
    "gen_ai.usage.output_tokens": usage.outputTokens,
    "gen_ai.usage.cache_read.input_tokens": usage.cachedInputTokens,
    "gen_ai.usage.cache_creation.input_tokens": usage.cacheWriteTokens,
    ...(usage.estimated && { "sous.usage.estimated": true }),
  };
}

/** Exact, and never taken for a time since the start of the process. */
export function hrTime(milliseconds: number): HrTime {
  const seconds = Math.floor(milliseconds / 1000);
  return [seconds, Math.round((milliseconds - seconds * 1000) * 1e6)];
}
