/** The input of the tools for children, as types for callers; its schemas for `subagent` and `parallel_subagent`, and the request made of it. */

import * as z from "zod";
import type { AgentDefinition } from "../../core/agent.ts";
import type { StandardSchema } from "../../core/schema.ts";
import { type SpawnRequest, SUMMARY_PROMPT, type SummaryMode } from "../../core/spawn.ts";
import type { DelegationLimits } from "../../core/words/limits.ts";
import { whyUnknown } from "./check-spawn.ts";
import { describedSchema, notBlank, type SentenceSchema, sentenceSchema } from "./sentence-schema.ts";

/** The most turns a call may ask for; definitions and configuration reach further. */
const MAX_CALL_TURNS = 50;

const spawnShape = z.strictObject({
  label: notBlank.describe("A short name for this child, such as auth_review."),
  task_prompt: notBlank.describe("Everything the child must know: it sees nothing else."),
  summary_prompt: notBlank.optional(),
  allowed_tools: z
    .array(z.string())
    .optional()
    .describe("Exactly these of your tools; an empty list means none. Omit for all of them."),
  max_turns: z.int().min(1).max(MAX_CALL_TURNS).optional(),
  agent: notBlank.optional().describe("The name of a predefined agent to use."),
  model: notBlank.optional().describe("provider/model, of your provider."),
  system_prompt: notBlank.optional().describe("Instructions for the child instead of the default ones."),
  timeout_ms: z.int().min(1).optional().describe("Stop it after this many milliseconds."),
  output_schema: z.record(z.string(), z.unknown()).optional().describe("A JSON Schema its answer must match."),
  context: z
    .enum(["none", "fork"])
    .optional()
    .describe("fork starts from your own conversation; none (the default) from the task alone."),
  background: z.boolean().optional().describe("Continue while it runs; its report arrives later."),
});

const parallelShape = z.strictObject({
  tasks: z
    .array(spawnShape.omit({ background: true }))
    .min(1)
    .describe("One entry per child."),
  max_concurrent: z.int().min(1).optional(),
  fail_fast: z.boolean().optional().describe("Stop the others as soon as one fails (default false)."),
});

/** The limits that descriptions name: those that hold in the tree of the model that reads them. */
export type InputLimits = Pick<DelegationLimits, "defaultMaxTurns" | "summary" | "maxConcurrent">;

/** The prompts for a report without a `summary_prompt`. */
const SUMMARIES: Readonly<Record<SummaryMode, string>> = {
  auto: ` (default for a long answer: ${SUMMARY_PROMPT}).`,
  always: ` (default: ${SUMMARY_PROMPT}).`,
  never: ". Without effect here: no summary is asked for.",
};

function descriptions({ defaultMaxTurns, summary, maxConcurrent }: InputLimits): Readonly<Record<string, string>> {
  return {
    summary_prompt: `What the child's report should answer or look like${SUMMARIES[summary]}`,
    max_turns: `How many turns it may take, 1 to ${MAX_CALL_TURNS} (default ${defaultMaxTurns}, or its agent's).`,
    max_concurrent: `How many run at once, at most ${maxConcurrent} (the default).`,
  };
}

const SENTENCES = {
  label: "label cannot be empty",
  task_prompt: "task_prompt cannot be empty",
  summary_prompt: "summary_prompt cannot be empty",
  allowed_tools: "allowed_tools must be a list of tool names",
  max_turns: `max_turns must be between 1 and ${MAX_CALL_TURNS}`,
  agent: "agent must be the name of an agent",
  model: "model must be provider/model",
  system_prompt: "system_prompt cannot be empty",
  timeout_ms: "timeout_ms must be a whole number of at least 1",
  output_schema: "output_schema must be a JSON Schema object",
  context: 'context must be "none" or "fork"',
  background: "background must be true or false",
  tasks: "At least one task required",
  max_concurrent: "max_concurrent must be at least 1",
  fail_fast: "fail_fast must be true or false",
};

/** The name of the task in `subagent_<name>`. */
const TASK = { name: "task_prompt", other: "task" };

const spawnSchema: SentenceSchema<SubagentInput> = sentenceSchema(spawnShape, SENTENCES, TASK);
const parallelSchema: SentenceSchema<ParallelSubagentInput> = sentenceSchema(
  parallelShape,
  {
    ...SENTENCES,
    "*": `Allowed: ${Object.keys(parallelShape.shape).join(", ")}; in a task ${Object.keys(spawnShape.shape).slice(0, -1).join(", ")}.`,
  },
  TASK,
);

const namedShape = spawnShape.pick({ label: true, task_prompt: true, agent: true, summary_prompt: true }).required({
  agent: true,
});
const namedSchema: SentenceSchema<SubagentInput> = sentenceSchema(namedShape, SENTENCES, TASK);

export function spawnInputSchema(limits: InputLimits): StandardSchema<SubagentInput> {
  return describedSchema(spawnSchema, descriptions(limits));
}

export function parallelInputSchema(limits: InputLimits): StandardSchema<ParallelSubagentInput> {
  return describedSchema(parallelSchema, descriptions(limits));
}

/** The schema of a tool that hands tasks to these agents and to no other child. */
export function namedInputSchema(
  limits: InputLimits,
  agents: readonly AgentDefinition[],
): StandardSchema<SubagentInput> {
  const described = describedSchema(namedSchema, descriptions(limits));
  const standard = described["~standard"];
  const validate: typeof standard.validate = async (value) => {
    const result = await standard.validate(value);
    if (result.issues !== undefined) return result;
    const problem = whyUnknown(result.value.agent ?? "", agents);
    return problem === undefined ? result : { issues: [{ message: problem }] };
  };
  return { "~standard": { ...standard, validate } } as StandardSchema<SubagentInput>;
}

export function toSpawnRequest(input: SubagentInput, index = 0): SpawnRequest {
  return {
    label: input.label,
    task: input.task_prompt,
    index,
    agent: input.agent,
    options: {
      summaryPrompt: input.summary_prompt,
      allowedTools: input.allowed_tools,
      maxTurns: input.max_turns,
      model: input.model,
      systemPrompt: input.system_prompt,
      timeoutMs: input.timeout_ms,
      outputSchema: input.output_schema,
      context: input.context,
      background: input.background,
    },
  };
}

/** The input of `subagent`. */
export type SubagentInput = {
  /** A short name for the child. */
  label: string;
  /** Everything the child must know: it sees nothing else. */
  task_prompt: string;
  /** The question that the child's report should answer, or the form it should have. */
  summary_prompt?: string | undefined;
  /** Exactly these of the caller's tools; an empty list means none. All of them when unset. */
  allowed_tools?: string[] | undefined;
  /** 1 to 50. */
  max_turns?: number | undefined;
  /** The name of a predefined agent. */
  agent?: string | undefined;
  /** `provider/model`. */
  model?: string | undefined;
  system_prompt?: string | undefined;
  timeout_ms?: number | undefined;
  /** A JSON Schema that the answer must match. */
  output_schema?: Record<string, unknown> | undefined;
  /** `fork` starts from the caller's own conversation, `none` (the default) from the task alone. */
  context?: "none" | "fork" | undefined;
  /** The caller continues while the child runs; the report arrives later. */
  background?: boolean | undefined;
};

/** The input of `parallel_subagent`. */
export type ParallelSubagentInput = {
  /** One entry per child. */
  tasks: Omit<SubagentInput, "background">[];
  max_concurrent?: number | undefined;
  /** Stops the others as soon as one fails. */
  fail_fast?: boolean | undefined;
};

/** The input of `subagent_<name>`. */
export type NamedAgentInput = { task: string };

/** The input of `subagent_spawn`. */
export type SubagentSpawnInput = {
  task: string;
  description: string;
  /** 1 to 50. */
  maxTurns?: number | undefined;
  systemPrompt?: string | undefined;
};

/** The input of `subagent_delegate`. */
export type SubagentDelegateInput = {
  task: string;
  description: string;
  serverName?: string | undefined;
  agentId?: string | undefined;
};

/** The input of `subagent_wait`; without ids it waits for all background children. */
export type SubagentWaitInput = { subagent_ids?: string[] | undefined };

/** The input of `subagent_cancel`; `stop` when unset. */
export type SubagentCancelInput = { subagent_id: string; mode?: "wrap-up" | "stop" | undefined };

/** The input of `subagent_send`. */
export type SubagentSendInput = { subagent_id: string; message: string };

/** The input of `subagent_report`; `offset` is a byte of the whole report. */
export type SubagentReportInput = { subagent_id: string; offset?: number | undefined };
