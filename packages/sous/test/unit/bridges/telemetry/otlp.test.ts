/** Traces and metrics on their way to a collector: what arrives, what is counted, and when it ends. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { suite, test } from "node:test";
import { METRICS, type Metric, type MetricName } from "../../../../src/bridges/telemetry/names.ts";
import { type Otlp, openOtlp } from "../../../../src/bridges/telemetry/otlp.ts";
import { readOtlpSettings } from "../../../../src/bridges/telemetry/otlp-settings.ts";
import { createRegistry } from "../../../../src/bridges/telemetry/registry.ts";
import { runIdGenerator, withIds } from "../../../../src/bridges/telemetry/run-ids.ts";
import { traceIdOf } from "../../../../src/core/trace-context.ts";
import { OtlpReceiver } from "../../../support/bridges/telemetry/otlp-receiver.ts";

async function openTo(url: string, variables: Record<string, string> = {}): Promise<Otlp & { lost: () => number }> {
  const settings = readOtlpSettings({ endpoint: url, variables, warn: assert.fail });
  assert.ok(settings);
  let lost = 0;
  const onLost = (count: number): void => {
    lost += count;
  };
  const otlp = await openOtlp(settings, { version: "1.2.3", idGenerator: runIdGenerator(), onLost });
  return { ...otlp, lost: () => lost };
}

function makeSpans({ tracerProvider }: Otlp, count: number): void {
  const tracer = tracerProvider?.getTracer("test");
  for (let index = 0; index < count; index++) tracer?.startSpan(`span ${index}`).end();
}

/** Every metric once, with labels that a user could have chosen. */
function countEverything(meter: NonNullable<Otlp["meter"]>): void {
  for (const name of Object.keys(METRICS) as MetricName[]) {
    const { kind, labels } = METRICS[name];
    const values = labels.map((label) => `a ${label}`);
    if (kind === "counter") meter.count(name, 2, values);
    else if (kind === "histogram") meter.record(name, 3, values);
    else meter.observe(() => [{ metric: name, value: 4, labels: values }]);
  }
}

test("F2: each signal is sent in the protocol that was asked for it", async () => {
  await using receiver = await OtlpReceiver.start();
  const otlp = await openTo(receiver.url, {
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf",
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/json",
  });
  makeSpans(otlp, 1);
  otlp.meter?.count("droppedSpans", 1, []);
  assert.equal(await otlp.close(5000), undefined);
  await receiver.until(({ spans, metrics }) => spans.length > 0 && metrics.length > 0);
  const types = Object.fromEntries(receiver.requests.map(({ path, headers }) => [path, headers["content-type"]]));
  assert.deepEqual(types, { "/v1/traces": "application/json", "/v1/metrics": "application/x-protobuf" });
});

suite("F3: metrics over OTLP", { concurrency: true }, () => {
  for (const protocol of ["http/json", "http/protobuf"]) {
    test(`F3: metrics over OTLP have the names, units, labels and buckets of the registry, as ${protocol}`, async () => {
      await using receiver = await OtlpReceiver.start();
      const otlp = await openTo(receiver.url, { OTEL_EXPORTER_OTLP_PROTOCOL: protocol, OTEL_TRACES_EXPORTER: "none" });
      assert.ok(otlp.meter);
      countEverything(otlp.meter);
      assert.equal(await otlp.close(5000), undefined);
      const { metrics, resource } = await receiver.until(({ metrics }) => metrics.length > 0);
      assert.equal(resource["service.name"], "sous");
      assert.equal(resource["service.version"], "1.2.3");
      const found = new Map(metrics.map((metric) => [metric.name, metric]));
      for (const name of Object.keys(METRICS) as MetricName[]) {
        const metric: Metric = METRICS[name];
        const { kind, unit = "" } = metric;
        const sent = found.get(metric.name);
        const [point] = sent?.points ?? [];
        assert.deepEqual(
          [sent?.kind, sent?.unit, point?.value, point?.attributes, point?.bounds],
          [
            kind === "counter" ? "sum" : kind,
            unit,
            { counter: 2, histogram: 3, gauge: 4 }[kind],
            Object.fromEntries(metric.labels.map((label) => [label, `a ${label}`])),
            metric.buckets,
          ],
          metric.name,
        );
      }
    });
  }

  test("F3: metrics over OTLP bound the values of labels as the registry does", async () => {
    await using receiver = await OtlpReceiver.start();
    const otlp = await openTo(receiver.url, { OTEL_TRACES_EXPORTER: "none" });
    const registry = createRegistry();
    for (let index = 0; index < 105; index++) {
      for (const meter of [otlp.meter, registry]) meter?.count("cost", 1, [`agent ${index}`]);
    }
    await otlp.close(5000);
    const { metrics } = await receiver.until(({ metrics }) => metrics.length > 0);
    const points = metrics.find(({ name }) => name === METRICS.cost.name)?.points ?? [];
    assert.equal(points.length, 101);
    assert.equal(points.find(({ attributes }) => attributes.agent === "other")?.value, 5);
    assert.match(registry.render(), /sous_cost_usd_total\{agent="other"\} 5/);
  });
});

suite("F2: spans are exported or counted", { concurrency: true }, () => {
  test("spans that end when too many wait are dropped and counted: made = exported + dropped, and the sentence says how many", async () => {
    await using receiver = await OtlpReceiver.start();
    const otlp = await openTo(receiver.url, { OTEL_BSP_MAX_QUEUE_SIZE: "1000" });
    for (let round = 0; round < 10; round++) {
      const before = receiver.requests.length;
      makeSpans(otlp, 1500);
      await receiver.until(() => receiver.requests.length > before);
    }
    const sentence = await otlp.close(20_000);
    const { ended, exported, dropped, failed } = otlp.spans;
    assert.deepEqual([ended, failed, exported + dropped], [15_000, 0, 15_000]);
    assert.ok(dropped > 0 && exported >= 1000, `${dropped} dropped`);
    assert.equal(otlp.lost(), dropped);
    assert.match(sentence ?? "", new RegExp(`^${dropped} of 15000 spans were not exported \\(more waited than OTEL_`));
    const { spans, metrics } = await receiver.until(
      (received) => received.spans.length === exported && received.metrics.length > 0,
    );
    assert.equal(new Set(spans.map(({ spanId }) => spanId)).size, exported);
    assert.equal(metrics.find(({ name }) => name === METRICS.droppedSpans.name)?.points[0]?.value, dropped);
  });

  test("spans are exported while the process works, not only at its end", async () => {
    await using receiver = await OtlpReceiver.start();
    const otlp = await openTo(receiver.url, { OTEL_BSP_SCHEDULE_DELAY: "10" });
    makeSpans(otlp, 3);
    await receiver.until(({ spans }) => spans.length === 3);
    assert.equal(await otlp.close(5000), undefined);
  });

  test("the share of spans that the sampler says is exported, and none with always_off", async () => {
    await using receiver = await OtlpReceiver.start();
    const ratio = { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.25" };
    const some = await openTo(receiver.url, ratio);
    const none = await openTo(receiver.url, { OTEL_TRACES_SAMPLER: "parentbased_always_off" });
    for (const otlp of [some, none]) {
      makeSpans(otlp, 1000);
      assert.equal(await otlp.close(5000), undefined);
    }
    assert.equal(none.spans.ended, 0);
    assert.ok(some.spans.exported > 150 && some.spans.exported < 350, `${some.spans.exported} of 1000`);
  });
});

test("F2: every sampler decides for the root of a tree what its spans are told", async () => {
  const { ROOT_CONTEXT, trace } = await import("@opentelemetry/api");
  for (const name of ["always_on", "always_off", "traceidratio"].flatMap((each) => [each, `parentbased_${each}`])) {
    const variables = { OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: "0.5", OTEL_METRICS_EXPORTER: "none" };
    const otlp = await openTo("http://127.0.0.1:1", variables);
    const tracer = otlp.tracerProvider?.getTracer("test");
    for (let index = 0; index < 60; index++) {
      const [traceId, callerSaid] = [traceIdOf(`run ${index}`), [undefined, true, false][index % 3]];
      const caller = { traceId, spanId: "2".repeat(16), traceFlags: callerSaid === true ? 1 : 0, isRemote: true };
      const under = callerSaid === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, caller);
      const span = withIds({ traceId, spanId: "3".repeat(16) }, () => tracer?.startSpan("invoke_agent", {}, under));
      assert.equal(otlp.isSampled?.(traceId, callerSaid), span?.spanContext().traceFlags === 1, name);
    }
    await otlp.close(0);
  }
});

suite("F2: a collector that fails is one sentence, and closing ends", { concurrency: true }, () => {
  async function closed(url: string, patienceMs = 250): Promise<string | undefined> {
    // What is still tried again when a test is over ends soon.
    const otlp = await openTo(url, { OTEL_EXPORTER_OTLP_TIMEOUT: String(patienceMs + 50) });
    makeSpans(otlp, 2);
    otlp.meter?.count("cost", 1, ["a"]);
    const sentence = await otlp.close(patienceMs);
    assert.equal(otlp.spans.exported, 0);
    return sentence;
  }

  const both = /^2 of 2 spans and the last metrics were not exported \(/;

  // The exporter tries 429 again, and how long depends on its timeout.
  const answers = { 500: /HTTP 500 Internal Server Error/, 429: /retryable|in time/, hang: /in time|timed out/ };
  for (const [answer, reason] of Object.entries(answers)) {
    test(`a collector that answers ${answer} is one sentence`, async () => {
      await using receiver = await OtlpReceiver.start(answer);
      // A failure that is final is heard as soon as it comes, also on a busy machine.
      const sentence = await closed(receiver.url, answer === "500" ? 30_000 : undefined);
      assert.match(sentence ?? "", both);
      assert.match(sentence ?? "", reason);
      assert.ok(sentence?.includes(`(${receiver.url}: `), sentence);
    });
  }

  test("a collector where nothing listens is one sentence", async () => {
    assert.match((await closed(`http://127.0.0.1:${await closedPort()}`)) ?? "", both);
  });

  test("a collector on a host that does not exist is one sentence", async () => {
    assert.match((await closed("http://collector.invalid:4318")) ?? "", both);
  });

  test("a collector that does not speak TLS is one sentence, without the name and the key of its address", async () => {
    await using receiver = await OtlpReceiver.start();
    const sentence = await closed(`https://127.0.0.1:${receiver.port}/path-with-a-key`);
    assert.match(sentence ?? "", both);
    assert.doesNotMatch(sentence ?? "", /path-with-a-key/);
  });
});

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" ? (address?.port ?? 0) : 0;
}
