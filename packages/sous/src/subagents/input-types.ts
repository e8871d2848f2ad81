/** What the tools for children take, as types for callers. */

/** The input of `subagent`. */
export type SubagentInput = {
  /** A short name for the child. */
  label: string;
  /** Everything the child must know: it sees nothing else. */
  task_prompt: string;
  /** What the child's report should answer or look like. */
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
