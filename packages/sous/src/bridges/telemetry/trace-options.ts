/** The options of tracing, and their kinds. */

import type { Context, TracerProvider } from "@opentelemetry/api";
import { FLAG, functionOf, type OptionKinds, TEXT, TEXTS, withFunctions } from "../../core/option-kinds.ts";

/** The options of tracing. */
export type TraceOptions = {
  /** Makes the spans; the global one of the OpenTelemetry API when unset. */
  tracerProvider?: TracerProvider | undefined;
  /** True puts what was asked, answered, called and returned into the spans, each cut to 8 KB. Off when unset. */
  captureContent?: boolean | undefined;
  /** Called with each captured text before it is cut. Secrets that sous knows are gone already. */
  redact?: ((text: string) => string) | undefined;
  /** True adds `langfuse.observation.type`, by which Langfuse draws agents, generations and tools apart. */
  observationType?: boolean | undefined;
  /** The parent of roots; when unset the trace they were started in, else the context that is active now. */
  parent?: Context | undefined;
  /** W3C baggage: its entries become attributes of every span. When unset that of the context. */
  baggage?: string | undefined;
  /**
   * Models without a price that are shown by their names although a call chose them, or another process began the run. Those of
   * roots and definitions need not be named; all others are `other`.
   */
  models?: readonly string[] | undefined;
};

export const TRACE_OPTIONS: OptionKinds<TraceOptions> = {
  tracerProvider: withFunctions("getTracer"),
  captureContent: FLAG,
  redact: functionOf(),
  observationType: FLAG,
  parent: withFunctions("getValue"),
  baggage: TEXT,
  models: TEXTS,
};
