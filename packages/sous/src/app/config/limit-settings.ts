/** Setting and flag of every limit, by the path of its option in `run()`. The help loads this file, so it imports nothing that runs. */

import type { Budget } from "../../core/limits.ts";
import type { DelegationLimit } from "../../core/words/limits.ts";

/** `budget` counts the root, too; children are counted only there, so it has no limit of executions. */
export type LimitPath =
  | "maxTurns"
  | `limits.${DelegationLimit}`
  | `limits.children.${keyof Budget}`
  | `budget.${Exclude<keyof Budget, "executions">}`;

export type LimitSetting = {
  /** The key in a configuration file. */
  readonly key: string;
  /** The description for `sous config explain`, editors and the reference. */
  readonly about: string;
  /** The consequence of reaching it, for the page of limits. */
  readonly beyond?: string;
  /** The largest value of the setting, where the library has no such bound. */
  readonly most?: number;
  /** The number that holds for each message while the setting is unset: a project may not set more. */
  readonly perMessage?: number;
  /** The option of `sous run` and `sous chat`. */
  readonly flag?: { readonly name: string; readonly value: string; readonly allows?: "0"; readonly about: string };
};

/** The children that models may start for one message when the person has set no limit: a loop without a budget ends here. */
export const CHILDREN_PER_MESSAGE = 100;

/** The settings in the order of the help. */
export const LIMIT_SETTINGS = {
  maxTurns: {
    key: "agent.max_turns",
    about: "How many turns the root may take.",
    flag: { name: "max-turns", value: "N", about: "turns of the root (default 50)" },
  },
  "limits.maxDepth": {
    key: "agent.subagent.max_depth",
    about: "The deepest level that may exist; the root is 0.",
    beyond: "the call is refused",
    flag: { name: "max-depth", value: "N", about: "deepest level of children, 1 to 10 (default 3)" },
  },
  "limits.defaultMaxTurns": {
    key: "agent.subagent.default_max_turns",
    about:
      "How many turns a child may take when neither the call nor its definition says; called as `subagent_NAME` it has 100 then.",
    beyond: "`incomplete`, `turns`",
  },
  "limits.outputMaxSize": {
    key: "agent.subagent.output_max_size",
    about: "How many bytes of a child's report its parent reads; the whole is stored.",
    beyond: "it is summed up or cut; the whole text can be fetched",
  },
  "limits.children.executions": {
    key: "agent.subagent.max_executions",
    about: `How many children may start in one chat or run. Unset, models may start ${CHILDREN_PER_MESSAGE} for one message.`,
    perMessage: CHILDREN_PER_MESSAGE,
    flag: {
      name: "max-agents",
      value: "N",
      allows: "0",
      about: `children (default ${CHILDREN_PER_MESSAGE} a message); 0 offers none`,
    },
  },
  "limits.children.tokens": {
    key: "agent.subagent.max_total_tokens",
    about: "How many tokens all children together may spend.",
  },
  "limits.children.durationMs": {
    key: "agent.subagent.max_total_time",
    about: "How long children may run, in sum. It counts while a child runs.",
  },
  "limits.children.costUsd": {
    key: "agent.subagent.max_total_cost",
    about: "How many US dollars all children together may spend.",
  },
  "limits.maxConcurrent": {
    key: "agent.subagent.max_concurrent",
    about: "How many children that are not waiting for children run at once; also the default of parallel_subagent.",
    beyond: "they wait, or are refused (`onFull`)",
    most: 1000,
    flag: { name: "max-concurrent", value: "N", about: "children at the same time (default 5)" },
  },
  "limits.onFull": {
    key: "agent.subagent.on_full",
    about: "What happens to a child when no slot is free: it waits, or it is refused.",
  },
  "limits.summary": {
    key: "agent.subagent.summary",
    about: "When a child is asked for a summary at its end.",
  },
  "limits.place": {
    key: "agent.subagent.place",
    about: "With workers: which children they get, those whose agent says `place: worker`, or all that can be placed.",
  },
  "budget.tokens": {
    key: "agent.max_tokens_total",
    about: "How many tokens one run or chat may spend, in and out, its children included.",
    flag: { name: "max-tokens-total", value: "N", about: "tokens of the whole tree, in and out" },
  },
  "budget.costUsd": {
    key: "agent.budget",
    about: "How many US dollars one run or chat may spend, its children included. The model needs a known price.",
    flag: { name: "budget", value: "USD", about: "US dollars for the whole tree, such as 0.50" },
  },
  "budget.durationMs": {
    key: "agent.timeout",
    about: "How long one run or chat may work, its children included.",
    flag: { name: "timeout", value: "TIME", about: "time for the whole tree, such as 90s, 5m or 2h" },
  },
} as const satisfies Record<LimitPath, LimitSetting>;

export const ALL_LIMITS = Object.entries(LIMIT_SETTINGS) as readonly (readonly [LimitPath, LimitSetting])[];
