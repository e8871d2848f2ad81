/** The kinds of fields that events are made of. Storage has one schema for each, the runtime one redactor for each that can hold text. */

import type { CallTarget } from "../approval.ts";
import type { ErrorType } from "../errors.ts";
import type { NoticeReason, ResumedRun } from "../event.ts";
import type { LimitState } from "../limits.ts";
import type { AssistantMessage, FilePart, UserMessage } from "../message.ts";
import type { FinishReason, ProviderCalls } from "../model.ts";
import type { Fault, RunStatus, StopReason } from "../outcome.ts";
import type { StoredRights } from "../rights.ts";
import type { PlacedStart, RunCall, RunOrigin, TreeTerms } from "../run-start.ts";
import type { CancelMode } from "../spawn.ts";
import type { ToolOrigin } from "../tool.ts";
import type { RunTools } from "../tool-set.ts";
import type { StoredBudget } from "../units.ts";
import type { Price, Usage } from "../usage.ts";
import type { ModelErrorKind } from "./model-errors.ts";

export type Kinds = {
  /** Runs, calls, agents and sessions are found by it. Not redacted: a changed id finds nothing. */
  id: string;
  /** A text that a person, a model, a tool or a provider wrote. Redacted. */
  text: string;
  /** Any JSON, written by the same. Redacted at any depth. */
  json: unknown;
  record: Readonly<Record<string, unknown>>;
  /** Whole and not negative. */
  count: number;
  /** A finite number that is not negative: tokens, money, milliseconds. */
  amount: number;
  /** USD; null when a price is unknown. */
  cost: number | null;
  flag: boolean;
  /** True or missing. */
  yes: true;
  phase: "start" | "end";
  answerer: "person" | "nobody" | "cancelled";
  cutText: "report" | "tool-result";
  finish: FinishReason;
  errorType: ErrorType;
  modelErrorKind: ModelErrorKind;
  cancelMode: CancelMode;
  noticeReason: NoticeReason;
  status: RunStatus;
  stopReason: StopReason;
  task: UserMessage;
  answer: AssistantMessage;
  files: readonly FilePart[];
  usage: Usage;
  providerCalls: ProviderCalls;
  price: Price;
  tools: RunTools;
  rights: StoredRights;
  origin: RunOrigin;
  call: RunCall;
  budget: StoredBudget;
  terms: TreeTerms;
  placed: PlacedStart;
  toolOrigin: ToolOrigin;
  callTarget: CallTarget;
  resumedRun: ResumedRun;
  fault: Fault;
  limit: LimitState;
};

export type Kind = keyof Kinds;

/** The kinds that can hold text: all but numbers, booleans and closed sets of words. */
export type TextKind = {
  [Each in Kind]: Kinds[Each] extends number | boolean | null
    ? never
    : string extends Kinds[Each]
      ? Each
      : Kinds[Each] extends string
        ? never
        : Each;
}[Kind];

/** The kinds whose type is exactly this one. */
type KindOf<Value> = {
  [Each in Kind]: [Kinds[Each], Value] extends [Value, Kinds[Each]] ? Each : never;
}[Kind];

/** A field as a row describes it: `text`, or `text?` when it may be undefined or missing. */
export type FieldWord<Value> = [KindOf<Exclude<Value, undefined>>] extends [never]
  ? { noKindHasThisType: Value }
  : undefined extends Value
    ? `${KindOf<Exclude<Value, undefined>>}?`
    : KindOf<Value>;

export type AnyWord = Kind | `${Kind}?`;

/** The kind of a field, without its question mark. */
export function kindOf(word: AnyWord): Kind {
  return (word.endsWith("?") ? word.slice(0, -1) : word) as Kind;
}
