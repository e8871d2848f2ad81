/** F4: the text that Prometheus reads: its grammar, its histograms, and bounded labels. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { MAX_LABEL_VALUES } from "../../../../src/bridges/telemetry/label-cap.ts";
import {
  METRICS,
  type Metric,
  type MetricName,
  prometheusName,
  providerName,
  requestModel,
} from "../../../../src/bridges/telemetry/names.ts";
import { createRegistry } from "../../../../src/bridges/telemetry/registry.ts";
import { readMetricText, samplesOf } from "../../../support/bridges/telemetry/metric-text.ts";

const NAMES = Object.keys(METRICS) as MetricName[];

/** A registry with one value in every metric. */
function filled() {
  const registry = createRegistry();
  registry.observe(() =>
    NAMES.filter((name) => METRICS[name].kind === "gauge").map((metric) => ({
      metric,
      value: 1,
      labels: METRICS[metric].labels.map(() => "x"),
    })),
  );
  for (const name of NAMES) {
    const labels = METRICS[name].labels.map(() => "x");
    if (METRICS[name].kind === "counter") registry.count(name, 1, labels);
    if (METRICS[name].kind === "histogram") registry.record(name, 3, labels);
  }
  return registry;
}

test("F4: every metric is rendered with its help, its type and its labels", () => {
  const text = filled().render();
  const { types, samples } = readMetricText(text);
  assert.deepEqual(
    [...types],
    NAMES.map((name) => [prometheusName(METRICS[name]), METRICS[name].kind]),
  );
  for (const name of NAMES) {
    const labels = METRICS[name].labels.map((label) => `${label.replaceAll(".", "_")}="x"`);
    const set = labels.length === 0 ? "" : `{${labels.join(",")}}`;
    const suffix = METRICS[name].kind === "histogram" ? "_count" : "";
    assert.equal(samples.get(`${prometheusName(METRICS[name])}${suffix}${set}`), 1, name);
  }
  assert.equal(createRegistry().render(), "");
});

test("F4: names follow the rules of Prometheus, with one exception that F3 gives", () => {
  for (const metric of Object.values<Metric>(METRICS)) {
    const name = prometheusName(metric);
    assert.match(name, /^[a-z][a-z0-9_]*$/);
    assert.equal(name.endsWith("_total"), metric.kind === "counter", name);
    if (name !== "subagent_active_count") assert.doesNotMatch(name, /_(count|sum|bucket)$/);
    if (metric.unit === "s") assert.match(name, metric.kind === "counter" ? /_seconds_total$/ : /_seconds$/);
    assert.match(metric.about, /^[A-Z].*\.$/);
  }
});

test("F4: buckets are cumulative, and a value on a bound belongs to it", () => {
  const registry = createRegistry();
  for (const value of [1, 2, 2.5, 200, 1000]) registry.record("turns", value, ["0"]);
  const { samples } = readMetricText(registry.render());
  const bucket = (bound: string) => samples.get(`subagent_turns_used_bucket{depth="0",le="${bound}"}`);
  assert.deepEqual(["1", "2", "3", "100", "200", "+Inf"].map(bucket), [1, 2, 3, 3, 4, 5]);
  assert.equal(samples.get('subagent_turns_used_sum{depth="0"}'), 1205.5);
  assert.equal(samples.get('subagent_turns_used_count{depth="0"}'), 5);
});

test("F4: an empty label is left out", () => {
  const registry = createRegistry();
  registry.record("operationDuration", 1, ["chat", "openai", "gpt", ""]);
  assert.doesNotMatch(registry.render(), /error_type/);
});

suite("F4: names that users choose", () => {
  test("F4: names that users choose cannot break the text: quotes, line ends, NUL, half characters, 10 KB", () => {
    const hostile = ['a"} 1\nevil 2', "back\\slash", "nul\0nul", "\ud800", "é🙂", "x".repeat(10_240), "\r\n"];
    const registry = createRegistry();
    for (const name of hostile) registry.count("invocations", 1, [name, "complete"]);
    const text = registry.render();
    const { samples } = readMetricText(text);
    assert.deepEqual(
      [...samples.keys()].filter((series) => !series.startsWith("subagent_invocations_total{")),
      [],
    );
    assert.equal(samples.size, hostile.length);
    assert.ok(text.length < 2000, `${text.length}`);
    assert.equal(Buffer.from(text).toString(), text);
  });

  test("F4: names that users choose are at most 100 of a kind, then `other`, and those that were known stay known", () => {
    const registry = createRegistry();
    for (let index = 0; index < 1000; index++) {
      registry.count("invocations", 1, [`agent-${index}`, "complete"]);
      registry.count("cost", 0.5, [`agent-${index}`]);
      registry.count("modelTokens", 1, [`provider-${index}/model`, "input"]);
      registry.record("firstChunk", 1, ["chat", `provider-${index}`, `model-${index}`]);
    }
    registry.count("invocations", 1, ["agent-7", "complete"]);
    const text = registry.render();
    assert.equal(Object.keys(samplesOf(text, "invocations")).length, MAX_LABEL_VALUES + 1);
    assert.equal(samplesOf(text, "invocations")['{agent="other",outcome="complete"}'], 900);
    assert.equal(samplesOf(text, "invocations")['{agent="agent-7",outcome="complete"}'], 2);
    assert.equal(samplesOf(text, "cost")['{agent="other"}'], 450);
    assert.equal(samplesOf(text, "modelTokens")['{model="other",type="input"}'], 900);
    assert.equal(text.split("\n").filter((line) => line.includes("first_chunk_seconds_count")).length, 101);
  });
});

test("F4: a reader of gauges that was disposed is no longer asked", () => {
  const registry = createRegistry();
  const reading = { metric: "stalled", value: 3, labels: [] } as const;
  const reader = registry.observe(() => [reading]);
  assert.deepEqual(samplesOf(registry.render(), "stalled"), { "": 3 });
  reader[Symbol.dispose]();
  assert.equal(registry.render(), "");
});

test("F2: providers have the names of the conventions, and others keep their own", () => {
  const names = [
    "google/x",
    "xai/x",
    "bedrock/x",
    "openai-chat/x",
    "openrouter/a/b",
    "external/claude",
    "mine",
    "toString/x",
  ];
  assert.deepEqual(names.map(providerName), [
    "gcp.gemini",
    "x_ai",
    "aws.bedrock",
    "openai",
    "openrouter",
    "external",
    "custom",
    "toString",
  ]);
  assert.deepEqual(["google/x", "openrouter/a/b", "mine"].map(requestModel), ["x", "a/b", "mine"]);
});
