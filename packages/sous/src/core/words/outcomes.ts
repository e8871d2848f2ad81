/**
 * Every ending of a run once: its status, and the reason of one that is incomplete. The rows hold what each door says of it;
 * what a door does with it (a command that continues the run, a list of denied actions) is written in that door.
 */

import type { ErrorType } from "../errors.ts";
import type { RunStatus, StopReason, UnendedStatus } from "../outcome.ts";

/** The words for an ending: those of its stop reason where there is one, otherwise those of its status. */
type EndingRow = {
  /** A name in `EXIT` of `app/cli/exit-codes.ts`; `signal` stands for the code of the signal that stopped the run. */
  readonly exit: "ok" | "failed" | "budget" | "limit" | "consent" | "signal";
  /** A word or two for a person. */
  readonly words: string;
  /** The stop reason that an editor reads over ACP; undefined when its request fails. */
  readonly editor: "end_turn" | "max_tokens" | "max_turn_requests" | "refusal" | "cancelled" | undefined;
  /** The warning about an incomplete run, for a person at the command line; without it the denied actions are listed. */
  readonly warning?: string;
  /** The first version of stored events with this word (`EVENT_VERSION` in `events.ts`); 1 when unset. */
  readonly since?: number;
};

/** The cause of an ending, in five kinds. Colours, symbols and sentences for a person depend on it. */
export type EndingKind = "done" | "partial" | "limit" | "stopped" | "fault";

type StatusRow = EndingRow & {
  readonly kind: EndingKind;
  /** The text is a usable result. */
  readonly success: boolean;
  /** The kind of error when there is no usable result and no fault says more. */
  readonly errorType: ErrorType | undefined;
  /** The word in reports, logs and metrics. */
  readonly reported: string;
  /** Tells the model that asked for this child why it gave no usable result. `message` is the sentence of the fault. */
  readonly sentence?: (message: string, label: string) => string;
};

/** The row is also used for an incomplete run without a known reason. */
const NO_TURNS_LEFT = {
  exit: "limit",
  words: "out of turns",
  warning: "the run is out of turns, so its answer is not complete: --max-turns allows more",
} as const;

export const OUTCOMES: Readonly<Record<RunStatus, StatusRow>> = {
  completed: {
    kind: "done",
    success: true,
    errorType: undefined,
    exit: "ok",
    words: "completed",
    reported: "complete",
    editor: "end_turn",
  },
  incomplete: {
    kind: "partial",
    success: true,
    errorType: undefined,
    ...NO_TURNS_LEFT,
    reported: "incomplete",
    editor: "end_turn",
  },
  budget_exceeded: {
    kind: "limit",
    success: false,
    errorType: "quota",
    exit: "budget",
    words: "over budget",
    reported: "budget_exceeded",
    editor: "max_tokens",
    sentence: (message) => message,
  },
  timeout: {
    kind: "limit",
    success: false,
    errorType: "timeout",
    exit: "limit",
    words: "timed out",
    reported: "timeout",
    editor: "max_turn_requests",
    sentence: withLabel,
  },
  cancelled: {
    kind: "stopped",
    success: false,
    errorType: "cancelled",
    exit: "signal",
    words: "cancelled",
    reported: "cancelled",
    editor: "cancelled",
    sentence: withLabel,
  },
  refused: {
    kind: "fault",
    success: false,
    errorType: "refused",
    exit: "failed",
    words: "model refused",
    reported: "refused",
    editor: "refusal",
    sentence: () => "The subagent's model refused the task",
  },
  failed: {
    kind: "fault",
    success: false,
    errorType: "crash",
    exit: "failed",
    words: "failed",
    reported: "failed",
    editor: undefined,
    sentence: (message) => `Subagent failed: ${message}`,
  },
};

type StopReasonRow = EndingRow & {
  /** The run took all the turns it had: `max_turns_reached`. */
  readonly isOutOfTurns: boolean;
  /** Actions were denied because no one could be asked: the doors list them and say how to allow them. */
  readonly lacksApproval: boolean;
  /** The text in front of the report that the parent's model reads. */
  readonly notice: (turns: number) => string;
  /** The words behind the status, in an exported page. */
  readonly aside: string;
  /** The word as the schema of a report explains it. */
  readonly about: string;
};

export const STOP_REASONS: Readonly<Record<StopReason, StopReasonRow>> = {
  turns: {
    isOutOfTurns: true,
    lacksApproval: false,
    ...NO_TURNS_LEFT,
    editor: "max_turn_requests",
    notice: (turns) => `the subagent ran out of turns after ${turns}; the result is incomplete`,
    aside: "out of turns",
    about: "`turns`",
  },
  consent: {
    isOutOfTurns: false,
    lacksApproval: true,
    exit: "consent",
    words: "lacked approval",
    editor: "end_turn",
    notice: () => "an action needed approval and no one could be asked; the result is incomplete",
    aside: "an action needed approval",
    about: "`consent`: an approval that no one could give",
  },
};

/** The states of a stored run without an end. Only `running` is stored; a store finds out the others when it reads. */
export const UNENDED: Readonly<Record<UnendedStatus, { readonly words: string; readonly canResume: boolean }>> = {
  /** It was placed, and no worker has taken it yet. */
  queued: { words: "queued", canResume: false },
  /** A process works on its tree. */
  running: { words: "running", canResume: false },
  /** The process died, and no question of the tree is open. */
  interrupted: { words: "interrupted", canResume: true },
  /** A question of the tree has no answer: it was parked, or its process died. */
  waiting: { words: "waiting for an answer", canResume: true },
};

/** The words in the order of the tables, which schemas, columns and sums keep. */
export const UNENDED_STATUSES = Object.keys(UNENDED) as readonly UnendedStatus[];
export const RUN_STATUSES = Object.keys(OUTCOMES) as readonly RunStatus[];
export const STOP_REASON_WORDS = Object.keys(STOP_REASONS) as readonly StopReason[];

/** An ending as a run has it, or as a database says it: there a stop reason may be any text. */
type EndingFacts = { readonly status: string; readonly stopReason?: string | undefined };

/** The row of the stop reason, if it counts: only that of an incomplete run does, and only a word of the table. */
export function stopReasonOf({ status, stopReason = "" }: EndingFacts): StopReasonRow | undefined {
  if (status !== "incomplete" || !Object.hasOwn(STOP_REASONS, stopReason)) return undefined;
  return STOP_REASONS[stopReason as StopReason];
}

/** The row that speaks for an ending. */
export function endingRow(facts: EndingFacts & { readonly status: RunStatus }): EndingRow {
  return stopReasonOf(facts) ?? OUTCOMES[facts.status];
}

/** True for a stored run without an end that no process works on. */
export function canResume(status: RunStatus | UnendedStatus): status is Exclude<UnendedStatus, "running" | "queued"> {
  return isUnended(status) && UNENDED[status].canResume;
}

export function isUnended(status: RunStatus | UnendedStatus): status is UnendedStatus {
  return Object.hasOwn(UNENDED, status);
}

export function isOutOfTurns(facts: EndingFacts): boolean {
  return stopReasonOf(facts)?.isOutOfTurns === true;
}

export function lacksApproval(facts: EndingFacts): boolean {
  return stopReasonOf(facts)?.lacksApproval === true;
}

/** Lists words in a description: `a, b or c`, each between quotes. */
export function oneOf(words: readonly string[], quote: "" | "`" = ""): string {
  const quoted = words.map((word) => `${quote}${word}${quote}`);
  const last = quoted.pop() ?? "";
  return quoted.length === 0 ? last : `${quoted.join(", ")} or ${last}`;
}

/** Names the child. For a child called outside of a tree the message is about "the run", and its caller has no other. */
function withLabel(message: string, label: string): string {
  return message.startsWith("Subagent ") ? `${message} (${label})` : message;
}
