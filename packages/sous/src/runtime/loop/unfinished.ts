/** The beginnings that a run can have been cut off in: a question to its model, and its last turn. */

import type { NoticeReason } from "../../core/event.ts";
import type { Spent } from "../../core/limits.ts";
import type { FinishReason } from "../../core/model.ts";

export type UnheardQuestion = {
  promptTokens: number;
  reserved: number;
  reservedUsd?: number | undefined;
  /** The amounts that the books have counted for it since the restart. */
  charged?: Spent;
};

export type ClosingTurn = {
  reason: Extract<NoticeReason, "summary" | "wrap-up" | "output-repair">;
  isAnswered: boolean;
  /** The ending of its answer. */
  finish?: FinishReason;
  /** The text that counted before it. */
  earlier: string;
  /** False when the run had not come to an answer of its own. */
  hasAnswer: boolean;
  /** The limit that was reached, when that is why it wraps up. */
  exceeded: string | undefined;
};
