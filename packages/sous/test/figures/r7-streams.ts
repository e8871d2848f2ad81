/**
 * R7: recorded streams, chopped and damaged, through the real provider packages. Chopping changes nothing. A stream that
 * is cut gives the whole answer or a `ModelError`, and no call of a cut answer gets out. Damage inside a stream (no wire
 * does that, but a broken proxy may) gives an answer or a `ModelError`; arguments that lost something by it are not JSON
 * any more or do not fit the tool's schema, and what still fits is counted.
 */

import { deepStrictEqual } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { ModelError } from "../../src/core/errors.ts";
import { toolCallsOf } from "../../src/core/message.ts";
import type { Model, ModelAnswer } from "../../src/core/model.ts";
import { resolveModel } from "../../src/runtime/model/resolve.ts";
import { between, chance, pick, seededRandom } from "../../src/testing/world.ts";
import { RECORDED } from "../support/runtime/model/record-streams.ts";
import { request, WEATHER } from "../support/runtime/model/requests.ts";
import { type Damage, damage, LINE_ENDINGS, withLineEnding } from "./stream-damage.ts";

export type StreamFigures = {
  seed: number;
  streams: number;
  /** How many ended in an answer, and how many in a `ModelError`. */
  answers: number;
  refusals: number;
  /** Anything thrown that is not a `ModelError`, and promises nobody waited for. Must be 0. */
  crashes: number;
  /** Calls of answers that came out of a cut stream and are not the whole answer. Must be 0. */
  incompleteCalls: number;
  /** Calls that would run with arguments changed by damage that left them well formed: only a checksum could tell. */
  alteredCalls: number;
};

type Resolve = typeof resolveModel;

/** `resolve` is replaced to show that the property can fail. */
export async function runMutatedStreams(options: {
  seed: number;
  count: number;
  resolve?: Resolve;
}): Promise<StreamFigures> {
  const { seed, count, resolve = resolveModel } = options;
  const random = seededRandom(seed, "r7");
  const figures: StreamFigures = {
    seed,
    streams: count,
    answers: 0,
    refusals: 0,
    crashes: 0,
    incompleteCalls: 0,
    alteredCalls: 0,
  };
  const countCrash = () => {
    figures.crashes += 1;
  };
  process.on("unhandledRejection", countCrash);
  try {
    const streams = await openRecorded(resolve);
    for (let index = 0; index < count; index++) {
      const stream = pick(random, streams);
      const harm = damage(stream.body, random);
      const chunks = chop(harm.body, () => between(random, 1, 400));
      const outcome = await stream.answer(chunks, harm.isOnlyCut && chance(random, 0.5) ? BROKEN : undefined);
      judge(outcome, stream.expected, harm, figures);
    }
    // Rejections are reported a turn of the event loop after they happen.
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.off("unhandledRejection", countCrash);
  }
  return figures;
}

/** Streams with more bytes are only read with other line endings when each place is tried: one parser reads them all. */
const SHORT_BYTES = 4_000;

/** Throws at the first difference. Returns how many streams were read. `stride` 1 tries each place alone, 8 every eighth. */
export async function runChoppedStreams({ stride }: { stride: number }): Promise<number> {
  let streams = 0;
  for (const { body, expected, answer } of await openRecorded(resolveModel)) {
    for (const ending of LINE_ENDINGS) {
      if (stride > 1 && ending !== "\n" && body.length > SHORT_BYTES) continue;
      const bytes = withLineEnding(body, ending);
      // One byte at a time is a split at every place at once …
      deepStrictEqual(await answer(chop(bytes, () => 1)), { answer: expected });
      streams += 1;
      // … and here is each place alone.
      if (ending !== "\n") continue;
      for (let place = 1; place < bytes.length; place += stride) {
        deepStrictEqual(await answer([bytes.subarray(0, place), bytes.subarray(place)]), { answer: expected });
        streams += 1;
      }
    }
  }
  return streams;
}

/** How undici reports a connection that was reset while a body was read. */
const BROKEN = new TypeError("terminated", {
  cause: Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" }),
});

type Outcome = { answer: ModelAnswer } | { error: unknown };

type RecordedStream = {
  body: Uint8Array;
  expected: ModelAnswer;
  /** Feeds the chunks through the provider's package; an `end` breaks the connection after the last. */
  answer(chunks: readonly Uint8Array[], end?: Error): Promise<Outcome>;
};

async function openRecorded(resolve: Resolve): Promise<[RecordedStream, ...RecordedStream[]]> {
  const opened: RecordedStream[] = [];
  for (const [name, id] of Object.entries(RECORDED)) {
    const body = new Uint8Array(
      readFileSync(new URL(`../support/runtime/model/recorded/${name}.sse`, import.meta.url)),
    );
    opened.push(await openStream(id, body, resolve));
  }
  const [first, ...rest] = opened;
  if (first === undefined) throw new Error("nothing is recorded");
  return [first, ...rest];
}

const KEYS = { ANTHROPIC_API_KEY: "test", OPENAI_API_KEY: "test", GEMINI_API_KEY: "test" };

async function openStream(id: string, body: Uint8Array, resolve: Resolve): Promise<RecordedStream> {
  let chunks: readonly Uint8Array[] = [];
  let end: Error | undefined;
  const model: Model = await resolve(id, KEYS, {
    fetch: async () => new Response(streamOf(chunks, end), { headers: { "content-type": "text/event-stream" } }),
  });
  const answer = async (given: readonly Uint8Array[], broken?: Error): Promise<Outcome> => {
    [chunks, end] = [given, broken];
    try {
      return { answer: await model.answer(request({ tools: [WEATHER] }), () => {}) };
    } catch (error) {
      return { error };
    }
  };
  const whole = await answer([body]);
  if ("error" in whole) throw whole.error;
  return { body, expected: whole.answer, answer };
}

function streamOf(chunks: readonly Uint8Array[], end: Error | undefined): ReadableStream<Uint8Array> {
  let index = 0;
  return new ReadableStream({
    pull(controller) {
      const chunk = chunks[index++];
      if (chunk !== undefined) controller.enqueue(chunk);
      else if (end !== undefined) controller.error(end);
      else controller.close();
    },
  });
}

function chop(bytes: Uint8Array, size: () => number): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = start + size();
    chunks.push(bytes.subarray(start, end));
    start = end;
  }
  return chunks;
}

function judge(outcome: Outcome, expected: ModelAnswer, harm: Damage, figures: StreamFigures): void {
  if ("error" in outcome) {
    if (outcome.error instanceof ModelError) figures.refusals += 1;
    else figures.crashes += 1;
    return;
  }
  figures.answers += 1;
  const { message } = outcome.answer;
  const wanted = toolCallsOf(expected.message);
  for (const call of toolCallsOf(message)) {
    if (harm.isOnlyCut && !isDeepStrictEqual(message, expected.message)) figures.incompleteCalls += 1;
    else if (!wouldRun(call.input)) continue;
    else if (!wanted.some(({ input }) => isDeepStrictEqual(input, call.input))) figures.alteredCalls += 1;
  }
}

/** As the schema of the tool would have it: anything else is answered with a failed result. */
function wouldRun(input: unknown): boolean {
  if (typeof input !== "object" || input === null) return false;
  const { city, days, ...unknown } = input as Record<string, unknown>;
  return typeof city === "string" && typeof days === "number" && Object.keys(unknown).length === 0;
}
