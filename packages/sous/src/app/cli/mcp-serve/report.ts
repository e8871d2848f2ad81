/** The report of a run for the program that called the agent: a text, and the same as an object with a schema. */

import type { ServedReport } from "../../../bridges/mcp/serve-calls.ts";
import type { RunResult } from "../../../core/runtime.ts";
import { MAX_RESULT_BYTES, truncateMiddle } from "../../../core/truncate.ts";
import { lacksApproval, RUN_STATUSES, STOP_REASONS } from "../../../core/words/outcomes.ts";
import { withoutSecretsIn } from "../files/without-secrets.ts";
import { type EndingFacts, endingSentence } from "../run/ending.ts";
import { resultJson } from "../stored/run-json.ts";

/** Some clients show their model only the object, and of an error only the text: each has the whole report. */
export function reportOf(given: RunResult, facts: EndingFacts): ServedReport {
  const result = withoutSecretsIn(given);
  const answer = result.output === undefined ? result.text : JSON.stringify(result.output, undefined, 2);
  const cut = truncateMiddle(answer, MAX_RESULT_BYTES);
  const ending = endingWords(result, facts);
  return {
    text: [cut.text.trimEnd(), ending].filter((part) => part !== "").join("\n\n"),
    data: dataOf(result, truncateMiddle(result.text, MAX_RESULT_BYTES).text, cut.truncated),
    isError: result.status !== "completed",
  };
}

/** Empty for a run that completed. */
function endingWords(result: RunResult, facts: EndingFacts): string {
  const sentence = endingSentence(result, facts);
  if (sentence === undefined) return "";
  const how = lacksApproval(result) ? ` ${HOW_TO_ALLOW}` : "";
  return `${sentence}${how}${result.runId === "" ? "" : `\nrun ${result.runId}: ${result.status}`}`;
}

const HOW_TO_ALLOW = "These are options of sous mcp serve; permissions in your configuration allow it for good.";

/** The words of `sous run --json`, without what can be long. */
function dataOf(result: RunResult, text: string, isCut: boolean): Record<string, unknown> {
  const { status, output, stop_reason, run_id, turns, usage, cost_usd, duration_ms, error } = resultJson(result);
  return {
    status,
    result: text,
    output,
    stop_reason,
    run_id,
    turns,
    tool_count: result.agents.reduce((sum, { toolCount }) => sum + toolCount, 0),
    children: Math.max(0, result.agents.length - 1),
    usage,
    cost_usd,
    duration_ms,
    truncated: isCut,
    denied: result.denied.slice(0, MAX_DENIED).map(({ path, toolName }) => ({ path, tool_name: toolName })),
    error,
  };
}

const MAX_DENIED = 20;

const REASONS = Object.values(STOP_REASONS).map(({ about }) => about);

const TEXT_OR_NULL = { type: ["string", "null"] };
const COUNT = { type: "integer", minimum: 0 };

/** JSON Schema of the object. */
export const REPORT_SCHEMA: Readonly<Record<string, unknown>> = {
  type: "object",
  properties: {
    status: {
      type: "string",
      enum: RUN_STATUSES,
      description: "How the run ended; everything but completed is an error.",
    },
    result: { type: "string", description: "The report." },
    output: { description: "The answer of an agent that has an output schema; null for others." },
    stop_reason: { ...TEXT_OR_NULL, description: `Why it is incomplete: ${REASONS.join(", or ")}.` },
    run_id: { ...TEXT_OR_NULL, description: "Of the stored run, for sous replay and sous resume." },
    turns: { ...COUNT, description: "Turns of the agent itself." },
    tool_count: { ...COUNT, description: "Tool calls of the agent and all its children." },
    children: { ...COUNT, description: "Runs below it." },
    usage: { type: "object", description: "Tokens of the whole tree." },
    cost_usd: { type: ["number", "null"], description: "Of the whole tree; null when a price is unknown." },
    duration_ms: COUNT,
    truncated: { type: "boolean", description: "The report was longer and is cut in its middle." },
    denied: {
      type: "array",
      items: {
        type: "object",
        properties: { path: { type: "string" }, tool_name: { type: "string" } },
        required: ["path", "tool_name"],
      },
      description: "Actions that no rule allowed.",
    },
    error: {
      type: ["object", "null"],
      properties: { type: { type: "string" }, message: { type: "string" } },
      required: ["type", "message"],
    },
  },
  required: ["status", "result", "run_id", "turns", "tool_count", "children", "usage", "cost_usd", "truncated"],
};
