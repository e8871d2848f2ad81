/** Variables of OpenTelemetry that are read, and what becomes of each of their values. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import {
  OTEL_VARIABLES,
  type OtlpSettings,
  readOtlpSettings,
} from "../../../../src/bridges/telemetry/otlp-settings.ts";

const AT = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };

function read(variables: Record<string, string>, endpoint?: string): { found?: OtlpSettings; warnings: string[] } {
  const warnings: string[] = [];
  const found = readOtlpSettings({ endpoint, variables, warn: (sentence) => void warnings.push(sentence) });
  return { ...(found && { found }), warnings };
}

const traces = (url: string, protocol = "http/protobuf") => ({ protocol, url, timeoutMs: 10_000 });

suite("F2: where traces and metrics go", () => {
  test("F2: traces and metrics go nowhere without an address, whatever else is set", () => {
    const variables = { OTEL_TRACES_EXPORTER: "otlp", OTEL_SERVICE_NAME: "x", OTEL_EXPORTER_OTLP_ENDPOINT: "" };
    assert.deepEqual(read(variables), { warnings: [] });
  });

  test("F2: traces and metrics go nowhere when OpenTelemetry is disabled", () => {
    assert.deepEqual(read({ ...AT, OTEL_SDK_DISABLED: "TRUE" }, "http://own.example"), { warnings: [] });
  });

  test("traces and metrics have the defaults of the specification", () => {
    assert.deepEqual(read(AT), {
      found: {
        traces: traces("http://127.0.0.1:4318/v1/traces"),
        metrics: traces("http://127.0.0.1:4318/v1/metrics"),
        sampler: { name: "parentbased_always_on", ratio: 1 },
        batch: { delayMs: 5000, timeoutMs: 30_000, maxWaiting: 2048, maxAtOnce: 512 },
        metricMs: { interval: 60_000, timeout: 30_000 },
      },
      warnings: [],
    });
  });

  test("the setting of sous goes before any variable, and its own path is kept", () => {
    const variables = { ...AT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://other.example/x" };
    const { found } = read(variables, "https://own.example/otel/");
    assert.deepEqual(
      [found?.traces?.url, found?.metrics?.url],
      ["https://own.example/otel/v1/traces", "https://own.example/otel/v1/metrics"],
    );
  });

  test("F2: traces and metrics go below the path of the address, before its query", () => {
    const { found } = read({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://a.example/otel?key=1#part" });
    assert.equal(found?.traces?.url, "http://a.example/otel/v1/traces?key=1");
  });

  test("the time that one signal may take goes before that of both", () => {
    const { found } = read({ ...AT, OTEL_EXPORTER_OTLP_TIMEOUT: "7", OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: "8" });
    assert.deepEqual([found?.traces?.timeoutMs, found?.metrics?.timeoutMs], [8, 7]);
  });

  test("the address of one signal is used as it is written, and the other signal stays off", () => {
    const { found } = read({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://127.0.0.1:9/spans" });
    assert.deepEqual([found?.traces?.url, found?.metrics], ["http://127.0.0.1:9/spans", undefined]);
  });

  test("F2: each signal goes by its own protocol", () => {
    const { found } = read({
      ...AT,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: "http/protobuf",
    });
    assert.deepEqual([found?.traces?.protocol, found?.metrics?.protocol], ["http/json", "http/protobuf"]);
  });

  test("nothing is sent when neither signal is wanted", () => {
    assert.deepEqual(read({ ...AT, OTEL_TRACES_EXPORTER: "none", OTEL_METRICS_EXPORTER: "none" }), { warnings: [] });
  });

  test("spans are sent in the batches and times that are given", () => {
    const { found } = read({
      ...AT,
      OTEL_BSP_SCHEDULE_DELAY: "10",
      OTEL_BSP_EXPORT_TIMEOUT: "20",
      OTEL_BSP_MAX_QUEUE_SIZE: "30",
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "40",
      OTEL_METRIC_EXPORT_INTERVAL: "50",
    });
    assert.deepEqual(found?.batch, { delayMs: 10, timeoutMs: 20, maxWaiting: 30, maxAtOnce: 30 });
    assert.deepEqual(found?.metricMs, { interval: 50, timeout: 50 });
  });

  for (const name of ["always_on", "always_off", "traceidratio"].flatMap((each) => [each, `parentbased_${each}`])) {
    test(`F2: spans are sampled with the sampler ${name}`, () => {
      const { found, warnings } = read({ ...AT, OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: "0.25" });
      assert.deepEqual([found?.sampler, warnings], [{ name, ratio: 0.25 }, []]);
    });
  }
});

suite("F2: a value that sous cannot use is named once, and the run continues", () => {
  const cases: [variables: Record<string, string>, warnings: RegExp[]][] = [
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "127.0.0.1:4318" }, [/ENDPOINT .* no traces and no metrics are sent$/]],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://" }, [/ENDPOINT .* no traces and no metrics are sent$/]],
    [{ ...AT, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }, [/PROTOCOL .* no traces and no metrics are sent$/]],
    // Node warns by itself of a timer that is too long.
    [
      { ...AT, OTEL_EXPORTER_OTLP_TIMEOUT: "3000000000" },
      [/^OTEL_EXPORTER_OTLP_TIMEOUT is not a .* so 10000 is used$/],
    ],
    [{ ...AT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "grpc://a" }, [/^OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is not an/]],
    [{ ...AT, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "grpc" }, [/^OTEL_EXPORTER_OTLP_TRACES_PROTOCOL is not http\/p/]],
    [{ ...AT, OTEL_TRACES_EXPORTER: "zipkin" }, [/^OTEL_TRACES_EXPORTER names an exporter .*; otlp and none/]],
    [{ ...AT, OTEL_METRICS_EXPORTER: "prometheus" }, [/^OTEL_METRICS_EXPORTER .*; use --metrics-port/]],
    [{ ...AT, OTEL_TRACES_SAMPLER: "sometimes" }, [/^OTEL_TRACES_SAMPLER is none of .*, so parentbased_always_on/]],
    [{ ...AT, OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "2" }, [/between 0 and 1, so 1 is used/]],
    [{ ...AT, OTEL_BSP_MAX_QUEUE_SIZE: "many" }, [/^OTEL_BSP_MAX_QUEUE_SIZE is not a whole number .* so 2048 is/]],
  ];
  for (const [variables, expected] of cases) {
    test(`${Object.entries(variables).at(-1)?.join("=")} is named in a warning`, () => {
      const { warnings } = read(variables);
      assert.equal(warnings.length, expected.length, warnings.join("\n"));
      for (const [index, pattern] of expected.entries()) assert.match(warnings[index] ?? "", pattern);
    });
  }
});

test("F2: every variable that is read is in the reference", () => {
  const asked = new Set<string>();
  const variables = new Proxy<Record<string, string>>(AT, {
    get(target, name: string) {
      asked.add(name.replace(/_(?:TRACES|METRICS)_(?=ENDPOINT|PROTOCOL|TIMEOUT)/, "_"));
      return target[name];
    },
  });
  readOtlpSettings({ endpoint: undefined, variables, warn: () => {} });
  assert.deepEqual(
    [...asked].filter((name) => OTEL_VARIABLES[name] === undefined),
    [],
  );
});
