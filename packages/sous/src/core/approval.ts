/** Consent: the question that travels to a person at the root, and the answer that comes back. */

export type ApprovalRequest = {
  runId: string;
  /** Which agent asks: the full path from the root. */
  path: string;
  callId: string;
  toolName: string;
  /** The parsed input: exactly what would run. */
  input: unknown;
};

export type ApprovalAnswer = { allow: true } | { allow: false; reason?: string | undefined };

/** Asks the person. Aborting `signal` withdraws the question. */
export type Approve = (request: ApprovalRequest, signal: AbortSignal) => Promise<ApprovalAnswer> | ApprovalAnswer;
