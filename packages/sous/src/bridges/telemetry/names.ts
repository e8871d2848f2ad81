/**
 * Every name that traces and metrics use. Names that begin with `gen_ai.` follow the semantic conventions for generative AI
 * (github.com/open-telemetry/semantic-conventions-genai, the commit below); those of the npm package are all deprecated.
 */

import { providerOf } from "../../core/model.ts";

/** The commit of semantic-conventions-genai that the names were read from. */
export const CONVENTIONS_COMMIT = "004902b8cb70aa5ae6ca4ae07132b7daabcd3e10";

export type MetricKind = "counter" | "gauge" | "histogram";

/** One metric: its name over OTLP, and what Prometheus makes of it follows from it by `prometheusName`. */
export type Metric = {
  readonly name: string;
  readonly kind: MetricKind;
  readonly unit?: string;
  /** The description for people. */
  readonly about: string;
  /** The labels in this order. Each has a closed or a bounded set of values. */
  readonly labels: readonly string[];
  /** Upper bounds of a histogram. */
  readonly buckets?: readonly number[] | undefined;
  /** The places it can be read from: a live process, a database, or both. */
  readonly from: "live" | "stored" | "both";
};

const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92] as const;
const RUN_SECONDS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600] as const;
const TOKENS = [
  1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
] as const;
const TURNS = [1, 2, 3, 5, 8, 13, 21, 34, 55, 100, 200] as const;

/** `executions` counts a run when it starts, the others when it ends. The root counts too, with depth 0. */
export const METRICS = {
  executions: {
    name: "subagent_executions_total",
    kind: "counter",
    about: "Runs that have started.",
    labels: ["depth"],
    from: "both",
  },
  active: {
    name: "subagent_active_count",
    kind: "gauge",
    about: "Runs that are at work now.",
    labels: ["depth"],
    from: "both",
  },
  unended: {
    name: "sous_unended_runs",
    kind: "gauge",
    about: "Runs without an end: queued until a worker takes them, running, waiting for an answer, or interrupted.",
    labels: ["status"],
    from: "stored",
  },
  workers: {
    name: "sous_workers",
    kind: "gauge",
    about: "Workers of the database that are alive, and those that died within the last hour.",
    labels: ["state"],
    from: "stored",
  },
  takings: {
    name: "sous_takings_total",
    kind: "counter",
    about:
      "Placed runs that this worker has taken: for the first time, or from a worker that was lost or gave them back.",
    labels: ["attempt"],
    from: "live",
  },
  duration: {
    name: "subagent_duration_seconds",
    kind: "histogram",
    unit: "s",
    about: "How long runs were at work.",
    labels: ["depth", "status"],
    buckets: RUN_SECONDS,
    from: "both",
  },
  turns: {
    name: "subagent_turns_used",
    kind: "histogram",
    about: "Turns of ended runs.",
    labels: ["depth"],
    buckets: TURNS,
    from: "both",
  },
  tokens: {
    name: "subagent_tokens_consumed",
    kind: "histogram",
    about: "Tokens of ended runs, each without those below it.",
    labels: ["depth"],
    buckets: TOKENS,
    from: "both",
  },
  completions: {
    name: "subagent_completions_total",
    kind: "counter",
    about: "Runs that have ended.",
    labels: ["depth", "status"],
    from: "both",
  },
  errors: {
    name: "subagent_errors_total",
    kind: "counter",
    about: "Runs without a usable result, and children that were refused.",
    labels: ["depth", "error_type"],
    from: "both",
  },
  invocations: {
    name: "subagent_invocations_total",
    kind: "counter",
    about: "Runs that have ended, by the name of their definition.",
    labels: ["agent", "outcome"],
    from: "both",
  },
  cost: {
    name: "sous_cost_usd_total",
    kind: "counter",
    about: "US dollars that ended runs have cost, where the price is known.",
    labels: ["agent"],
    from: "both",
  },
  unpriced: {
    name: "sous_unpriced_runs_total",
    kind: "counter",
    about: "Ended runs whose cost is not known.",
    labels: ["agent"],
    from: "both",
  },
  modelTokens: {
    name: "sous_tokens_total",
    kind: "counter",
    about: "Tokens of ended runs, by model. Those of cache_read and cache_write are part of input.",
    labels: ["model", "type"],
    from: "both",
  },
  budgetRemaining: {
    name: "sous_budget_remaining_ratio",
    kind: "gauge",
    about:
      "The part of the budget that is left, of the live tree with the least. Trees that began elsewhere are not counted.",
    labels: ["limit"],
    from: "live",
  },
  stalled: {
    name: "sous_stalled_runs",
    kind: "gauge",
    about: "Runs in which nothing has happened for a while.",
    labels: [],
    from: "live",
  },
  rateWait: {
    name: "sous_rate_limit_wait_seconds_total",
    kind: "counter",
    unit: "s",
    about: "Seconds for which runs were told to wait for the rate limit of their provider.",
    labels: ["model"],
    from: "live",
  },
  droppedSpans: {
    name: "sous_dropped_spans_total",
    kind: "counter",
    about: "Spans that were not exported: too many waited, or the collector did not take them.",
    labels: [],
    from: "live",
  },
  tokenUsage: {
    name: "gen_ai.client.token.usage",
    kind: "histogram",
    unit: "{token}",
    about: "Tokens of one answer of a model.",
    labels: ["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.token.type"],
    buckets: TOKENS,
    from: "live",
  },
  operationDuration: {
    name: "gen_ai.client.operation.duration",
    kind: "histogram",
    unit: "s",
    about: "How long a model took to answer.",
    labels: ["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "error.type"],
    buckets: SECONDS,
    from: "live",
  },
  firstChunk: {
    name: "gen_ai.client.operation.time_to_first_chunk",
    kind: "histogram",
    unit: "s",
    about: "How long a model took to begin its text or reasoning. An answer of tool calls alone is not counted.",
    labels: ["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"],
    buckets: SECONDS,
    from: "live",
  },
} as const satisfies Readonly<Record<string, Metric>>;

export type MetricName = keyof typeof METRICS;

/** `gen_ai.provider.name`, by what is in front of the slash in the name of a model. All others keep their own word. */
const PROVIDERS: Readonly<Record<string, string>> = {
  azure: "azure.ai.openai",
  "azure-openai": "azure.ai.openai",
  bedrock: "aws.bedrock",
  "amazon-bedrock": "aws.bedrock",
  gemini: "gcp.gemini",
  google: "gcp.gemini",
  "google-vertex": "gcp.vertex_ai",
  mistral: "mistral_ai",
  moonshot: "moonshot_ai",
  moonshotai: "moonshot_ai",
  "openai-chat": "openai",
  vertex: "gcp.vertex_ai",
  watsonx: "ibm.watsonx.ai",
  xai: "x_ai",
};

/** The provider of a model that is an object of the caller, when its name has none. */
const UNNAMED_PROVIDER = "custom";

/** `google/gemini-3-pro` → `gcp.gemini`; `external/claude` → `external`. */
export function providerName(model: string): string {
  const provider = providerOf(model);
  if (provider === model) return UNNAMED_PROVIDER;
  return Object.hasOwn(PROVIDERS, provider) ? (PROVIDERS[provider] ?? provider) : provider;
}

/** `gen_ai.request.model`: the name that the provider itself knows. */
export function requestModel(model: string): string {
  return model.slice(model.indexOf("/") + 1);
}

/** Names a metric as OpenTelemetry does for Prometheus: letters, digits and `_`, with the unit behind it. */
export function prometheusName({ name, unit }: Pick<Metric, "name" | "unit">): string {
  const plain = name.replace(/[^A-Za-z0-9_]/g, "_");
  return unit === "s" && !/_seconds(?:_total)?$/.test(plain) ? `${plain}_seconds` : plain;
}
