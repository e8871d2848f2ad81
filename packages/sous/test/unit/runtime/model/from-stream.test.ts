/** The reader of one stream: whatever ends an answer early, the connection to the provider does not stay open behind it. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { readAnswer } from "../../../../src/runtime/model/from-stream.ts";

const DELTA: LanguageModelV4StreamPart = { type: "text-delta", id: "1", delta: "Hello" };

/** A provider that sends these parts and would send more. */
function endless(parts: readonly LanguageModelV4StreamPart[]) {
  let isCancelled = false;
  const rest = [...parts];
  const stream = new ReadableStream<LanguageModelV4StreamPart>({
    pull: (controller) => controller.enqueue(rest.shift() ?? DELTA),
    cancel: () => {
      isCancelled = true;
    },
  });
  return { stream, isCancelled: () => isCancelled };
}

function read(stream: ReadableStream<LanguageModelV4StreamPart>, onDelta = () => {}, signal = AbortSignal.any([])) {
  const asked = { provider: "toy", modelId: "toy" } as Parameters<typeof readAnswer>[1]["asked"];
  return readAnswer(stream, { id: "toy", signal, onDelta, asked });
}

suite("an answer that is left early", () => {
  test("an answer with an error in it leaves no connection open", async () => {
    const { stream, isCancelled } = endless([DELTA, { type: "error", error: new Error("overloaded") }]);
    await assert.rejects(read(stream));
    assert.equal(isCancelled(), true);
  });

  test("an answer that is too large leaves no connection open", async () => {
    const { stream, isCancelled } = endless(
      Array.from({ length: 40 }, () => ({ ...DELTA, delta: "x".repeat(1024 * 1024) })),
    );
    await assert.rejects(read(stream), /too large|larger/i);
    assert.equal(isCancelled(), true);
  });

  test("an answer whose listener throws leaves no connection open", async () => {
    const { stream, isCancelled } = endless([DELTA]);
    const onDelta = () => assert.fail("the listener is broken");
    await assert.rejects(read(stream, onDelta), /the listener is broken/);
    assert.equal(isCancelled(), true);
  });

  test("an answer that is stopped leaves no connection open", async () => {
    const { stream, isCancelled } = endless([DELTA]);
    const stop = new AbortController();
    await assert.rejects(
      read(stream, () => stop.abort(new Error("enough")), stop.signal),
      /^Error: enough$/,
    );
    assert.equal(isCancelled(), true);
  });
});
