/** The output of `--json` and `stream-json`, field by field: the reference is made from it, and a test compares it with real output. */

import { ERROR_TYPES } from "../../../core/errors.ts";
import { RECORD_STATUSES } from "../../../core/store.ts";
import { OUTCOMES, oneOf, STOP_REASON_WORDS } from "../../../core/words/outcomes.ts";
import { LISTED_STATUSES } from "./stored-entries.ts";

const ENDED_STATUSES = LISTED_STATUSES.filter((status) => status in OUTCOMES);

/** `name` is a path: `agents[].id`. */
export type JsonField = { readonly name: string; readonly type: string; readonly about: string };

/** The object of `--json`, which is also in the last line of `stream-json`. */
export const RESULT_JSON: readonly JsonField[] = [
  field("schema", "string", "`sous.result.v1`. A change that breaks readers gets another name."),
  field("status", "string", `${oneOf(ENDED_STATUSES, "`")}; see [exit codes](exit-codes.md).`),
  field("result", "string", "The answer. Partial unless the status is `completed`; empty when there is none."),
  field("output", "any | null", "The value, with `--output-schema`."),
  field("stop_reason", "string | null", `Why it is incomplete: ${oneOf(STOP_REASON_WORDS, "`")}.`),
  field("run_id", "string | null", "For `sous replay --id` and `sous resume`. Null when no run began."),
  field("turns", "number", "Turns of the root; those of the others are in `agents`."),
  ...usage("usage", "Tokens of the whole tree."),
  field("cost_usd", "number | null", "US dollars of the whole tree; null when the price of a model is not known."),
  field("duration_ms", "number", "From the start to the end."),
  field("agents", "object[]", "Every agent of the tree, the root first. Their `usage` adds up to that of the tree."),
  field("agents[].id", "string", "The id of the agent."),
  field("agents[].parent_id", "string | null", "The id of its parent; null for the root."),
  field("agents[].path", "string", "Where it is in the tree: `sous/scout`."),
  field("agents[].label", "string", "The name that its parent gave it."),
  field("agents[].depth", "number", "The root is 0."),
  field("agents[].status", "string", "As above, of this agent."),
  field("agents[].turns", "number", "Its own turns."),
  field("agents[].tool_count", "number", "Tool calls it made."),
  ...usage("agents[].usage", "Its own tokens, without its children."),
  field("agents[].cost_usd", "number | null", "Its own cost."),
  field("agents[].duration_ms", "number", "From its start to its end."),
  field("denied", "object[]", "Actions that needed approval and were refused, because no one could be asked."),
  field("denied[].path", "string", "The agent that wanted it."),
  field("denied[].tool_name", "string", "The tool."),
  field("denied[].input", "any", "What the tool would have got."),
  field("denied[].tool_reason", "string", "Only where the tool itself asked: why. No rule allows it."),
  field("questions", "object[]", "What waits for an answer: `sous resume --approve` and `--deny` give it."),
  field("questions[].id", "string", "What names it there."),
  field(
    "questions[].digest",
    "string",
    "Eight hexadecimal digits over all of it: a yes to a question of several lines names them.",
  ),
  field("questions[].path", "string", "The agent that asks."),
  field("questions[].tool_name", "string", "The tool."),
  field("questions[].input", "any", "What the tool would get."),
  field("questions[].action", "string", "All of it for a person: one line of up to 400 characters, or several."),
  field("error", "object | null", "Null when nothing failed."),
  field("error.type", "string", `One of ${listed(ERROR_TYPES)}.`),
  field("error.message", "string", "The sentence that is also on stderr."),
  field("lost", "string | null", "Why not everything was stored; such a run cannot be resumed."),
];

/** The fields of every line of `stream-json`. */
export const LINE_JSON: readonly JsonField[] = [
  field("n", "number", "1, 2, 3 … without gaps, in this stream."),
  field("ts", "string | null", "When it happened, RFC 3339."),
  field("run_id", "string | null", "The run; on `init` and `result` the root's. Null on a `result` without a run."),
  field("agent_id", "string | null", "The agent; the same over its follow-ups."),
  field("parent_id", "string | null", "The agent that started it; null for the root."),
  field("path", "string | null", "Where the agent is in the tree."),
  field("depth", "number", "The root is 0."),
  field("type", "string", "`init`, `result`, or the type of an event."),
];

/** The further fields of the first line. */
export const INIT_JSON: readonly JsonField[] = [
  field("schema", "string", "`sous.stream.v1`."),
  field("version", "string", "The version of sous."),
  field("model", "string | null", "The model of the root, `provider/model`."),
  field("cwd", "string", "The working folder."),
  field("tools", "string[]", "The tools of the root, without those for subagents."),
  field("agents", "string[]", "Named agents that can be called."),
];

/** The object of `sous stats --json`. `total` and every entry of the lists have the fields of `SUMS_JSON` besides. */
export const STATS_JSON: readonly JsonField[] = [
  field("schema", "string", "`sous.stats.v1`."),
  field("since", "string | null", "The time that `--since` stands for, RFC 3339. Null without it."),
  field("total", "object", "All runs."),
  field("damaged", "number", "Runs that cannot be read. They are in no sum; `sous doctor` names them."),
  field("agents", "object[]", "Each agent, the one that cost most first."),
  field("agents[].agent", "string", "The name of the definition; `subagent` for a child made up by a call."),
  field("models", "object[]", "Each model, in the same order."),
  field("models[].model", "string", "`provider/model`."),
  field("projects", "object[]", "Each folder in which trees were made, in the same order."),
  field("projects[].project", "string | null", "The folder; null when it is not known."),
  field("days", "object[]", "Each day with runs, in the order of the calendar."),
  field("days[].day", "string | null", "The day in UTC on which the runs started: `2026-11-15`."),
];

/** The sums over a number of runs. */
export const SUMS_JSON: readonly JsonField[] = [
  field("runs", "number", "Runs, children and those that have not ended included."),
  field("statuses", "object", `Runs by status: ${listed(RECORD_STATUSES)}.`),
  field(
    "error_types",
    "object",
    "Runs without a usable result, and children that were refused, by the words of `error.type` above.",
  ),
  field(
    "refusals",
    "object",
    "Children that were refused, by the same words. They are no runs, and have no agent or model.",
  ),
  field("turns", "number", "Turns of the runs."),
  ...usage("usage", "Their tokens, each run without its children."),
  field("cost_usd", "number", "US dollars of the runs whose cost is known."),
  field("unpriced_runs", "number", "Runs whose cost is not known."),
  field("duration_ms", "number", "How long the runs that have ended were at work, all together."),
];

/** The object of `sous run --detach --json`. */
export const DETACHED_JSON: readonly JsonField[] = [
  field("schema", "string", "`sous.detached.v1`."),
  field("status", "string", "`queued`: a worker has still to take it."),
  field("run_id", "string", "For `sous replay --id` and `sous cancel`."),
];

/** The object of `sous cancel --json`. */
export const CANCEL_JSON: readonly JsonField[] = [
  field("schema", "string", "`sous.cancel.v1`."),
  field("run_id", "string", "The run that was told to stop."),
  field("status", "string", "How it stood then: `queued`, `running`, `waiting` or `interrupted`."),
];

/** The fields of every line of `sous worker --json`. */
export const WORKER_LINE_JSON: readonly JsonField[] = [
  field("n", "number", "1, 2, 3 … without gaps."),
  field("ts", "string", "When it happened, RFC 3339."),
  field("type", "string", "`init`, `run` or `result`."),
];

/** The further fields of its lines, by their type. */
export const WORKER_JSON: Readonly<Record<"init" | "run" | "result", readonly JsonField[]>> = {
  init: [
    field("schema", "string", "`sous.worker.v1`."),
    field("name", "string", "The name of the worker."),
    field("database", "string", "The file, or the address without its password."),
    field("folder", "string", "It takes only runs that were made in this folder."),
    field("places", "number", "The number of runs that it works on at most at once."),
    field("agents", "string[]", "It takes only runs of these."),
  ],
  run: [
    field("run_id", "string", "The run."),
    field("root_id", "string | null", "The root of its tree. Null, like the next three, when the run cannot be read."),
    field("path", "string | null", "Where it is in the tree."),
    field("agent", "string | null", "The name of its definition."),
    field("depth", "number | null", "The root is 0."),
    field(
      "state",
      "string",
      "`taken`; then `ended`, `parked` (it waits for an answer), `given_back` (this worker stops), `taken_over` (by another, because this one had been silent for too long) or `not_begun` (given back, for `error`).",
    ),
    field("status", "string | null", "How the run stands in the database."),
    field("error", "string | null", "Why it could not be begun here."),
  ],
  result: [
    ...["taken", "ended", "parked", "given_back", "taken_over", "not_begun"].map((state) =>
      field(state, "number", "How many lines with this `state` there were."),
    ),
    field("stopped_by", "string | null", "The signal."),
    field(
      "is_given_back",
      "boolean",
      "False when not everything was given back in time: others take it over a little later.",
    ),
  ],
};

/** The object that commands other than `sous run` print with `--json` when they fail. */
export const ERROR_JSON: readonly JsonField[] = [
  field("schema", "string", "`sous.error.v1`."),
  field("error", "object", "What went wrong."),
  field("error.message", "string", "The sentence that is also on stderr."),
  field("error.exit_code", "number", "What the command ends with; see [exit codes](exit-codes.md)."),
];

function usage(at: string, about: string): JsonField[] {
  return [
    field(at, "object", about),
    field(`${at}.input_tokens`, "number", "Tokens of prompts, cached ones included."),
    field(`${at}.output_tokens`, "number", "Tokens of answers."),
    field(`${at}.cached_input_tokens`, "number", "The part of the input that was read from a prompt cache."),
    field(`${at}.cache_write_tokens`, "number", "The part of the input that was written to a prompt cache."),
    field(`${at}.total_tokens`, "number", "Input and output."),
    field(`${at}.estimated`, "boolean", "True when a provider reported nothing, so that a part is estimated."),
  ];
}

function listed(words: readonly string[]): string {
  return words.map((word) => `\`${word}\``).join(", ");
}

function field(name: string, type: string, about: string): JsonField {
  return { name, type, about };
}
