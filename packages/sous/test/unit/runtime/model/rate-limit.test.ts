/** A rate limit costs time, not children: a fan-out against a provider that takes calls at a rate, on virtual time. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../../src/core/agent.ts";
import { ModelError } from "../../../../src/core/errors.ts";
import type { SousEvent } from "../../../../src/core/event.ts";
import type { Model } from "../../../../src/core/model.ts";
import type { RunOptions } from "../../../../src/core/runtime.ts";
import { createRuntime } from "../../../../src/runtime.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import { calls, says } from "../../../../src/testing/steps.ts";
import { createWorld, type World } from "../../../../src/testing/world.ts";
import { simpleTool } from "../../../support/requirements/support.ts";
import { MinuteWindow, RATES, type Rate, RateBucket } from "../../../support/runtime/model/rate-bucket.ts";

const CHILDREN = 40;
const CALLS = CHILDREN * 3 + 2;
const LATENCY_MS = 300;

type Refuse = (now: number) => { readonly afterMs: number | undefined; status?: number } | "taken";

/** Takes `LATENCY_MS` for an answer and a tenth of it for a refusal. */
function limited(world: World, refuse: Refuse, options: Partial<Model> = {}): Model {
  const look = calls("look", {});
  const tasks = Array.from({ length: CHILDREN }, (_, index) => ({ label: `c${index}`, task_prompt: `Part ${index}.` }));
  const inner = scriptedModel({
    lead: [calls("parallel_subagent", { tasks, max_concurrent: CHILDREN }), says("All seen.")],
    "lead/*": [look, look, says("Done.")],
  });
  const after = (milliseconds: number) => new Promise<void>((resolve) => void world.clock.timer(milliseconds, resolve));
  return {
    ...inner,
    ...options,
    async answer(request, onDelta) {
      const refusal = refuse(world.clock.monotonic());
      if (refusal !== "taken") {
        await after(LATENCY_MS / 10);
        const { afterMs: retryAfterMs, status = 429 } = refusal;
        throw new ModelError(status === 429 ? "rate_limit" : "overloaded", "Slow down", { status, retryAfterMs });
      }
      await after(LATENCY_MS / 3);
      request.isAccepted = true;
      await after((LATENCY_MS * 2) / 3);
      return inner.answer(request, onDelta);
    },
  };
}

async function fanOutOn(
  refuse: Refuse,
  atOnce: number,
  { model, ...run }: RunOptions & { model?: Partial<Model> } = {},
) {
  const world = createWorld({ seed: 1, lateness: 0 });
  const events: SousEvent[] = [];
  const limits = { maxConcurrent: CHILDREN };
  const runtime = createRuntime({
    host: world.host,
    limits,
    maxConcurrentCalls: atOnce,
    onEvent: (each) => void events.push(each),
  });
  const lead = agent({
    name: "lead",
    model: limited(world, refuse, model),
    tools: [simpleTool("look", () => "seen")],
    delegate: true,
  });
  const result = await world.run(() => runtime.run(lead, "Look at all parts.", run).result);
  const failed = result.agents.filter(({ status }) => status !== "completed").map(({ path, status }) => [path, status]);
  return { result, events, failed, world };
}

function fanOutAt(rate: Rate, atOnce: number) {
  const bucket = new RateBucket(rate);
  return { bucket, done: fanOutOn((now) => bucket.take(now), atOnce) };
}

function assertNearLeast(limit: RateBucket | MinuteWindow, { result, failed }: Awaited<ReturnType<typeof fanOutOn>>) {
  assert.deepEqual(failed, []);
  assert.equal(limit.answers, CALLS);
  const ratio = result.durationMs / (limit.leastMs(CALLS) + LATENCY_MS);
  assert.ok(ratio <= 1.15, `${result.durationMs} ms, ${ratio.toFixed(2)} of the least`);
  assert.ok(limit.refusals <= limit.answers, `${limit.refusals} refusals, ${limit.answers} answers`);
}

suite("A4: a fan-out of 40 children on a rate-limited model loses none", () => {
  for (const [name, rate] of RATES) {
    for (const atOnce of [5, 16, 40]) {
      test(`A4: ${atOnce} calls at once at ${name}: all complete in 1.15 times the least time, with at most one refusal for each answer`, async () => {
        const { bucket, done } = fanOutAt(rate, atOnce);
        assertNearLeast(bucket, await done);
      });
    }
  }

  for (const saysWhen of [true, false]) {
    for (const atOnce of [5, 16, 40]) {
      const says = saysWhen ? "says when the next may come" : "says nothing";
      test(`A4: ${atOnce} calls at once at 50 in any minute, which ${says}: all complete in 1.15 times the least time`, async () => {
        const window = new MinuteWindow(50, saysWhen);
        assertNearLeast(window, await fanOutOn((now) => window.take(now), atOnce));
      });
    }
  }
});

suite("A4: a model that refuses for ever", () => {
  test("A4: a run ends after 10 minutes of refusals that say when to come back, and asks less and less often", async () => {
    let asked = 0;
    const { result } = await fanOutOn(() => {
      asked += 1;
      return { afterMs: 1000 };
    }, 16);
    assert.equal(result.status, "failed");
    assert.match(
      result.error?.message ?? "",
      /Slow down\. It was asked again for \d+ minutes, and sous waits for at most 10 minutes/,
    );
    assert.ok(result.durationMs <= 10 * 60_000 && result.durationMs > 9 * 60_000, `${result.durationMs}`);
    assert.ok(asked < 50, `${asked} calls`);
  });

  test("A4: the bound is that of the model, and the timeout of the run comes first", async () => {
    const refuse: Refuse = () => ({ afterMs: 500 });
    const short = await fanOutOn(refuse, 16, { model: { maxRateWaitMs: 5000 } });
    assert.match(short.result.error?.message ?? "", /sous waits for at most 5 seconds/);
    const stopped = await fanOutOn(refuse, 16, { budget: { durationMs: 2000 } });
    assert.deepEqual([stopped.result.status, stopped.result.durationMs], ["timeout", 2000]);
  });

  test("A4: a wait that is longer than the bound is not begun", async () => {
    const { result, events } = await fanOutOn(() => ({ afterMs: 3_600_000 }), 16);
    assert.match(result.error?.message ?? "", /It asks to wait 60 minutes, and sous waits for at most 10 minutes/);
    assert.deepEqual([result.durationMs < 1000, events.some(({ type }) => type === "retry")], [true, false]);
  });

  test("A4: refusals without a time, while nothing is answered, are attempts", async () => {
    const { result, events } = await fanOutOn(() => ({ afterMs: undefined }), 16);
    assert.equal(result.status, "failed");
    assert.equal(events.filter(({ type }) => type === "retry").length, 4);
    assert.ok(result.durationMs < 60_000);
  });

  test("A4: a failing server is a fault, whatever others are answered", async () => {
    const { result, events } = await fanOutOn(() => ({ afterMs: undefined, status: 500 }), 16);
    assert.equal(result.status, "failed");
    assert.equal(events.filter(({ type }) => type === "retry").length, 4);
  });
});

test("A4: a wait for the rate limit is shown, and ends with its run", async () => {
  const { bucket, done } = fanOutAt({ burst: 5, perSecond: 1, says: "exactly" }, 16);
  const { events, world } = await done;
  assert.ok(bucket.refusals > 0);
  const waits = events.filter(({ type }) => type === "rate-wait");
  assert.ok(waits.length > 0 && waits.every((event) => event.type === "rate-wait" && event.delayMs >= 1000));
  assert.equal(world.clock.liveTimers, 0);
});

test("A4: when the limit is gone, calls are soon as many at once as before", async () => {
  let isLimited = true;
  const bucket = new RateBucket({ burst: 5, perSecond: 0.5, says: "exactly" });
  const started: number[] = [];
  const { result, failed } = await fanOutOn((now) => {
    if (now > 30_000 + (started[0] ?? now)) isLimited = false;
    const taken = isLimited ? bucket.take(now) : "taken";
    if (taken === "taken") started.push(now);
    return taken;
  }, 16);
  assert.deepEqual(failed, []);
  assert.ok(result.durationMs < 90_000, `${result.durationMs} ms`);
});
