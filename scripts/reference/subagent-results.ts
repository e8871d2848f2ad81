/** The fields that each tool for children returns. A test compares them with real results. */

import { OUTCOMES, oneOf } from "../../packages/sous/src/core/words/outcomes.ts";
import type { NamedAgentResult } from "../../packages/sous/src/runtime/subagents/named-agent.ts";
import type { ParallelOutput, ParallelResult } from "../../packages/sous/src/runtime/subagents/parallel.ts";
import type {
  RefusalMetadata,
  ReportMetadata,
  StartedMetadata,
} from "../../packages/sous/src/runtime/subagents/report.ts";
import type { ResultField } from "./built-in-results.ts";

export type ToolResultFields = { readonly tool: string; readonly fields: readonly ResultField[] };

/** A type and a sentence for every field, so that the compiler finds one that is missing. */
type Described<Fields> = { readonly [Name in keyof Required<Fields>]: readonly [type: string, about: string] };

const USABLE = Object.values(OUTCOMES).filter(({ success }) => success);
const SUCCESS = `True for ${USABLE.map(({ reported }) => reported).join(" and ")}.`;

const REPORT_METADATA: Described<ReportMetadata> = {
  subagent_id: ["string", "The child, for subagent_send and subagent_report. The same over its follow-ups."],
  subagent_label: ["string", "The label it was given; the name of a named agent."],
  recursion_depth: ["integer", "Its own depth. A child of the root has 1."],
  turns_used: ["integer", "Its turns, without the turn for a summary."],
  tool_count: ["integer", "The tool calls it made."],
  tokens_consumed: ["integer", "Its own tokens, as in logs, metrics and the store."],
  tree_tokens: ["integer", "Its own tokens and those of everything below it."],
  prompt_tokens: ["integer", "The input tokens among its own."],
  completion_tokens: ["integer", "The output tokens among its own."],
  completion_status: ["string", `${oneOf(Object.values(OUTCOMES).map(({ reported }) => reported))}.`],
  max_turns_reached: ["boolean", "True when it ran out of turns."],
  truncated: ["boolean", "True when the text was cut; subagent_report reads the rest."],
  duration_ms: ["integer", "How long it ran, in whole milliseconds, without the time it waited for a person."],
};

const STARTED_METADATA: Described<StartedMetadata> = {
  subagent_id: REPORT_METADATA.subagent_id,
  subagent_label: REPORT_METADATA.subagent_label,
  recursion_depth: REPORT_METADATA.recursion_depth,
  path: ["string", "Its path in the tree, such as lead/scout. Of a child that is still at work."],
};

const REFUSAL_METADATA: Described<RefusalMetadata> = {
  error_type: [
    "string",
    "Only when the call was refused: `depth_limit`, `invalid_input`, `quota`, `consent` or `cancelled`.",
  ],
};

const PARALLEL_OUTPUT: Described<ParallelOutput> = {
  results: ["object[]", "One entry for each task, in the order of the tasks."],
  total_duration_ms: ["integer", "From the first start to the last end, in whole milliseconds."],
  successful: ["integer", "Tasks whose entry has success: true."],
  failed: ["integer", "All others. Both add up to the number of tasks."],
  max_concurrent: ["integer", "How many ran at once. Only when the call asked for more than the limit."],
  notice: ["string", "Says that max_concurrent was lowered. Only when it was."],
};

const PARALLEL_RESULT: Described<ParallelResult> = {
  label: ["string", "The label of the task."],
  success: ["boolean", SUCCESS],
  output: ["string", "The report, or what there was of it; cut as any report."],
  error: ["string", "Why it failed. Only when it did."],
  ...REPORT_METADATA,
  duration_ms: ["integer", "How long the child ran, in whole milliseconds; 0 when it did not start."],
};

const NAMED_RESULT: Described<NamedAgentResult> = {
  name: ["string", "The name of the agent."],
  finalResponse: ["string", "Its last message, whole."],
  totalTurns: ["integer", "Its turns, without the turn for a summary."],
  toolCount: ["integer", "The tool calls it made."],
  toolLogs: ["ToolLog[]", "What its tools did, in short words."],
  usage: ["Usage", "Its own tokens, without those of its children."],
  success: ["boolean", SUCCESS],
  durationMs: ["integer", "How long it ran, in whole milliseconds."],
  errorDetails: ["string", "Why it failed, with the words of a model that refused. Only when it did."],
  failedTool: ["string", "The tool that needed approval when no one was there. Only when it is known for certain."],
};

/** Of every tool. */
export const COMMON: readonly ResultField[] = [
  { name: "success", type: "boolean", about: "False for a failed child and for a call that was refused." },
  { name: "error", type: "string", about: "Why it failed. Only when it did." },
  ...fieldsOf("metadata", REFUSAL_METADATA),
];

/** Of every report. */
export const REPORT_METADATA_FIELDS: readonly ResultField[] = fieldsOf("metadata", REPORT_METADATA);

const REPORT_TEXT: ResultField = {
  name: "output",
  type: "string",
  about: "The report, with a notice when it is cut or incomplete, and a last line with the subagent_id.",
};

const REPORT: readonly ResultField[] = [
  ...COMMON,
  REPORT_TEXT,
  ...REPORT_METADATA_FIELDS,
  {
    name: "data",
    type: "ChildReport",
    about: "The report as a value, for code. Only in a tree, and not of a call that was refused.",
  },
];

/** The tools for children. Those of `tools/*` return text. */
export const TOOL_RESULTS: readonly ToolResultFields[] = [
  { tool: "subagent", fields: orStarted(REPORT) },
  {
    tool: "parallel_subagent",
    fields: [
      ...COMMON,
      { name: "output", type: "string", about: "data as JSON." },
      ...fieldsOf("data", PARALLEL_OUTPUT),
      ...fieldsOf("data.results[]", PARALLEL_RESULT),
    ],
  },
  { tool: "subagent_send", fields: orStarted(REPORT) },
  {
    tool: "subagent_report",
    fields: [
      ...COMMON,
      {
        name: "output",
        type: "string",
        about: "Up to 16384 bytes of the report from the offset on, and a notice with the next offset.",
      },
    ],
  },
  {
    tool: "subagent_wait",
    fields: [
      ...COMMON,
      { name: "output", type: "string", about: "The reports, each behind its label." },
      { name: "metadata.reported_runs", type: "string[]", about: "The runs whose reports these are." },
      { name: "data", type: "ChildReport[]", about: "The reports as values, for code." },
    ],
  },
  {
    tool: "subagent_cancel",
    fields: [...COMMON, { name: "output", type: "string", about: "The label of the child and its status." }],
  },
  {
    tool: "subagent_list",
    fields: [
      ...COMMON,
      { name: "output", type: "string", about: "A line for each child: id, label, status, turns." },
      { name: "data", type: "ChildStatus[]", about: "The same as values, for code." },
    ],
  },
  {
    tool: "subagent_<name>",
    fields: [...COMMON, REPORT_TEXT, ...REPORT_METADATA_FIELDS, ...fieldsOf("data", NAMED_RESULT)],
  },
  { tool: "subagent_spawn", fields: REPORT },
  { tool: "subagent_delegate", fields: REPORT },
];

function fieldsOf(
  at: string,
  described: Readonly<Record<string, readonly [type: string, about: string]>>,
): ResultField[] {
  return Object.entries(described).map(([name, [type, about]]) => ({ name: `${at}.${name}`, type, about }));
}

/** A child that runs in the background, or that is at work when a message reaches it, has not reported yet. */
function orStarted(fields: readonly ResultField[]): ResultField[] {
  const known = new Set(fields.map(({ name }) => name));
  return [...fields, ...fieldsOf("metadata", STARTED_METADATA).filter(({ name }) => !known.has(name))];
}
