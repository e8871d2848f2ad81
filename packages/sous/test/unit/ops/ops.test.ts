/** The dashboard, the alerts and the Compose file of `ops/` fit the code: every metric, label and word in them exists. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { parse } from "yaml";
import { METRICS, type Metric, prometheusName } from "../../../src/bridges/telemetry/names.ts";
import { ERROR_TYPES } from "../../../src/core/errors.ts";
import { completionStatus } from "../../../src/core/outcome.ts";
import { RUN_STATUSES } from "../../../src/core/words/outcomes.ts";
import { rootFolder } from "../../support/source-files.ts";
import { type Query, readQuery } from "./prom-query.ts";

const OPS = join(rootFolder, "ops");
const METRIC_LIST: readonly Metric[] = Object.values(METRICS);

type Target = { expr: string; legendFormat: string; refId: string };
type Panel = { id: number; type: string; title: string; gridPos: Box; targets?: Target[] };
type Box = { x: number; y: number; w: number; h: number };
type Rule = { alert: string; expr: string; annotations: Record<string, string> };

const dashboard: { panels: Panel[] } = JSON.parse(read("grafana/sous.json"));
const rules = (parse(read("prometheus/rules.yml")) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
);
const prometheus = parse(read("prometheus/prometheus.yml"));
const compose: { services: Record<string, { image: string; ports?: string[]; command?: string[] }> } = parse(
  read("compose.yaml"),
);
const panels = dashboard.panels.filter(({ type }) => type !== "row");
const targets = panels.flatMap(({ title, targets: all = [] }) => all.map((target) => ({ title, ...target })));
const queries = [
  ...targets.map(({ title, expr, refId }) => ({ where: `panel ${title}, query ${refId}`, expr })),
  ...rules.map(({ alert, expr }) => ({ where: `alert ${alert}`, expr })),
];

/** Every name under which a metric has values, with its labels. */
const SAMPLES = new Map<string, { metric: Metric; labels: readonly string[] }>(
  METRIC_LIST.flatMap((metric) => {
    const name = prometheusName(metric);
    const labels = metric.labels.map((label) => label.replaceAll(".", "_"));
    if (metric.kind !== "histogram") return [[name, { metric, labels }]];
    return [
      [`${name}_bucket`, { metric, labels: [...labels, "le"] }],
      [`${name}_sum`, { metric, labels }],
      [`${name}_count`, { metric, labels }],
    ];
  }),
);

const shownStatuses = RUN_STATUSES.map(completionStatus);

/** Labels whose values are a closed set. */
const VALUES: Record<string, readonly string[]> = {
  status: shownStatuses,
  outcome: shownStatuses,
  error_type: ERROR_TYPES,
  type: ["input", "output", "cache_read", "cache_write"],
  gen_ai_token_type: ["input", "output"],
  limit: ["tokens", "cost"],
  job: prometheus.scrape_configs.map(({ job_name }: { job_name: string }) => job_name),
};

suite("F4: the dashboard and the alerts", () => {
  test("F4: the dashboard and the alerts name only metrics, labels and values that the code has", () => {
    assert.deepEqual(
      queries.flatMap(({ where, expr }) => problemsOf(expr).map((problem) => `${where}: ${problem}`)),
      [],
    );
  });

  test("the dashboard and the alerts use every metric of the code", () => {
    const used = new Set(queries.flatMap(({ expr }) => readQuery(expr).selectors.map(({ metric }) => metric)));
    const unused = METRIC_LIST.filter((metric) =>
      [...SAMPLES].every(([name, of]) => of.metric !== metric || !used.has(name)),
    );
    assert.deepEqual(
      unused.map(({ name }) => name),
      [],
    );
  });

  test("the dashboard and the alerts show by name only labels that their queries group by", () => {
    const strange = targets.flatMap(({ title, expr, legendFormat }) => {
      const { groupedBy } = readQuery(expr);
      return [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)]
        .map(([, label = ""]) => label)
        .filter((label) => !groupedBy.includes(label))
        .map((label) => `${title}: ${label}`);
    });
    assert.deepEqual(strange, []);
  });

  test("F4: the dashboard and the alerts have an id for each panel, a query in it, and no panel above another", () => {
    const ids = dashboard.panels.map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
    assert.deepEqual(
      panels.filter(({ targets: all = [] }) => all.length === 0 || all.some(({ expr }) => expr.trim() === "")),
      [],
    );
    assert.deepEqual(
      dashboard.panels.filter(({ gridPos: { x, w } }) => x + w > 24),
      [],
    );
    const boxes = dashboard.panels.map(({ title, gridPos }) => ({ title, ...gridPos }));
    const pairs = boxes.flatMap((one, index) => boxes.slice(index + 1).map((other) => [one, other] as const));
    assert.deepEqual(
      pairs.filter(([one, other]) => overlap(one, other)).map(([one, other]) => [one.title, other.title]),
      [],
    );
  });

  test("F4: the alerts say in words what an alert means and where to look", () => {
    for (const { alert, annotations } of rules) {
      assert.deepEqual(Object.keys(annotations).sort(), ["description", "summary"], alert);
    }
    assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
  });

  test("F4: the alerts are tried by promtool: every alert is in its tests, raised and not", () => {
    const { tests } = parse(read("prometheus/rules-test.yml"));
    const tried = tests.flatMap(
      ({ alert_rule_test }: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }) =>
        alert_rule_test.map(({ alertname, exp_alerts }) => `${alertname} ${exp_alerts.length > 0}`),
    );
    for (const { alert } of rules) {
      for (const isRaised of [true, false]) assert.ok(tried.includes(`${alert} ${isRaised}`), `${alert} ${isRaised}`);
    }
  });
});

test("F4: each metric is read from one place: live processes give what the database cannot", () => {
  const [{ job_name, metric_relabel_configs }] = prometheus.scrape_configs.slice(-1);
  assert.equal(job_name, "sous-live");
  const kept = new RegExp(`^(?:${metric_relabel_configs[0].regex})$`);
  for (const [name, { metric }] of SAMPLES) assert.equal(kept.test(name), metric.from === "live", name);
});

suite("the Compose file", () => {
  test("the Compose file has the four services with pinned versions", () => {
    assert.deepEqual(Object.keys(compose.services).sort(), ["collector", "grafana", "jaeger", "prometheus"]);
    for (const { image } of Object.values(compose.services)) assert.match(image, /^[\w./-]+:v?\d+\.\d+\.\d+$/);
  });

  test("the Compose file listens on the loopback address only", () => {
    const ports = Object.values(compose.services).flatMap((service) => service.ports ?? []);
    assert.ok(ports.length > 0);
    for (const port of ports) assert.match(port, /^127\.0\.0\.1:\d+:\d+$/);
    assert.ok(compose.services.prometheus?.command?.includes("--web.listen-address=127.0.0.1:9090"));
    assert.match(read("compose.yaml"), /GF_SERVER_HTTP_ADDR: 127\.0\.0\.1\n/);
  });

  test("the Compose file mounts files that are there, and every YAML file can be read", () => {
    const mounts = [...read("compose.yaml").matchAll(/- (\.\/[^:]+):/g)].map(([, path = ""]) => path);
    assert.ok(mounts.length >= 4);
    const files = readdirSync(OPS, { recursive: true, encoding: "utf8" });
    for (const path of mounts) assert.ok(files.includes(path.slice(2)), path);
    for (const file of files.filter((name) => /\.ya?ml$/.test(name))) assert.ok(parse(read(file)), file);
  });

  test("the collector sends traces to Jaeger, and metrics where Prometheus reads them", () => {
    const { exporters, service } = parse(read("collector.yaml"));
    assert.deepEqual(service.pipelines.traces.exporters, ["otlp/jaeger"]);
    assert.equal(exporters["otlp/jaeger"].endpoint, "jaeger:4317");
    const page = exporters.prometheus.endpoint.split(":")[1];
    const targetsOf = prometheus.scrape_configs.flatMap(
      (job: { static_configs: { targets: string[] }[] }) => job.static_configs[0]?.targets,
    );
    assert.deepEqual(targetsOf, ["127.0.0.1:9464", `127.0.0.1:${page}`]);
  });
});

suite("F4: the page about metrics and alerts", () => {
  const page = readFileSync(join(rootFolder, "docs/how-to/metrics-and-alerts.md"), "utf8");

  test("F4: the page names every alert and no other", () => {
    const named = [...page.matchAll(/^\| `(Sous\w+)` \|/gm)].map(([, name]) => name);
    assert.deepEqual(named.sort(), rules.map(({ alert }) => alert).sort());
  });

  test("F4: the page has queries that the code answers", () => {
    const shown = [...page.matchAll(/^\| [^|]+\? \| `([^`]+)` \|$/gm)].map(([, expr = ""]) => expr);
    assert.ok(shown.length >= 5);
    assert.deepEqual(shown.flatMap(problemsOf), []);
  });

  test("F4: the page about traces starts the Jaeger of the Compose file", () => {
    const traces = readFileSync(join(rootFolder, "docs/how-to/see-traces.md"), "utf8");
    assert.ok(traces.includes(` ${compose.services.jaeger?.image} `));
  });
});

suite("the check refuses", () => {
  const refused: [what: string, expr: string, problem: string][] = [
    ["an unknown metric", "sum(sous_costs_total)", "no metric sous_costs_total"],
    ["a histogram without its suffix", "rate(subagent_turns_used[5m])", "no metric subagent_turns_used"],
    ["an unknown label", "sum by (model) (sous_cost_usd_total)", "no label model"],
    ["a label of another metric", 'sous_cost_usd_total{depth="0"}', "sous_cost_usd_total has no label depth"],
    ["an unknown value", 'subagent_errors_total{error_type=~"crash|stores"}', "error_type is never stores"],
    ["an empty query", "1", "no metric"],
  ];
  for (const [what, expr, problem] of refused)
    test(`a query with ${what} is refused`, () => assert.deepEqual(problemsOf(expr), [problem]));
});

function problemsOf(expr: string): string[] {
  const query = readQuery(expr);
  if (query.selectors.length === 0) return ["no metric"];
  return [...query.selectors.flatMap(selectorProblems), ...groupProblems(query)];
}

function selectorProblems({ metric, matchers }: Query["selectors"][number]): string[] {
  const labels = metric === "up" ? ["job"] : SAMPLES.get(metric)?.labels;
  if (labels === undefined) return [`no metric ${metric}`];
  return matchers.flatMap(({ label, values }) => {
    if (!labels.includes(label)) return [`${metric} has no label ${label}`];
    const known = VALUES[label];
    return values
      .filter((value) => known !== undefined && !known.includes(value))
      .map((value) => `${label} is never ${value}`);
  });
}

function groupProblems({ selectors, groupedBy }: Query): string[] {
  const metrics = selectors.flatMap(({ metric }) => SAMPLES.get(metric) ?? []);
  return groupedBy
    .filter((label) => !metrics.every(({ labels }) => labels.includes(label)))
    .map((label) => `no label ${label}`);
}

function overlap(one: Box, other: Box): boolean {
  return one.x < other.x + other.w && other.x < one.x + one.w && one.y < other.y + other.h && other.y < one.y + one.h;
}

function read(file: string): string {
  return readFileSync(join(OPS, file), "utf8");
}
