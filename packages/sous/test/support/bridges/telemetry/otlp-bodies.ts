/** The bodies of OTLP requests, JSON or protobuf, as plain values. Only the fields that tests look at. */

export type SentSpan = {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  start: bigint;
  attributes: Attributes;
  links: string[];
};
export type SentMetric = { name: string; unit: string; kind: "gauge" | "sum" | "histogram"; points: Point[] };
/** The value of a number, the sum of a histogram. */
export type Point = { attributes: Attributes; value: number; bounds?: readonly number[] };
type Attributes = Readonly<Record<string, unknown>>;

type Body = { headers: Record<string, string>; body: Buffer };

export function readTraces({ headers, body }: Body): { resource: Attributes; spans: SentSpan[] } {
  return headers["content-type"] === "application/json"
    ? jsonTraces(JSON.parse(body.toString("utf8")))
    : protobufTraces(body);
}

export function readMetrics({ headers, body }: Body): { resource: Attributes; metrics: SentMetric[] } {
  return headers["content-type"] === "application/json"
    ? jsonMetrics(JSON.parse(body.toString("utf8")))
    : protobufMetrics(body);
}

// biome-ignore lint/suspicious/noExplicitAny: what an exporter wrote is asserted on, not trusted
type Json = Record<string, any>;

function jsonTraces({ resourceSpans }: Json): ReturnType<typeof readTraces> {
  const spans = resourceSpans.flatMap(({ scopeSpans }: Json) => scopeSpans.flatMap(({ spans }: Json) => spans));
  return {
    resource: jsonAttributes(resourceSpans[0].resource.attributes),
    spans: spans.map((span: Json) => ({
      traceId: span.traceId,
      spanId: span.spanId,
      parentSpanId: span.parentSpanId ?? "",
      name: span.name,
      start: BigInt(span.startTimeUnixNano),
      attributes: jsonAttributes(span.attributes),
      links: (span.links ?? []).map((link: Json) => link.spanId),
    })),
  };
}

function jsonMetrics({ resourceMetrics }: Json): ReturnType<typeof readMetrics> {
  const all = resourceMetrics.flatMap(({ scopeMetrics }: Json) => scopeMetrics.flatMap(({ metrics }: Json) => metrics));
  return {
    resource: jsonAttributes(resourceMetrics[0].resource.attributes),
    metrics: all.map((metric: Json) => {
      const kind = (["gauge", "sum", "histogram"] as const).find((each) => metric[each] !== undefined) ?? "gauge";
      const points = metric[kind].dataPoints.map((point: Json) => ({
        attributes: jsonAttributes(point.attributes),
        value: Number(point.sum ?? point.asDouble ?? point.asInt),
        ...(kind === "histogram" && { bounds: point.explicitBounds }),
      }));
      return { name: metric.name, unit: metric.unit ?? "", kind, points };
    }),
  };
}

function jsonAttributes(attributes: Json[] = []): Attributes {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, jsonValue(value)]));
}

function jsonValue(value: Json): unknown {
  if (value.arrayValue !== undefined) return (value.arrayValue.values ?? []).map(jsonValue);
  if (value.intValue !== undefined) return Number(value.intValue);
  return value.stringValue ?? value.boolValue ?? value.doubleValue;
}

/** Fields of a message by their numbers: a number for a varint, 8 bytes for a fixed one, bytes for the rest. */
type Fields = Map<number, (bigint | Buffer)[]>;

function fieldsOf(bytes: Buffer): Fields {
  const fields: Fields = new Map();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++] ?? 0;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  const take = (length: number): Buffer => {
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const [number, type] = [tag >> 3, tag & 7];
    const value = type === 0 ? varint() : take(type === 1 ? 8 : type === 5 ? 4 : Number(varint()));
    fields.set(number, [...(fields.get(number) ?? []), value]);
  }
  return fields;
}

const messages = (fields: Fields | undefined, number: number): Fields[] => bytesOf(fields, number).map(fieldsOf);
const bytesOf = (fields: Fields | undefined, number: number): Buffer[] =>
  (fields?.get(number) ?? []).filter((value) => typeof value !== "bigint");
const hex = (fields: Fields, number: number): string => bytesOf(fields, number)[0]?.toString("hex") ?? "";
const text = (fields: Fields, number: number): string => bytesOf(fields, number)[0]?.toString("utf8") ?? "";

function protobufTraces(body: Buffer): ReturnType<typeof readTraces> {
  const resources = messages(fieldsOf(body), 1);
  const spans = resources.flatMap((resource) => messages(resource, 2).flatMap((scope) => messages(scope, 2)));
  return {
    resource: protobufAttributes(messages(resources[0], 1)[0], 1),
    spans: spans.map((span) => ({
      traceId: hex(span, 1),
      spanId: hex(span, 2),
      parentSpanId: hex(span, 4),
      name: text(span, 5),
      start: bytesOf(span, 7)[0]?.readBigUInt64LE() ?? 0n,
      attributes: protobufAttributes(span, 9),
      links: messages(span, 13).map((link) => hex(link, 2)),
    })),
  };
}

function protobufMetrics(body: Buffer): ReturnType<typeof readMetrics> {
  const resources = messages(fieldsOf(body), 1);
  const all = resources.flatMap((resource) => messages(resource, 2).flatMap((scope) => messages(scope, 2)));
  return {
    resource: protobufAttributes(messages(resources[0], 1)[0], 1),
    metrics: all.map((metric) => {
      const kind = metric.has(9) ? "histogram" : metric.has(7) ? "sum" : "gauge";
      const [data] = messages(metric, { gauge: 5, sum: 7, histogram: 9 }[kind]);
      const points = messages(data, 1).map((point) =>
        kind === "histogram"
          ? { attributes: protobufAttributes(point, 9), value: double(point, 5), bounds: doubles(point, 7) }
          : { attributes: protobufAttributes(point, 7), value: point.has(6) ? whole(point, 6) : double(point, 4) },
      );
      return { name: text(metric, 1), unit: text(metric, 3), kind, points };
    }),
  };
}

const double = (fields: Fields, number: number): number => bytesOf(fields, number)[0]?.readDoubleLE() ?? 0;
const whole = (fields: Fields, number: number): number => Number(bytesOf(fields, number)[0]?.readBigInt64LE() ?? 0n);

function doubles(fields: Fields, number: number): number[] {
  const [packed = Buffer.alloc(0)] = bytesOf(fields, number);
  return Array.from({ length: packed.length / 8 }, (_, index) => packed.readDoubleLE(index * 8));
}

function protobufAttributes(fields: Fields | undefined, number: number): Attributes {
  return Object.fromEntries(
    messages(fields, number).map((pair) => [text(pair, 1), protobufValue(messages(pair, 2)[0] ?? new Map())]),
  );
}

function protobufValue(value: Fields): unknown {
  if (value.has(1)) return text(value, 1);
  if (value.has(2)) return value.get(2)?.[0] === 1n;
  if (value.has(3)) return Number(BigInt.asIntN(64, (value.get(3)?.[0] as bigint | undefined) ?? 0n));
  if (value.has(4)) return double(value, 4);
  return messages(messages(value, 5)[0], 1).map(protobufValue);
}
