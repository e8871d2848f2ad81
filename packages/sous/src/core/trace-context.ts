/**
 * The trace that a run belongs to. Ids of traces and spans follow from the ids of runs, so processes that work on one tree after
 * each other, or name each other's spans, agree on them without talking.
 */

/** The trace as programs hand it on: W3C Trace Context and Baggage, in variables and headers. */
export type TraceContext = {
  readonly traceparent: string;
  readonly tracestate?: string | undefined;
  readonly baggage?: string | undefined;
};

/** The content of a `traceparent`. */
export type SpanPlace = {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
};

/** W3C: longer ones need not be handed on. */
const MAX_TRACEPARENT = 256;
const MAX_TRACESTATE = 512;
const MAX_BAGGAGE = 8192;
const PRINTABLE = /^[\x20-\x7e]*$/;

/** Undefined without a valid TRACEPARENT: a trace that cannot be read is begun again. */
export function readTraceContext(variables: Readonly<Record<string, string | undefined>>): TraceContext | undefined {
  const { TRACEPARENT: traceparent, TRACESTATE: tracestate, BAGGAGE: baggage } = variables;
  return traceIn({ traceparent, tracestate, baggage });
}

/** The same from fields of an unknown value, such as the `_meta` of a request. */
export function traceIn(given: { readonly [Name in keyof TraceContext]?: unknown }): TraceContext | undefined {
  const traceparent = shortText(given.traceparent, MAX_TRACEPARENT)?.trim();
  if (traceparent === undefined || parseTraceparent(traceparent) === undefined) return undefined;
  const tracestate = shortText(given.tracestate, MAX_TRACESTATE);
  const baggage = shortText(given.baggage, MAX_BAGGAGE);
  return {
    traceparent,
    ...(tracestate !== undefined && { tracestate }),
    ...(baggage !== undefined && { baggage }),
  };
}

/** The variables of a program that continues the trace. */
export function traceVariables({ traceparent, tracestate, baggage }: TraceContext): Record<string, string> {
  return {
    TRACEPARENT: traceparent,
    ...(tracestate !== undefined && { TRACESTATE: tracestate }),
    ...(baggage !== undefined && { BAGGAGE: baggage }),
  };
}

/** Undefined for a text that is no `traceparent`. Later versions may have more behind the flags. */
export function parseTraceparent(text: string): SpanPlace | undefined {
  const found = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(text);
  const [, version, traceId = "", spanId = "", flags = "", more] = found ?? [];
  if (found === null || version === "ff" || (version === "00" && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function writeTraceparent({ traceId, spanId, isSampled }: SpanPlace): string {
  return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}

/** The trace of a run that continues after a restart: that of its start. Baggage is that of the process. */
export function continuedTrace(
  traceparent: string | undefined,
  now: TraceContext | undefined,
): TraceContext | undefined {
  if (traceparent === undefined) return undefined;
  if (traceparent === now?.traceparent) return now;
  return { traceparent, ...(now?.baggage !== undefined && { baggage: now.baggage }) };
}

/** Decides for a whole tree whether its spans are exported: by its trace, and by what the caller of its root said, if anyone did. */
export type IsSampled = (traceId: string, callerSaid: boolean | undefined) => boolean;

/**
 * The trace for a program that works for a run: the span of the run when spans are exported, else the trace that its root was
 * given. `isSampled` is the exporter's own decision, so the program leaves out what the tree leaves out; undefined without one.
 */
export function traceWithin(
  { runId, rootRunId, given }: { runId: string; rootRunId: string; given: TraceContext | undefined },
  isSampled: IsSampled | undefined,
): TraceContext | undefined {
  if (isSampled === undefined) return given;
  const place = given && parseTraceparent(given.traceparent);
  const traceId = place?.traceId ?? traceIdOf(rootRunId);
  const span = { traceId, spanId: spanIdOf(runId), isSampled: isSampled(traceId, place?.isSampled) };
  return { ...given, traceparent: writeTraceparent(span) };
}

/** The span of a run whose root was given this trace. */
export function spanOfRun(runId: string, rootRunId: string, given: string | undefined): string {
  const { traceId = traceIdOf(rootRunId), isSampled = true } = (given && parseTraceparent(given)) || {};
  return writeTraceparent({ traceId, spanId: spanIdOf(runId), isSampled });
}

/** The trace of a tree, when it is not given one: by the id of the run at its root. */
export function traceIdOf(rootRunId: string): string {
  return hash(rootRunId, 1) + hash(rootRunId, 2) + hash(rootRunId, 3) + hash(rootRunId, 4);
}

/** The run itself, one of its tool calls, or what begins with the event of this number: a turn, a call of an external agent. */
export type SpanPart = "run" | { readonly callId: string } | { readonly seq: number };

/** The span of a run, or of a part of it. */
export function spanIdOf(runId: string, part: SpanPart = "run"): string {
  const name = part === "run" ? runId : "seq" in part ? `${runId} event ${part.seq}` : `${runId} call ${part.callId}`;
  return hash(name, 5) + hash(name, 6);
}

/** Eight hexadecimal digits, never all zero: FNV-1a, and the last steps of MurmurHash3. */
function hash(text: string, seed: number): string {
  let sum = 0x811c9dc5 ^ Math.imul(seed, 0x9e3779b1);
  for (let index = 0; index < text.length; index++) sum = Math.imul(sum ^ text.charCodeAt(index), 0x01000193);
  sum = Math.imul(sum ^ (sum >>> 16), 0x85ebca6b);
  sum = Math.imul(sum ^ (sum >>> 13), 0xc2b2ae35);
  return ((sum ^ (sum >>> 16)) >>> 0 || 1).toString(16).padStart(8, "0");
}

function shortText(text: unknown, most: number): string | undefined {
  return typeof text === "string" && text !== "" && text.length <= most && PRINTABLE.test(text) ? text : undefined;
}
