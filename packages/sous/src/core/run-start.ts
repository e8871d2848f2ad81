/** The start of a run as it is stored: what it is asked, and everything it may use. */

import type { ConversationLimits } from "./conversation.ts";
import type { OnExhausted } from "./limits.ts";
import type { Message, UserMessage } from "./message.ts";
import type { StoredRights } from "./rights.ts";
import type { JsonSchema } from "./schema.ts";
import type { SummaryMode } from "./spawn.ts";
import type { RunTools } from "./tool-set.ts";
import type { StoredBudget, StoredLimits } from "./units.ts";
import type { Price } from "./usage.ts";

/** A run begins: what it is asked, and everything it may use. */
export type RunStart = {
  type: "run-start";
  /** The name of the definition; `subagent` for a child made up by a call. */
  agent: string;
  nickname: string | undefined;
  label: string;
  task: UserMessage;
  model: string;
  /** The price of a million tokens of the model, where that is known. */
  price: Price | undefined;
  /** Tokens that the model can read and write in one call, where that is known and limited. */
  contextWindow: number | undefined;
  tools: RunTools;
  /** The instructions end with it: the shape that the answer must have. */
  outputSchema: JsonSchema | undefined;
  instructions: string | undefined;
  /** Text behind the instructions in its prompts: facts of the machine, notes of the project. */
  notes: string | undefined;
  maxTurns: number;
  rights: StoredRights;
  /** The beginning of the conversation; undefined = the task alone. */
  origin: RunOrigin | undefined;
  /** The call that made it: (parent run, call, index) names a child across a restart. */
  call: RunCall | undefined;
  summaryPrompt: string | undefined;
  /** True for a root that was asked to sum up the conversation. A run that follows it begins with its answer alone. */
  summarizes?: true | undefined;
  timeoutMs: number | undefined;
  /** The agent's own share, over all its runs; for a root what the whole tree may spend. */
  budget: StoredBudget | undefined;
  /** Only of the first run of a journal: what holds for its whole tree, also after a restart. */
  terms: TreeTerms | undefined;
  /** Only of a root: the folder its tree was made in. Runs that continue the tree say the same, wherever they work. */
  cwd: string | undefined;
  /** Only of the first run of a journal: the trace it was started in, as W3C writes it. */
  traceparent?: string | undefined;
  /** Only of a run that was placed: it has a journal of its own, which a worker continues from here. */
  placed?: PlacedStart | undefined;
};

/** The call of the parent that made a run, and its index in a fan-out. */
export type RunCall = { callId: string; index: number; background?: boolean | undefined };

/** The settings that a tree was given. */
export type TreeTerms = {
  limits: StoredLimits;
  conversation: ConversationLimits;
  onExhausted: OnExhausted;
  onLiveChildren: "wait" | "cancel";
  /** The tree fails when a child of it does. */
  requireAll?: true | undefined;
  /** The name of the shared budget it draws on. */
  sharedBudget?: string | undefined;
  /** Set for a fan-out from code. */
  fanOut?: FanOutTerms | undefined;
  /** Rules of the user decided about calls before a person was asked. */
  hasRules?: true | undefined;
};

/** A fan-out from code: one child for each input. */
export type FanOutTerms = {
  inputs: readonly string[];
  /** The number of them that may run at once. */
  atOnce: number;
  /** The children answer as a run does: no summary is asked for, and nothing is cut. */
  wholeAnswers: boolean;
};

/** A follow-up continues where the earlier run ended; a fork begins with its parent's messages; a branch with those of another tree. */
export type RunOrigin =
  /** `traceparent`: the span of an earlier run that another process ended. */
  | { kind: "follow-up"; runId: string; traceparent?: string | undefined }
  | { kind: "fork"; runId: string; messages: number }
  | { kind: "branch"; runId: string; turn: number; history: readonly Message[]; traceparent?: string | undefined };

/** The facts that a worker needs of a run that was placed, besides those of every start. */
export type PlacedStart = {
  /** The root of its tree: itself, or a run in another journal. */
  rootId: string;
  /** The way it sums up for its parent; undefined for one that answers as a root does. */
  summary?: { mode: SummaryMode; maxBytes: number } | undefined;
  /** The stored budgets that it draws on, from the top down. */
  budgets: readonly StoredBudgetName[];
  /** There is a person at the root: its questions wait for an answer. */
  asks?: true | undefined;
};

/** A budget that is kept in the store, and its limits. */
export type StoredBudgetName = { name: string; limits: Omit<StoredBudget, "seconds"> };
