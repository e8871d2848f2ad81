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

/** A call before anybody is asked about it, in the working directory where it would run. */
export type ActionRequest = ApprovalRequest & { readonly agent: string; readonly cwd: string };

/** What the rules of the user say about a call. */
export type RuleAnswer = { effect: "allow" } | { effect: "ask" } | { effect: "deny"; reason: string };

/** Rules before the person. Undefined leaves a call to the tier of its tool. */
export type Consent = {
  decide(request: ActionRequest): RuleAnswer | undefined;
  /** With nobody the answer is no. */
  ask?: Approve | undefined;
};
