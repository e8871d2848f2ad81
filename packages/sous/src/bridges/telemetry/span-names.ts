/**
 * Every name that spans use. Those that begin with `gen_ai.` follow the semantic conventions for generative AI, at the commit
 * that `names.ts` names.
 */

import { oneOf, STOP_REASON_WORDS } from "../../core/words/outcomes.ts";

export type SpanName = "invoke_agent" | "chat" | "execute_tool";

type SpanEntry = { readonly title: string; readonly about: string };

export const SPANS = {
  invoke_agent: {
    title: "`invoke_agent {agent}`",
    about: "One run. INTERNAL; CLIENT for an external agent.",
  },
  chat: {
    title: "`chat {model}`",
    about: "One turn: from its question to the answer, all attempts together. CLIENT. Only these spans hold tokens.",
  },
  execute_tool: {
    title: "`execute_tool {tool}`",
    about: "One tool call. INTERNAL. Runs that the call started lie under it, also those in the background.",
  },
} as const satisfies Readonly<Record<SpanName, SpanEntry>>;

export type AttributeEntry = {
  readonly on: readonly SpanName[];
  readonly about: string;
  /** Only there when content is captured. */
  readonly isContent?: true;
};

const ALL: readonly SpanName[] = ["invoke_agent", "chat", "execute_tool"];
const RUN: readonly SpanName[] = ["invoke_agent"];
const CHAT: readonly SpanName[] = ["chat"];
const TOOL: readonly SpanName[] = ["execute_tool"];
const ASKING: readonly SpanName[] = ["invoke_agent", "chat"];

export const ATTRIBUTES = {
  "gen_ai.operation.name": { on: ALL, about: "`invoke_agent`, `chat` or `execute_tool`." },
  "gen_ai.conversation.id": {
    on: ALL,
    about: "The agent id of the root: the same for every message of a conversation.",
  },
  "gen_ai.agent.name": { on: ALL, about: "The name of the definition." },
  "gen_ai.agent.id": { on: RUN, about: "The id of the agent, the same over follow-ups." },
  "gen_ai.provider.name": { on: ASKING, about: "The provider of the model; `external` for an external agent." },
  "gen_ai.request.model": { on: ASKING, about: "The model as `provider/model`, without the provider." },
  "gen_ai.request.stream": { on: CHAT, about: "True; absent for an external agent." },
  "gen_ai.response.finish_reasons": {
    on: CHAT,
    about: "Why the model stopped: `stop`, `tool_call`, `length`, `content_filter` or `other`.",
  },
  "gen_ai.usage.input_tokens": { on: CHAT, about: "Tokens of the prompts of all attempts, those from a cache too." },
  "gen_ai.usage.output_tokens": { on: CHAT, about: "Tokens of the answers of all attempts." },
  "gen_ai.usage.cache_read.input_tokens": { on: CHAT, about: "The part of the input that was read from a cache." },
  "gen_ai.usage.cache_creation.input_tokens": { on: CHAT, about: "The part of the input that was written to a cache." },
  "gen_ai.tool.name": { on: TOOL, about: "The tool." },
  "gen_ai.tool.call.id": { on: TOOL, about: "The id of the call." },
  "gen_ai.tool.type": { on: TOOL, about: "`function`; `extension` for what an external agent does by itself." },
  "gen_ai.system_instructions": { on: RUN, about: "The instructions of the agent.", isContent: true },
  "gen_ai.input.messages": {
    on: ASKING,
    about: "Of a run its task; of a turn what the model had not been shown before.",
    isContent: true,
  },
  "gen_ai.output.messages": { on: ASKING, about: "The answer.", isContent: true },
  "gen_ai.tool.call.arguments": { on: TOOL, about: "The input of the call.", isContent: true },
  "gen_ai.tool.call.result": { on: TOOL, about: "What the model read of the result.", isContent: true },
  "error.type": {
    on: ALL,
    about:
      "Why there is no usable result. Of a turn also the kind of the model's last failure. The status of the span is ERROR.",
  },
  "sous.run.id": { on: ALL, about: "The run." },
  "sous.run.path": { on: RUN, about: "Its position in the tree." },
  "sous.run.depth": { on: RUN, about: "Its level; the root is 0." },
  "sous.worker": { on: RUN, about: "Of a run that was placed: the worker that took it, the last one of several." },
  "sous.attempt": { on: RUN, about: "Of a run that was placed: 1 when its first worker brought it to its end." },
  "sous.outcome": { on: RUN, about: "How it ended: `complete`, `incomplete`, `failed`, …" },
  "sous.stop_reason": { on: RUN, about: `Why it is incomplete: ${oneOf(STOP_REASON_WORDS, "`")}.` },
  "sous.turns": { on: RUN, about: "How many turns it took." },
  "sous.cost_usd": { on: RUN, about: "US dollars of this run alone. Absent when a price is unknown." },
  "sous.cost.unknown": { on: RUN, about: "True when a price is unknown." },
  "sous.usage.estimated": { on: CHAT, about: "True when a part of the tokens was estimated." },
  "sous.turn": { on: CHAT, about: "The number of the turn in its run." },
  "sous.unanswered": {
    on: CHAT,
    about:
      "True for a span that only holds the tokens of a question whose answer was not recorded, such as after a crash.",
  },
  "sous.events.left_out": { on: ALL, about: "How many span events were left out: a span has at most 100." },
  "langfuse.observation.type": { on: ALL, about: "`agent`, `generation` or `tool`; only with `observationType`." },
} as const satisfies Readonly<Record<string, AttributeEntry>>;

export type AttributeName = keyof typeof ATTRIBUTES;

/** Attributes of a span, each with a name of the table. */
export type SpanAttributes = { [Name in AttributeName]?: string | number | boolean | string[] | undefined };

type EventEntry = { readonly about: string; readonly attributes: readonly string[] };

/** The events of a span. Texts of people and models are in them only when content is captured. */
export const SPAN_EVENTS = {
  "sous.retry": {
    about: "An attempt to ask the model failed and is made again. On the turn.",
    attributes: ["kind", "attempt", "delay_ms", "message"],
  },
  "sous.approval_request": { about: "A person is asked about a call. On the call.", attributes: ["tool"] },
  "sous.approval_end": { about: "The answer.", attributes: ["allowed", "by", "reason"] },
  "sous.rate_wait": { about: "The rate of the provider holds the next call back.", attributes: ["seconds"] },
  "sous.budget_wait": { about: "The run waits for a limit.", attributes: ["of", "unit", "limit", "spent", "reserved"] },
  "sous.budget_near": { about: "Most of a limit is spent.", attributes: ["of", "unit", "limit", "spent", "reserved"] },
  "sous.budget_warning": { about: "A limit was reached.", attributes: ["message"] },
  "sous.spawn_refused": { about: "A child was not made.", attributes: ["error_type", "message"] },
  "sous.stalled": { about: "Nothing has happened for a while.", attributes: ["seconds", "waiting_for"] },
  "sous.prune": { about: "Messages were dropped.", attributes: ["dropped", "tokens_before", "tokens_after"] },
  "sous.truncation": { about: "A text was cut.", attributes: ["subject", "original_bytes", "kept_bytes"] },
  "sous.cancel": { about: "The run was told to stop.", attributes: ["mode"] },
  "sous.steer": { about: "A message was given to the live run.", attributes: ["text"] },
  "sous.notice": { about: "The runtime spoke to the model.", attributes: ["reason", "text"] },
  "sous.report": { about: "The report of a background child arrived.", attributes: ["child_run_id", "text"] },
  "sous.outside_session": {
    about: "A session with an external agent was opened.",
    attributes: ["server", "continued"],
  },
  "sous.resume": { about: "Another process continues the run.", attributes: ["used_ms"] },
} as const satisfies Readonly<Record<string, EventEntry>>;

export type SpanEventName = keyof typeof SPAN_EVENTS;

/** Attributes of one span event, each with a name of the table. */
export type EventAttributes<Name extends SpanEventName> = {
  [Key in (typeof SPAN_EVENTS)[Name]["attributes"][number]]?: string | number | boolean | undefined;
};

/** The attribute `sous.link` of a link: the reason why a span is linked to an earlier one. */
export const LINK_ATTRIBUTE = "sous.link";
export const LINKS = {
  "follow-up": "To the run that this one continues.",
  fork: "To the run whose messages it begins with.",
  branch: "To the run of another tree that it begins with.",
  resume: "Of a run that another process continued, to the last turn that was answered before.",
} as const;
