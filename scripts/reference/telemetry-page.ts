/** The page of traces and metrics: every span, attribute, span event, metric and label, from the tables of the code. */

import {
  CONVENTIONS_COMMIT,
  METRICS,
  type Metric,
  prometheusName,
} from "../../packages/sous/src/bridges/telemetry/names.ts";
import {
  ATTRIBUTES,
  type AttributeEntry,
  LINK_ATTRIBUTE,
  LINKS,
  SPAN_EVENTS,
  SPANS,
} from "../../packages/sous/src/bridges/telemetry/span-names.ts";
import { ERROR_TYPES } from "../../packages/sous/src/core/errors.ts";
import { kindSchemas } from "../../packages/sous/src/storage/store/kind-schemas.ts";
import { page, table, wrap } from "./markdown.ts";

const INTRO = `Names that begin with \`gen_ai.\` follow the semantic conventions for generative AI of OpenTelemetry, commit
\`${CONVENTIONS_COMMIT}\` of open-telemetry/semantic-conventions-genai. The rest is sous' own.`;

export function telemetryPage(): string {
  return page("Reference: traces and metrics", INTRO.replaceAll("\n", " "), [
    "## Spans",
    wrap(
      "A child lies under the tool call that started it, without a call under its parent's run. A span is exported when it ends: the process that ends a run exports its span, and what a crash left open is exported by the process that continues the tree. Ids of spans follow from the ids of runs, so such a tree is one trace.",
    ),
    table(
      ["Span", "What it is"],
      Object.values(SPANS).map(({ title, about }) => [title, about]),
    ),
    "## Attributes of spans",
    wrap(
      "Entries of baggage are attributes of every span too, at most 16. Texts of people, models and tools are off; `telemetry.capture_content` or `captureContent` adds them, without known secrets and cut to 8 KB each.",
    ),
    table(
      ["Attribute", "On", "Meaning"],
      Object.entries(ATTRIBUTES).map(([name, entry]: [string, AttributeEntry]) => [
        `\`${name}\``,
        entry.on.length === Object.keys(SPANS).length ? "all" : entry.on.map((each) => `\`${each}\``).join(", "),
        `${entry.about}${entry.isContent === true ? " Content." : ""}`,
      ]),
    ),
    "## Error types",
    wrap(
      `\`error.type\` and the label \`error_type\` are one of ${words(ERROR_TYPES)}. Of a turn, \`error.type\` may also be how its model failed: ${words(kindSchemas().modelErrorKind.options)}.`,
    ),
    "## Span events",
    table(
      ["Event", "Meaning", "Attributes"],
      Object.entries(SPAN_EVENTS).map(([name, { about, attributes }]) => [
        `\`${name}\``,
        about,
        attributes.map((each) => `\`${each}\``).join(", "),
      ]),
    ),
    "## Links",
    wrap(`The attribute \`${LINK_ATTRIBUTE}\` of a link says why it is there.`),
    table(
      ["Link", "Leads"],
      Object.entries(LINKS).map(([name, about]) => [`\`${name}\``, about]),
    ),
    "## Metrics",
    wrap(
      "The names are those of Prometheus. Over OTLP a name with dots keeps them, and its unit is a field. Labels have few values: names of agents and models are at most 100, the rest is `other`. A process knows all of them; `sous metrics` has those that the database can tell.",
    ),
    table(
      ["Metric", "Kind", "Labels", "Meaning", "In the database"],
      Object.values(METRICS).map((metric: Metric) => [
        `\`${prometheusName(metric)}\``,
        metric.kind,
        metric.labels.map((each) => `\`${each.replaceAll(".", "_")}\``).join(", "),
        `${metric.about}${bucketsOf(metric)}`,
        { both: "yes", stored: "only there", live: "" }[metric.from],
      ]),
    ),
  ]);
}

function words(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(", ");
}

/** The same buckets are listed once. */
function bucketsOf(metric: Metric): string {
  const { buckets } = metric;
  if (buckets === undefined) return "";
  const first = Object.values(METRICS).find((other: Metric) => other.buckets?.join() === buckets.join()) ?? metric;
  return first === metric ? ` Buckets: ${buckets.join(", ")}.` : ` Buckets: those of \`${prometheusName(first)}\`.`;
}
